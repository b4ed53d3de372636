import numpy as np
import pytest

from unbraid.data.generated.trends import Config, load


@pytest.fixture(scope="module")
def corpus():
    return load(Config(train=300, validation=30, test=60))


def test_one_seed_gives_one_result_and_another_seed_another(corpus):
    again = load(Config(train=300, validation=30, test=60))
    other = load(Config(train=300, validation=30, test=60, seed=1))
    assert np.array_equal(corpus.train.x, again.train.x)
    assert not np.array_equal(corpus.train.x, other.train.x)


def test_one_reading_in_five_is_missing_and_two_channels_are_out_for_long(corpus):
    observed = corpus.train.observed
    days = observed.any(2)  # (N, days, channels)
    out = (~days).sum(1)  # days without any reading, by channel
    assert ((out >= 6).sum(1) == 2).all()
    within = np.broadcast_to(days[:, :, None], observed.shape)
    assert 0.78 < observed[within].mean() < 0.82
    assert not corpus.train.x[~observed].any()


def _day_means(split):
    """Return values and their mean over each day, NaN where nothing was read."""
    x = np.where(split.observed[split.rows], split.x[split.rows], np.nan)
    count = (~np.isnan(x)).sum(2, keepdims=True)
    total = np.nansum(x, axis=2, keepdims=True)
    return x, np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)


def test_the_trend_is_larger_than_what_tells_the_site(corpus):
    x, day = _day_means(corpus.train)
    assert np.nanvar(day) > 8 * np.nanvar(x - day)


def test_sites_can_be_told_from_the_profile_but_not_from_the_level(corpus):
    from sklearn.neighbors import KNeighborsClassifier

    def profile(split):
        x, day = _day_means(split)
        return np.nansum(x - day, axis=1).reshape(len(split), -1)

    def level(split):
        return np.nansum(_day_means(split)[1], axis=(1, 2))

    for features, low, high in ((profile, 0.8, 1.0), (level, 0.0, 0.4)):
        neighbours = KNeighborsClassifier(3)
        neighbours.fit(features(corpus.train), corpus.train.label("site"))
        assert low <= neighbours.score(features(corpus.test), corpus.test.label("site")) <= high

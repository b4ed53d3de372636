import numpy as np
import pytest
import torch
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from unbraid.data.generated import series as toy_series
from unbraid.data.generated.series import PADDED, Config, load

SMALL = Config(train=300, validation=30, test=100)


@pytest.fixture(scope="module")
def corpus():
    return load(SMALL)


def _channel_means(split):
    rows = split.rows
    count = split.observed[rows].sum((1, 2))
    return split.x[rows].sum((1, 2)) / np.maximum(count, 1)


def test_one_seed_gives_one_result_and_another_seed_another(corpus):
    again, other = load(SMALL), load(Config(train=300, validation=30, test=100, seed=1))
    assert np.array_equal(corpus.train.x, again.train.x)
    assert np.array_equal(corpus.train.label("state"), again.train.label("state"))
    assert not np.array_equal(corpus.train.x, other.train.x)


def test_shapes_lengths_and_kinds(corpus):
    batch = corpus.train.take(slice(0, 8))
    assert corpus.train.x.shape == (430, 20, 4, 6)
    assert corpus.train.x.dtype == np.float32
    assert batch.x.shape == batch.observed.shape == (8, 20, 4, 6)
    assert [len(corpus.split(name)) for name in ("train", "validation", "test")] == [300, 30, 100]
    assert corpus.train.lengths.min() == 10
    assert corpus.train.lengths.max() == 20


def test_splits_share_no_row(corpus):
    rows = np.concatenate([corpus.train.rows, corpus.validation.rows, corpus.test.rows])
    assert len(np.unique(rows)) == len(rows) == 430


def test_values_are_zero_and_states_marked_where_there_is_nothing(corpus):
    split = corpus.train
    assert not split.x[~split.observed].any()
    padded = np.arange(20) >= split.lengths[:, None]
    assert not split.observed[padded].any()
    assert (split.labels["state"][padded] == PADDED).all()
    assert (split.labels["state"][~padded] >= 0).all()


def test_the_missing_share_is_what_was_asked_plus_a_few_outages(corpus):
    """Every other sequence loses 1 of 6 channels for 2 to 6 of about 15 windows: 1 to 3 %."""
    split = corpus.train
    inside = np.arange(20) < split.lengths[:, None]
    missing = 1.0 - split.observed[inside].mean()
    assert 0.10 < missing < 0.14
    outage = ~split.observed.any(2) & inside[..., None]  # a channel off for a whole window
    assert 0.01 < outage[inside].mean() < 0.04  # 0.1^4 by chance


def test_without_missing_values_nothing_is_marked():
    corpus = load(Config(train=20, validation=5, test=5, missing=0.0))
    assert corpus.train.observed is None
    assert not corpus.spec.missing


def test_normalisation_is_fitted_on_observed_training_values_only(corpus):
    batch = corpus.train.take(slice(None))
    for k in range(6):
        values = batch.x[..., k][batch.observed[..., k]]
        torch.testing.assert_close(values.mean(), torch.tensor(0.0), atol=1e-4, rtol=0)
        torch.testing.assert_close(values.std(), torch.tensor(1.0), atol=1e-3, rtol=0)


def test_regimes_are_machine_times_load_and_all_occur(corpus):
    label = corpus.train.label
    assert np.array_equal(label("regime"), 3 * label("machine") + label("load"))
    assert len(np.unique(label("regime"))) == 12


def test_channel_means_tell_the_regime(corpus):
    """Chance is 1 in 12."""
    model = RandomForestClassifier(random_state=0)
    model.fit(_channel_means(corpus.train), corpus.train.label("regime"))
    assert model.score(_channel_means(corpus.test), corpus.test.label("regime")) > 0.8


def test_a_window_tells_the_state(corpus):
    """From the spread of the window around the sequence's mean; chance is about 1 in 5."""

    def windows(split):
        x = np.where(split.observed, split.x, _fill(split))[split.rows]
        state = split.label("state")
        return x.reshape(*x.shape[:2], -1)[state >= 0], state[state >= 0]

    def _fill(split):
        count = np.maximum(split.observed.sum((1, 2), keepdims=True), 1)
        return split.x.sum((1, 2), keepdims=True) / count

    model = RandomForestClassifier(random_state=0, n_estimators=50)
    model.fit(*windows(corpus.train))
    assert model.score(*windows(corpus.test)) > 0.6


def test_states_say_nothing_of_the_regime(corpus):
    share = np.stack([(corpus.train.label("state") == k).mean(1) for k in range(5)], axis=1)
    other = np.stack([(corpus.test.label("state") == k).mean(1) for k in range(5)], axis=1)
    model = LogisticRegression(max_iter=500).fit(share, corpus.train.label("regime"))
    assert model.score(other, corpus.test.label("regime")) < 0.25


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"train": 0}, "train must be at least 1"),
        ({"windows": 1}, "windows must be at least 2"),
        ({"missing": 1.0}, "missing must be"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        toy_series.Config(**options)

import numpy as np
import pytest
import torch
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NearestCentroid

from unbraid.data.generated.voices import Config, load

SMALL = Config(speakers=10, validation_speakers=2, test_speakers=4, utterances=6)
TINY = Config(speakers=2, validation_speakers=1, test_speakers=1, utterances=2, seconds=0.8)


@pytest.fixture(scope="module")
def corpus():
    return load(SMALL)


def _utterance_means(split, x):
    """Mean spectrum and its spread for each utterance, and the speaker of each."""
    names = np.unique(split.label("utterance"))
    rows = [split.rows[split.label("utterance") == name] for name in names]
    means = np.stack([np.r_[x[r].mean((0, 1)), x[r].std((0, 1))] for r in rows])
    return means, np.array([split.labels["speaker"][r[0]] for r in rows]), names


def test_one_seed_gives_one_result_and_another_seed_another():
    first, again = load(TINY), load(TINY)
    other = load(Config(speakers=2, validation_speakers=1, test_speakers=1, utterances=2, seed=1))
    assert np.array_equal(first.train.x, again.train.x)
    assert np.array_equal(first.train.alternatives, again.train.alternatives)
    assert not np.array_equal(first.train.x[:8], other.train.x[:8])


def test_shapes_and_kinds(corpus):
    """16 speakers, 6 utterances of 1.6 s, 8 segments of 0.2 s each."""
    split = corpus.train
    assert split.x.shape == (16 * 6 * 8, 20, 80)
    assert split.x.dtype == split.alternatives.dtype == np.float32
    assert split.alternatives.shape == (16 * 6 * 8, 1, 20, 80)
    assert split.group == "utterance"  # segments of one are alike: probes keep them on one side
    assert np.isfinite(split.x).all()
    assert np.isfinite(split.alternatives).all()
    assert split.label("phone").shape == (10 * 6 * 8, 20)
    assert split.take(slice(0, 4)).alternatives.shape == (4, 1, 20, 80)


def test_no_speaker_is_in_two_splits(corpus):
    who = [set(corpus.split(n).label("speaker")) for n in ("train", "validation", "test")]
    assert [len(s) for s in who] == [10, 2, 4]
    assert len(set.union(*who)) == 16


def test_an_utterance_has_one_speaker_of_one_register(corpus):
    labels = corpus.train.labels
    assert np.array_equal(labels["utterance"] // 6, labels["speaker"])
    for speaker in range(16):
        assert len(np.unique(labels["register"][labels["speaker"] == speaker])) == 1
    assert set(corpus.test.label("register")) == {0, 1}


def test_normalisation_is_fitted_on_training_rows_only(corpus):
    x = corpus.train.take(slice(None)).x
    torch.testing.assert_close(x.mean((0, 1)), torch.zeros(80), atol=1e-4, rtol=0)
    torch.testing.assert_close(x.std((0, 1)), torch.ones(80), atol=1e-3, rtol=0)


def test_phones_last_60_to_160_ms_unless_repeated():
    split = load(TINY).train
    phones = split.label("phone")[split.label("utterance") == 0].ravel()
    runs = np.diff(np.flatnonzero(np.diff(phones, prepend=-1, append=-1)))
    assert runs[:-1].min() >= 5
    assert 3 <= len(runs) <= 14


def test_the_mean_spectrum_tells_the_speaker(corpus):
    """Learned from 4 utterances of each training speaker, asked of the other 2; chance is 0.1."""
    features, speaker, name = _utterance_means(corpus.train, corpus.train.x)
    seen = name % 6 < 4
    model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1)
    model.fit(features[seen], speaker[seen])
    assert model.score(features[~seen], speaker[~seen]) > 0.7


def test_a_frame_tells_the_phone_for_unheard_speakers_too(corpus):
    """Chance is 0.1; phones run into each other, so no frame classifier reaches 1."""
    train, test = corpus.train, corpus.test
    model = LogisticRegression(max_iter=300).fit(_frames(train, train.x), _phones(train))
    assert model.score(_frames(test, test.x), _phones(test)) > 0.6


def test_converted_voices_keep_the_phones_and_change_the_speaker(corpus):
    split = corpus.train
    other = split.alternatives[:, 0]
    model = LogisticRegression(max_iter=300).fit(_frames(split, split.x), _phones(split))
    assert model.score(_frames(split, other), _phones(split)) > 0.6
    features, speaker, _ = _utterance_means(split, split.x)
    converted, _, _ = _utterance_means(split, other)
    nearest = NearestCentroid().fit(features, speaker)
    assert nearest.score(features, speaker) > 0.7
    assert nearest.score(converted, speaker) < 0.35


def test_conversions_are_counted_and_may_be_left_out():
    sizes = {"speakers": 2, "validation_speakers": 1, "test_speakers": 1, "utterances": 1}
    assert load(Config(**sizes, conversions=0)).train.alternatives is None
    two = load(Config(**sizes, conversions=2)).train.alternatives
    assert two.shape == (32, 2, 20, 80)
    assert not np.array_equal(two[:, 0], two[:, 1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"speakers": 0}, "speakers must be at least 1"),
        ({"seconds": 0.1}, "seconds must be 0.2 at least"),
        ({"conversions": -1}, "conversions must not be negative"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        Config(**options)


def _frames(split, x):
    """Every fourth frame, normalised."""
    chosen = torch.from_numpy(x[split.rows][:, ::4])
    return split.spec.to_model(chosen).reshape(-1, 80).numpy()


def _phones(split):
    return split.label("phone")[:, ::4].ravel()

import numpy as np
import pytest

from unbraid.data.generated.recordings import PIECES, Config, load


@pytest.fixture(scope="module")
def corpus():
    return load(Config(train=16, validation=8, test=8))


def test_one_seed_gives_one_result_and_another_seed_another(corpus):
    again = load(Config(train=16, validation=8, test=8))
    other = load(Config(train=16, validation=8, test=8, seed=1))
    assert np.array_equal(corpus.train.x, again.train.x)
    assert not np.array_equal(corpus.train.x, other.train.x)


def test_pieces_of_a_recording_are_in_one_split_and_every_person_is_in_all(corpus):
    assert corpus.spec.pieces
    parts = (corpus.train, corpus.validation, corpus.test)
    recordings = [set(part.label("recording").tolist()) for part in parts]
    assert [len(ids) for ids in recordings] == [16, 8, 8]
    assert not recordings[0] & recordings[1]
    assert not (recordings[0] | recordings[1]) & recordings[2]
    assert all(set(part.label("person").tolist()) == set(range(8)) for part in parts)
    assert corpus.test.group == "recording"
    assert len(corpus.test) == 8 * PIECES


def test_most_pieces_show_one_or_two_activities(corpus):
    counts = [len(set(row)) for row in corpus.train.label("activity").tolist()]
    assert np.mean(np.array(counts) <= 2) > 0.6


def test_persons_and_activities_can_be_told_from_the_values(corpus):
    from sklearn.ensemble import RandomForestClassifier

    def features(split):
        x = split.x[split.rows].reshape(len(split), -1, 6)
        return np.concatenate([x.mean(1), x.std(1), np.diff(x, axis=1).std(1)], axis=1)

    forest = RandomForestClassifier(random_state=0)
    forest.fit(features(corpus.train), corpus.train.label("person"))
    assert forest.score(features(corpus.test), corpus.test.label("person")) > 2 / 8
    steps = [split.x[split.rows].reshape(-1, 10, 6) for split in (corpus.train, corpus.test)]
    moments = [np.concatenate([x.mean(1), x.std(1)], axis=1) for x in steps]
    forest.fit(moments[0], corpus.train.label("activity").ravel())
    assert forest.score(moments[1], corpus.test.label("activity").ravel()) > 0.7

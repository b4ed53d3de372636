"""Speaker verification on codes made by hand."""

from dataclasses import replace

import numpy as np
import pytest

from unbraid.data.corpus import Split
from unbraid.evaluation.manipulate import Embedding
from unbraid.evaluation.protocols.speakers import pair_scores, verify_speakers
from unbraid.records import Spec

SPEAKERS, UTTERANCES, SEGMENTS, T = 6, 8, 3, 4
N = SPEAKERS * UTTERANCES * SEGMENTS
WHO = np.arange(N) // (UTTERANCES * SEGMENTS)


@pytest.fixture
def split() -> Split:
    spec = Spec(name="made", kind="audio", frame=(2,), length=T)
    sentence = np.arange(N) // SEGMENTS % UTTERANCES  # all speakers say the same sentences
    labels = {"speaker": np.array([f"S{k}" for k in WHO]), "utterance": sentence}
    x = np.zeros((N, T, 2), dtype=np.float32)
    return Split(spec=spec, x=x, rows=np.arange(N), labels=labels)


def _codes(d: np.ndarray) -> Embedding:
    s = np.eye(SPEAKERS, dtype=np.float32)[WHO]
    return Embedding(s, d.astype(np.float32), np.ones((N, T), dtype=bool))


def _noise(size: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((N, T, size))


def test_a_perfect_model_knows_the_speaker_from_s_and_guesses_from_d(split):
    result = verify_speakers(_codes(_noise(5)), split)
    assert result.static_eer == 0.0
    assert result.dynamic_eer == pytest.approx(0.5, abs=0.06)
    assert result.gap == result.dynamic_eer - result.static_eer
    assert result.vectors == SPEAKERS * UTTERANCES
    assert result.pairs == 48 * 47 // 2


def test_a_leaky_d_knows_the_speaker(split):
    leak = np.repeat(np.eye(SPEAKERS)[WHO][:, None], T, 1)
    assert verify_speakers(_codes(leak + 0.1 * _noise(SPEAKERS)), split).dynamic_eer == 0.0


def test_segments_are_averaged_before_they_are_compared(split):
    speaker = np.zeros((N, T, SPEAKERS))
    speaker[::SEGMENTS] = SEGMENTS * np.eye(SPEAKERS)[WHO][::SEGMENTS, None]  # one segment tells
    assert verify_speakers(_codes(speaker), split).dynamic_eer == 0.0


def test_padded_steps_do_not_count(split):
    leak = np.repeat(np.eye(SPEAKERS)[WHO][:, None], T, 1)
    leak[:, 2:] = 1e3 * _noise(SPEAKERS)[:, 2:]
    codes = _codes(leak)
    mask = np.arange(T) < np.full((N, 1), 2)
    assert verify_speakers(Embedding(codes.s, codes.d, mask), split).dynamic_eer == 0.0


def test_one_speaker_alone_cannot_be_verified(split):
    alone = split.select(np.flatnonzero(WHO == 0))
    codes = _codes(_noise(2))
    part = Embedding(codes.s[WHO == 0], codes.d[WHO == 0], codes.mask[WHO == 0])
    with pytest.raises(ValueError, match="got only same"):
        verify_speakers(part, alone)


def test_utterances_of_unknown_speakers_are_in_no_pair(split):
    unknown = WHO >= SPEAKERS - 2  # two speakers, who would count as one
    labels = {**split.labels, "speaker": np.where(unknown, -1, WHO)}
    result = verify_speakers(_codes(_noise(5)), replace(split, labels=labels))
    assert result.static_eer == 0.0
    assert result.vectors == (SPEAKERS - 2) * UTTERANCES


def test_a_code_of_zeros_is_similar_to_none(split):
    pairs = pair_scores(_codes(np.zeros((N, T, 3))), split)
    assert not pairs.dynamic.any()

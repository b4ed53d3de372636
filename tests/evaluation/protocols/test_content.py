"""A code that holds the frames explains them; one that holds the speaker alone explains nothing."""

import numpy as np
import pytest
import torch

from unbraid.data.corpus import Split
from unbraid.evaluation.manipulate import Embedding
from unbraid.evaluation.protocols.content import probe_content, r2_by_halves
from unbraid.methods.base import Method
from unbraid.records import Batch, Codes, Factor, Spec


class _Known(Method):
    """Decodes what it is told, whatever the codes."""

    def __init__(self, x_hat: np.ndarray) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.spec = Spec(name="voices", kind="audio", frame=(3,), length=5)
        self.x_hat, self.seen = torch.from_numpy(x_hat), 0

    def encode(self, batch: Batch) -> Codes:
        return Codes(batch.x.mean((1, 2))[:, None], batch.x)

    def decode(self, codes: Codes) -> torch.Tensor:
        first, self.seen = self.seen, self.seen + len(codes.s)
        return self.x_hat[first : self.seen]

    def sample(self, n, length, *, means=False):
        raise NotImplementedError

    def loss(self, batch, step):
        raise NotImplementedError


@pytest.fixture
def split() -> Split:
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(4), 40)
    x = (rng.normal(size=(160, 5, 3)) + 10 * who[:, None, None]).astype(np.float32)
    labels = {"speaker": who, "utterance": np.arange(160) // 10}
    spec = Spec(
        name="voices",
        kind="audio",
        frame=(3,),
        length=5,
        static=(Factor(name="speaker", classes=4),),
    )
    return Split(spec=spec, x=x, rows=np.arange(160), labels=labels)


def measure(split: Split, d: np.ndarray, x_hat: np.ndarray):
    codes = Embedding(np.zeros((160, 1), np.float32), d.astype(np.float32), np.ones((160, 5), bool))
    return probe_content(_Known(x_hat), codes, split)


def test_a_d_that_holds_the_frames_explains_all_of_them(split):
    explained = measure(split, split.x @ np.array([[1, 2, 0], [0, 1, 1], [3, 0, 1]]), split.x)
    assert explained.dynamic_r2 == pytest.approx(1.0, abs=0.05)
    assert explained.reconstruction_error == 0


def test_a_d_that_holds_the_speaker_alone_explains_nothing(split):
    speaker = np.broadcast_to(split.labels["speaker"][:, None, None], (160, 5, 1))
    mean = np.broadcast_to(split.x.mean((0, 1)), split.x.shape).copy()
    explained = measure(split, speaker, mean)
    assert explained.dynamic_r2 == pytest.approx(0.0, abs=0.05)
    assert explained.reconstruction_error == pytest.approx(1.0, abs=1e-4)


def test_a_constant_d_explains_nothing_and_breaks_nothing():
    targets = np.random.default_rng(0).normal(size=(40, 2))
    assert r2_by_halves(np.ones((40, 3)), targets, np.arange(40) % 2) == pytest.approx(0.0, abs=0.1)

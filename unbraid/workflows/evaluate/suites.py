"""How much `unbraid evaluate` measures."""

from dataclasses import dataclass

from unbraid.evaluation.predictors import Predictor
from unbraid.evaluation.protocols.probes import Classifier

EVERY: tuple[Predictor, ...] = ("net", "linear", "boosted")


@dataclass(frozen=True, slots=True)
class Suite:
    """How much is measured."""

    classifiers: tuple[Classifier, ...]
    probe_seeds: int
    judge_repeats: int
    judge_limit: int  # test sequences; 0 = all
    task_seeds: int
    code_predictors: tuple[Predictor, ...] = EVERY
    raw_predictors: tuple[Predictor, ...] = EVERY
    decoded: int = 1000  # test sequences of which the reconstruction error is measured, at most
    diagnosed: int = 512  # test sequences in the diagnosis without labels, at most
    probed: int = 3000  # examples of a probe, at most
    separated: int = 1000  # examples of a probe of the separation score, at most


SUITES = {
    # Neighbours beside the papers' SVC: they find leaks in d that an SVC with defaults misses.
    "quick": Suite(
        ("svc", "knn"),
        2,
        1,
        250,
        1,
        ("net", "linear"),
        ("linear",),
        decoded=250,
        diagnosed=128,
        probed=1000,
        separated=500,
    ),
    "full": Suite(("svc", "forest", "knn"), 10, 5, 0, 3),
}

"""The judge: a classifier trained with labels, which says what generated sequences show."""

from unbraid.evaluation.judge.model import (
    Judge,
    JudgeConfig,
    Predictions,
    Role,
    judged_factors,
    test_accuracy,
)
from unbraid.evaluation.judge.store import (
    check_judge,
    fingerprint,
    load_judge,
    read_judge,
    save_judge,
)
from unbraid.evaluation.judge.training import fit_judge, minutes_before

__all__ = [
    "Judge",
    "JudgeConfig",
    "Predictions",
    "Role",
    "check_judge",
    "fingerprint",
    "fit_judge",
    "judged_factors",
    "load_judge",
    "minutes_before",
    "read_judge",
    "save_judge",
    "test_accuracy",
]

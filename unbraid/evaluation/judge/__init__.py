"""The judge: a classifier trained with labels, which says what generated sequences show."""

from unbraid.evaluation.judge.model import (
    Judge,
    JudgeConfig,
    Predictions,
    Role,
    fit_judge,
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
    "read_judge",
    "save_judge",
    "test_accuracy",
]

"""How good predicted probabilities and predicted numbers are."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def auroc(scores: NDArray[Any], true: NDArray[Any]) -> float:
    """Area under the ROC curve, 0 to 1; more is better, 0.5 is guessing.

    Args:
        scores: (N,) more = more likely of class 1.
        true: (N,) 0 or 1.

    >>> auroc(np.array([0.1, 0.4, 0.35, 0.8]), np.array([0, 0, 1, 1]))
    0.75
    """
    from sklearn.metrics import roc_auc_score

    _check_both_classes(true)
    return float(roc_auc_score(true, scores))


def auprc(scores: NDArray[Any], true: NDArray[Any]) -> float:
    """Area under the precision-recall curve as average precision, 0 to 1; more is better.

    AP = Σ_n (R_n − R_{n−1}) P_n over falling thresholds; guessing gives the share of class 1.

    >>> round(auprc(np.array([0.1, 0.4, 0.35, 0.8]), np.array([0, 0, 1, 1])), 3)
    0.833
    """
    from sklearn.metrics import average_precision_score

    _check_both_classes(true)
    return float(average_precision_score(true, scores))


def mae(predicted: NDArray[Any], true: NDArray[Any]) -> float:
    """Mean absolute error, in the units of the target; less is better.

    >>> mae(np.array([1.0, 2.0]), np.array([1.0, 5.0]))
    1.5
    """
    return float(np.mean(np.abs(predicted - true)))


def _check_both_classes(true: NDArray[Any]) -> None:
    classes = np.unique(true)
    if classes.tolist() != [0, 1]:
        raise ValueError(
            f"a ranking is scored on examples of class 0 and of class 1, got {classes.tolist()}."
        )

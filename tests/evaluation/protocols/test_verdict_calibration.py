"""Thresholds of the verdict lie between models of known quality (docs/evaluate.md)."""

from dataclasses import replace

import pytest

from tests.evaluation.protocols.test_diagnosis import Glass, _diagnosis
from unbraid.evaluation.protocols.diagnosis import Diagnosis
from unbraid.evaluation.protocols.verdict import verdict


def _measured(
    explained: float,
    alone: tuple[float, float],
    agreement: tuple[float, float],
    unswapped: tuple[float, float],
) -> Diagnosis:
    """Return a diagnosis with numbers that were measured on toy-sprites."""
    oracle = _diagnosis(Glass())
    cycles = [
        replace(cycle, agreement=agree, unswapped=right)
        for cycle, agree, right in zip(
            (oracle.static_cycle, oracle.dynamic_cycle), agreement, unswapped, strict=True
        )
    ]
    return replace(
        oracle,
        batch=128,
        explained=explained,
        explained_by_static=alone[0],
        explained_by_dynamic=alone[1],
        static_cycle=cycles[0],
        dynamic_cycle=cycles[1],
    )


POOLED = _measured(0.91, (0.36, 0.40), (0.98, 0.99), (1.00, 0.98))
RECIPE = _measured(0.90, (0.15, 0.48), (0.98, 1.00), (1.00, 1.00))
LEAKY = _measured(0.85, (-0.22, 0.83), (0.42, 1.00), (0.98, 1.00))
UNTRAINED = _measured(-4.87, (-4.87, -4.87), (0.52, 0.52), (0.01, 0.01))


@pytest.mark.parametrize("good", [_diagnosis(Glass()), POOLED, RECIPE])
def test_models_that_separate_are_not_blamed(good: Diagnosis):
    assert verdict(good)[0].startswith("No sign of leakage")


def test_a_model_that_leaks_is_blamed_for_both_signs_of_it():
    sentences = verdict(LEAKY)
    assert any(sentence.startswith("s adds little") for sentence in sentences)
    assert any(sentence.startswith("d carries static information") for sentence in sentences)


def test_an_untrained_model_is_told_to_train_and_its_swaps_say_little():
    sentences = verdict(UNTRAINED)
    assert sentences[0].endswith("train longer, then judge.")
    assert sum("cannot be read back" in sentence for sentence in sentences) == 2

"""Choosing between trained models without labels: two numbers, less is better for both.

* `held_out_nats`: the negative evidence bound on held-out sequences with every weight set to one.
* `leakage`: what the label-free diagnosis amounts to, from 0 (each code travels alone) to 1.
"""

import math

from unbraid.data.corpus import Split
from unbraid.evaluation.protocols.diagnosis import Cycle, Diagnosis
from unbraid.methods.base import Method
from unbraid.precision import inference
from unbraid.records import Terms
from unbraid.seeding import seed_draws

COSTS = ("kl_static", "kl_dynamic")


@inference
def held_out_nats(
    method: Method, split: Split, *, limit: int = 256, batch_size: int = 64, seed: int = 0
) -> float:
    """Return the negative evidence bound in nats per sequence, whatever the weights of training.

    −log p(x | s, d) + KL(q(s|x) || p(s)) + KL(q(d|x) || p(d)), mean over sequences, one draw each.
    Weights only say what was traded for what while training, so they are left out here; terms that
    are no part of the bound (contrastive, mutual information) do not count. Series have a
    likelihood with a learned scale. Video and audio are trained with a squared error E per
    sequence of n elements; they get the one variance that fits best, E / n, so that −log p is
    n/2 · (log 2πE/n + 1). With a variance fixed beforehand one weighting would win by decree.

    Args:
        method: the model, in evaluation mode.
        split: validation sequences; labels are not read.
        limit: so many of them at most, chosen at random but always the same.
        batch_size: sequences at a time.
        seed: decides the draws.
    """
    part = split.some(limit)
    if not len(part):
        raise ValueError("there are no validation sequences to choose by.")
    device = next(method.parameters()).device
    sums, elements = dict.fromkeys((*method.likelihood_terms, *COSTS), 0.0), 0.0
    seed_draws(seed, "validation")
    for batch in part.batches(batch_size, device):
        terms = method.loss(batch, 0)
        _check(method, terms)
        for name in sums:
            sums[name] += float(terms[name][1]) * len(batch) / len(part)
        elements += float(batch.valid.expand_as(batch.x).sum()) / len(part)
    error, cost = (sum(sums[name] for name in names) for names in (method.likelihood_terms, COSTS))
    return cost + (error if method.spec.kind == "series" else _best_variance(error, elements))


def _best_variance(error: float, elements: float) -> float:
    """Return −log p in nats of a Gaussian whose variance is the mean squared error.

    >>> round(_best_variance(4.0, 4.0), 4)  # variance 1: n/2 · (log 2π + 1)
    5.6758
    """
    variance = max(error / max(elements, 1.0), 1e-12)
    return 0.5 * elements * (math.log(2 * math.pi * variance) + 1)


def _check(method: Method, terms: Terms) -> None:
    """Raise `ValueError` for a method whose terms are not a whole evidence bound."""
    lacking = [name for name in (*method.likelihood_terms, *COSTS) if name not in terms]
    if lacking:
        raise ValueError(
            f"{type(method).__name__} has no evidence bound with these settings (its loss lacks "
            f"{', '.join(lacking)}): choose by leakage."
        )


def leakage(diagnosis: Diagnosis) -> float:
    """Return how far a model is from explaining the data with codes that travel alone; 0 is best.

    1 − e · √(t_s · t_d). e is the share of the data both codes explain, 0 at least. t is how well
    a code travels: after a swap it is compared with the source's (kept) and with the other's code,
    t = (1 + kept − other) / 2, between 0 (it went with the other), ½ (it tells nothing) and 1.
    """
    travels = math.sqrt(_travels(diagnosis.static_cycle) * _travels(diagnosis.dynamic_cycle))
    return 1 - max(0.0, diagnosis.explained) * travels


def _travels(cycle: Cycle) -> float:
    return min(1.0, max(0.0, (1 + cycle.kept - cycle.other) / 2))

"""What a diagnosis and probes amount to, in sentences with their evidence and what to try.

Every threshold is a named number here. Those with figures behind them lie between models that are
known to be good and models that are known to be bad: an oracle, runs of dsvae on toy-sprites that
separate (recipe) or leak by their weights (leaky), and an untrained model (docs/evaluate.md).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from unbraid.evaluation.protocols.diagnosis import Diagnosis
from unbraid.evaluation.protocols.probes import ProbeRow

FEW_UNITS = 0.05  # share of active units below which a code is hardly used
# Share of what both codes explain that one must add to the other: leaky 0.02, recipe 0.47.
ADDS_NOTHING = 0.05
# Share explained by both codes below which nothing can be said of them: untrained < 0, recipe 0.9.
POOR = 0.5
# Share of swapped pairs whose code must stay with its source (0.5 is a coin): untrained 0.52, leaky
# 0.42, recipe 0.98, oracle 1.
AGREES = 0.75
READABLE = 3.0  # times chance that retrieval without a swap must reach to say anything
MOVES = 0.5  # change of s by shuffling, in distances between sequences
LEAKS = 0.2  # share of the way from chance to certainty at which a probe tells a factor
RECIPE = "try the recommended recipe (`unbraid fit DATA --out NEW`, no other option)"
RECIPE_IF_NEW = RECIPE.replace("recipe", "recipe, unless the run has it", 1)


@dataclass(frozen=True, slots=True)
class Advice:
    """What to try against a leak; each is measured to help (docs/evaluate.md).

    Attributes:
        d: if d carries static information.
        s: if s carries dynamic information.
        weights: the setting that weighs the KL term of each code; a method may have none.
    """

    d: str = RECIPE_IF_NEW
    s: str = RECIPE_IF_NEW
    weights: Mapping[str, str] = field(
        default_factory=lambda: {"s": "method.w_kl_static", "d": "method.w_kl_dynamic"}
    )

    def freer(self, code: str, *, longer: bool) -> str:
        """Return what lets a code hold more."""
        lower = f"lower {self.weights[code]}" if code in self.weights else ""
        return " or ".join(filter(None, ("train longer" if longer or not lower else "", lower)))


def verdict(
    diagnosis: Diagnosis, probes: Sequence[ProbeRow] | None = None, advice: Advice | None = None
) -> list[str]:
    """Say what the numbers show and what could be tried.

    Args:
        diagnosis: from `diagnose`.
        probes: what classifiers read from the codes, where there are labels.
        advice: what to try with this model; without it, the recommended recipe.
    """
    g, advice = diagnosis, advice or Advice()
    sentences = [*_use(g, advice), *_swaps(g, advice), *_probes(probes or (), advice)]
    if g.order_change > MOVES:
        sentences.append(
            f"s changes when frames are shuffled: by {_pc(g.order_change)} of the distance between "
            f"two sequences, so it holds order or single frames; {advice.s}."
        )
    s, d = _pc(g.static_cycle.agreement), _pc(g.dynamic_cycle.agreement)
    return sentences or [
        f"No sign of leakage: after a swap s stays with its source in {s} of pairs and d in {d}; "
        f"both codes explain {_pc(g.explained)} of the data."
    ]


def _use(g: Diagnosis, advice: Advice) -> Iterator[str]:
    """Say whether the model works at all and uses both codes."""
    if g.explained < POOR:
        yield f"Both codes explain {_pc(g.explained)} of the data only: train longer, then judge."
    by_static, by_dynamic = g.explained_by_static, g.explained_by_dynamic
    for code, rest, share in (("s", "d", by_dynamic), ("d", "s", by_static)):
        if g.explained > 0 and g.explained - share < ADDS_NOTHING * g.explained:
            yield (
                f"{code} adds little: {rest} alone explains {_pc(share)} of the data, both "
                f"{_pc(g.explained)}, so {rest} carries nearly all; {getattr(advice, rest)}."
            )
    for code, units in (("s", g.static_units), ("d", g.dynamic_units)):
        if units is not None and units.active < max(1.0, FEW_UNITS * units.total):
            yield (
                f"{code} is hardly used: {units.active} of {units.total} units active; "
                f"{advice.freer(code, longer=False)}."
            )


def _swaps(g: Diagnosis, advice: Advice) -> Iterator[str]:
    """Say which code went with the wrong sequence."""
    for code, rest, cycle in (("s", "d", g.static_cycle), ("d", "s", g.dynamic_cycle)):
        if cycle.unswapped < min(READABLE / g.batch, 0.9):
            yield (
                f"{code} cannot be read back from what is decoded: without any swap the right one "
                f"of {g.batch} is found in {_pc(cycle.unswapped)}; swaps say little about it."
            )
        elif cycle.agreement < AGREES:
            what = "static" if code == "s" else "dynamic"
            yield (
                f"{rest} carries {what} information: after a swap {code} agrees with its source in "
                f"{_pc(cycle.agreement)} of pairs, else with the source of {rest}; "
                f"{getattr(advice, rest)}."
            )


def _probes(rows: Sequence[ProbeRow], advice: Advice) -> Iterator[str]:
    """Say what classifiers read where they should not, and do not read where they should."""
    for row in strongest(rows):
        tells = (row.mean - row.chance) / max(1e-9, 1 - row.chance) > LEAKS
        numbers = f"{_pc(row.mean)} against {_pc(row.chance)} chance"
        if tells and not row.wanted:
            yield f"{row.code} carries {row.factor}: {numbers}; {getattr(advice, row.code)}."
        if row.wanted and not tells:
            freer = advice.freer(row.code, longer=True)
            yield f"{row.code} does not tell {row.factor}: {numbers}; {freer}."


def strongest(rows: Sequence[ProbeRow]) -> list[ProbeRow]:
    """Return, of several classifiers, the one that reads a factor best from a code."""
    best: dict[tuple[str, str], ProbeRow] = {}
    for row in rows:
        key = (row.code, row.factor)
        if key not in best or row.mean > best[key].mean:
            best[key] = row
    return list(best.values())


def _pc(share: float) -> str:
    return f"{100 * share:.0f} %"

"""What can go wrong while training, noticed early and said plainly."""

import math
from dataclasses import dataclass, field

import torch
from torch import nn

from unbraid.records import Terms

COLLAPSED = 0.1  # nats: a code this close to its prior tells nothing of the input


class NonFiniteLossError(ArithmeticError):
    """A term of the loss, or its gradient, is not a finite number."""


def check_terms(terms: Terms, step: int) -> None:
    """Raise `NonFiniteLossError` naming every term that is not finite."""
    bad = [name for name, (_, value) in terms.items() if not torch.isfinite(value)]
    if bad:
        raise NonFiniteLossError(f"Loss is not finite at step {step}: {', '.join(bad)}.")


def check_gradients(module: nn.Module, step: int) -> None:
    """Raise `NonFiniteLossError` if a gradient is not finite, before it reaches the weights."""
    gradients = [p.grad for p in module.parameters() if p.grad is not None]
    norms = torch._foreach_norm(gradients)
    if not torch.isfinite(torch.stack(norms).sum()):
        names = [n for n, p in module.named_parameters() if p.grad is not None]
        bad = [n for n, norm in zip(names, norms, strict=True) if not torch.isfinite(norm)]
        raise NonFiniteLossError(f"Gradient is not finite at step {step}: {', '.join(bad[:3])}.")


@dataclass(slots=True)
class CollapseMonitor:
    """Notices when a code stops telling anything of the input, and when it starts again."""

    after: int = 200
    collapsed: set[str] = field(default_factory=set)

    def update(self, step: int, row: dict[str, float]) -> list[str]:
        """Return sentences about what has changed since the last call."""
        if step < self.after:
            return []
        notes = []
        for code, term in (("s", "kl_static"), ("d", "kl_dynamic")):
            value = row.get(term, math.inf)
            if value < COLLAPSED and code not in self.collapsed:
                self.collapsed.add(code)
                notes.append(
                    f"{code} has collapsed at step {step}: {term} is {value:.3f} nats, so "
                    f"{code} tells nothing of the input. Try a smaller method.w_{term}."
                )
            elif value > 2 * COLLAPSED and code in self.collapsed:
                self.collapsed.discard(code)
                notes.append(f"{code} is in use again at step {step}: {term} is {value:.2f} nats.")
        return notes

"""When the rate of `training.schedule=plateau` begins to fall, and when training is over."""

from dataclasses import dataclass


@dataclass(slots=True)
class CoolDown:
    """A constant rate until validation no longer improves, then a linear fall, then the end.

    The fall takes `share` of the steps made before it. It begins in time to end with the budget,
    in steps or in minutes, if validation still improves then.
    """

    share: float  # of the steps before it
    steps: int  # budget
    begin: int = 0  # step; 0: not yet
    spent: float = 0.0  # share of the minutes that were used up at the beginning
    reason: str = ""  # that it began for: "plateau" or "budget"

    def start(self, step: int, spent: float, reason: str) -> None:
        """Let the rate fall from here on; the second time it does nothing."""
        if not self.begin:
            self.begin, self.spent, self.reason = step, min(spent, 1.0), reason

    def due(self, step: int, spent: float) -> bool:
        """Say whether the fall must have begun by now to end with the budget."""
        return max(step / self.steps, spent) * (1 + self.share) >= 1

    def go_on(self, step: int, spent: float) -> None:
        """Take up a run again: with a larger budget than before, at the full rate."""
        if step >= self.end or (self.reason == "budget" and not self.due(step, spent)):
            self.begin, self.spent, self.reason = 0, 0.0, ""

    @property
    def end(self) -> int:
        """The last step, as far as is known."""
        if not self.begin:
            return self.steps
        return min(self.steps, self.begin + max(1, round(self.share * self.begin)))

    def progress(self, step: int, spent: float) -> float:
        """Return how much of the fall is over, by steps or by minutes if those are further.

        >>> cooling = CoolDown(share=0.25, steps=2000, begin=800)
        >>> [cooling.progress(step, 0.0) for step in (700, 800, 900, 1000)]
        [0.0, 0.0, 0.5, 1.0]
        """
        if not self.begin:
            return 0.0
        by_steps = (step - self.begin) / max(1, self.end - self.begin)
        by_minutes = (spent - self.spent) / max(1e-9, 1 - self.spent) if self.spent < 1 else 1.0
        return min(1.0, max(0.0, by_steps, by_minutes))

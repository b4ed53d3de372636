"""Where draws come from: seed, purpose and step, and nothing else."""

from typing import Literal, get_args

import numpy as np
import torch

Purpose = Literal["step", "start", "validation", "use"]
PURPOSES = get_args(Purpose)


def seed_draws(seed: int, purpose: Purpose, step: int = 0) -> None:
    """Make all draws from here on depend on nothing but seed, purpose and step.

    A training step is then a function of the weights it starts from, which is what makes a
    resumed run equal an uninterrupted one, and several processes equal one.
    """
    key = np.random.SeedSequence((seed, PURPOSES.index(purpose), step))
    torch.manual_seed(int(key.generate_state(1, np.uint64)[0] >> np.uint64(1)))

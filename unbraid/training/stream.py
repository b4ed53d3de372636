"""Training batches in an order that depends on seed and step alone, so a run can go on anywhere."""

import time
from collections.abc import Callable, Iterator

import numpy as np

from unbraid.data.corpus import Rows, Split
from unbraid.records import Batch


def share_of_batch(batch_size: int, processes: int) -> int:
    """Number of sequences of a batch for each of several processes."""
    if batch_size % processes:
        near = max(1, batch_size // processes) * processes
        raise ValueError(
            f"a batch of {batch_size} sequences cannot be shared by {processes} processes alike. "
            f"Set training.batch_size to a multiple of {processes}, e.g. {near}."
        )
    return batch_size // processes


class BatchStream:
    """Full batches of one epoch at a time, each epoch in its own random order.

    Iterating starts at step `start()`, also in the middle of an epoch. The rows of a
    batch are copied by one indexing call; there is no per-item work. `waited` counts the seconds
    that took: a model cannot compute meanwhile.

    Of several processes each gets its slice of the same batches: `shard` is (rank, size).
    """

    def __init__(
        self,
        split: Split,
        batch_size: int,
        *,
        seed: int,
        start: Callable[[], int],
        device: str = "cpu",
        shard: tuple[int, int] = (0, 1),
    ) -> None:
        if len(split) < batch_size:
            raise ValueError(
                f"the training split has {len(split)} sequences, fewer than one batch of "
                f"{batch_size}. Set training.batch_size to {len(split)} or less."
            )
        self.rank, size = shard
        share = share_of_batch(batch_size, size)
        self.split, self.batch_size, self.seed = split, batch_size, seed
        self.start, self.device, self.share = start, device, share
        self.waited = 0.0

    @property
    def steps_per_epoch(self) -> int:
        """Number of full batches in the split."""
        return len(self.split) // self.batch_size

    def order(self, epoch: int) -> Rows:
        """Return the positions of one epoch, in its order."""
        return np.random.default_rng((self.seed, epoch)).permutation(len(self.split))

    def __len__(self) -> int:
        """Number of batches in an epoch; knowing it, Lightning fetches none ahead of time."""
        return self.steps_per_epoch

    def __iter__(self) -> Iterator[Batch]:
        epoch, done = divmod(self.start(), self.steps_per_epoch)
        order = self.order(epoch)
        for i in range(done, self.steps_per_epoch):
            rows = order[i * self.batch_size : (i + 1) * self.batch_size]
            # Sorted rows read a memory-mapped file in one direction. Neighbours are alike then, so
            # no term may depend on the order inside a batch.
            local_rows = np.sort(rows)[self.rank * self.share : (self.rank + 1) * self.share]
            began = time.perf_counter()
            batch = self.split.take(local_rows, self.device)
            self.waited += time.perf_counter() - began
            yield batch

"""The codes of a split by several processes, in the order of the split."""

from functools import partial

import numpy as np
from torch import distributed as dist

from unbraid.data.corpus import Split
from unbraid.evaluation.manipulate import Embedding, embed
from unbraid.methods.base import Method
from unbraid.parallel.launch import launch, process_group, process_info


def embed_sharded(method: Method, split: Split, *, batch_size: int = 128) -> Embedding | None:
    """Return the codes of a split; to be called by all processes that were started together.

    The batches are those of `embed`, so the codes are the same; every process takes a stretch.

    Returns:
        the codes of the whole split in the first process, None in the others.
    """
    here = process_info()
    if here.size == 1:
        return embed(method, split, batch_size=batch_size)
    starts = np.array_split(np.arange(0, len(split), batch_size), here.size)[here.rank]
    part = None
    if len(starts):  # a short split may not have a batch for everybody
        rows = slice(starts[0], starts[-1] + batch_size)
        part = embed(method, split.select(rows), batch_size=batch_size)
    parts: list[Embedding | None] = [None] * here.size
    with process_group():
        dist.gather_object(part, parts if here.rank == 0 else None)
    if here.rank:
        return None
    embeddings = [part for part in parts if part is not None]
    return Embedding(
        *(np.concatenate([getattr(p, f) for p in embeddings]) for f in ("s", "d", "mask"))
    )


def embed_by(devices: int, method: Method, split: Split, *, batch_size: int = 128) -> Embedding:
    """Return the codes of a split, computed by new processes on this machine."""
    return launch(devices, partial(embed_sharded, method, split, batch_size=batch_size))

import numpy as np
import pytest

from unbraid.data.corpus import Split
from unbraid.records import Spec
from unbraid.training.stream import BatchStream


def split(n: int = 13) -> Split:
    x = np.arange(n, dtype=np.float32)[:, None, None].repeat(2, 1)  # row i holds i
    return Split(spec=Spec(name="toy", kind="audio", frame=(1,), length=2), x=x, rows=np.arange(n))


def rows(stream: BatchStream) -> list[list[float]]:
    return [batch.x[:, 0, 0].tolist() for batch in stream]


def stream(seed: int = 0, start: int = 0) -> BatchStream:
    return BatchStream(split(), 4, seed=seed, start=lambda: start)


def test_each_sequence_comes_at_most_once_per_epoch_and_batches_are_full():
    epoch = rows(stream())
    assert [len(batch) for batch in epoch] == [4, 4, 4]
    assert len({row for batch in epoch for row in batch}) == 12
    assert stream().steps_per_epoch == 3


def test_the_sequence_left_out_differs_between_epochs():
    left = {
        (set(range(13)) - {int(r) for b in rows(stream(start=3 * e)) for r in b}).pop()
        for e in range(20)
    }
    assert len(left) > 5


def test_the_order_depends_on_seed_and_epoch_only():
    assert rows(stream()) == rows(stream())
    assert rows(stream()) != rows(stream(seed=1))
    assert rows(stream()) != rows(stream(start=3))
    assert stream(start=7).order(4).tolist() == stream(start=0).order(4).tolist()


@pytest.mark.parametrize("epoch", [0, 2])
@pytest.mark.parametrize("done", [1, 2])
def test_an_epoch_can_start_in_the_middle(epoch: int, done: int):
    whole = rows(stream(start=3 * epoch))
    assert rows(stream(start=3 * epoch + done)) == whole[done:]


def test_where_to_start_is_asked_at_every_epoch():
    step = [0]
    moving = BatchStream(split(), 4, seed=0, start=lambda: step[0])
    first = rows(moving)
    step[0] = 3
    assert rows(moving) == rows(stream(start=3)) != first


def test_a_split_smaller_than_a_batch_is_refused():
    with pytest.raises(ValueError, match=r"13 sequences, fewer than one batch of 14\. Set"):
        BatchStream(split(), 14, seed=0, start=lambda: 0)


def test_processes_share_the_batches_of_one():
    shares = [
        rows(BatchStream(split(), 4, seed=0, start=lambda: 0, shard=(rank, 2))) for rank in (0, 1)
    ]
    assert [a + b for a, b in zip(*shares, strict=True)] == rows(stream())
    assert {len(batch) for share in shares for batch in share} == {2}


def test_a_batch_that_cannot_be_shared_alike_is_refused():
    with pytest.raises(
        ValueError, match=r"batch of 4 .* by 3 processes .* multiple of 3, e\.g\. 3"
    ):
        BatchStream(split(), 4, seed=0, start=lambda: 0, shard=(0, 3))

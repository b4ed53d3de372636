from collections.abc import Iterator

import pytest
import torch

from unbraid.parallel.threads import fewer_threads


@pytest.fixture(autouse=True)
def two_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = torch.get_num_threads()
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_one_thread_is_used_where_two_are_slower() -> None:
    times = iter([1.0, 3.0, 1.0, 0.9, 1.0, 3.0, 9.0, 3.0, 1.0, 3.0])
    assert fewer_threads(lambda threads: next(times))
    assert torch.get_num_threads() == 1


def test_two_threads_stay_where_they_are_faster_and_one_outlier_does_not_count() -> None:
    times = iter([1.0, 0.6, 1.0, 9.0, 1.0, 0.6, 1.0, 0.6, 1.0, 1.1])
    assert not fewer_threads(lambda threads: next(times))
    assert torch.get_num_threads() == 2


def test_a_number_of_threads_that_was_asked_for_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert not fewer_threads(lambda threads: float(threads))
    assert torch.get_num_threads() == 2


def test_it_measures_by_itself_and_leaves_one_thread_or_all() -> None:
    assert fewer_threads() == (torch.get_num_threads() == 1)

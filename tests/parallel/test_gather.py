"""Two processes compute what one process computes with the whole batch."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch import distributed as dist
from torch.multiprocessing.spawn import spawn

from unbraid.objectives.mutual import code_input, densities, info_nce, static_dynamic
from unbraid.parallel.batchnorm import share_statistics
from unbraid.parallel.draws import SlicedDraws
from unbraid.parallel.gather import gather, local_rows, mean_terms, same_draws, sharded_batch
from unbraid.records import Codes, Gaussian, Posterior

ROWS, STEPS, K, D = 6, 4, 5, 3


def inputs() -> tuple[Tensor, Tensor, Tensor]:
    """Values, a mask with unequal lengths, and the weights of a linear map."""
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(ROWS, STEPS, K, generator=draw)
    mask = torch.arange(STEPS) < torch.tensor([4, 2, 3, 4, 1, 4])[:, None]
    return x, mask, torch.randn(K, 2 * D, generator=draw)


def terms(x: Tensor, mask: Tensor, weight: Tensor) -> dict[str, Tensor]:
    """Every kind of term that compares sequences, beside one that does not."""
    mean, log_var = (x @ weight).chunk(2, -1)
    q = Posterior(Gaussian(mean[:, 0], log_var[:, 0]), Gaussian(mean, log_var))
    table = densities(q.sample(), q, mask)
    return {
        "nce": info_nce(mean[:, 0], mean[:, 1], temperature=0.5),
        "static": code_input(table.static, 60),
        "both": static_dynamic(table, 60),
        "own": mean.square().sum((1, 2)).mean(),
    }


def norm_of(x: Tensor, g: Tensor) -> tuple[nn.BatchNorm2d, Tensor, Tensor]:
    """Return a layer after one training step on x, its output, and the gradient of x."""
    norm = nn.BatchNorm2d(x.shape[1])
    with torch.no_grad():
        norm.weight += torch.arange(x.shape[1])
    if dist.is_initialized():
        share_statistics(norm)
    x = x.clone().requires_grad_()
    y = norm(x)
    (y * g).sum().backward()
    assert x.grad is not None
    return norm, y.detach(), x.grad


def penalty_of(x: Tensor, g: Tensor) -> dict[str, Tensor]:
    """Return the slope of a layer at x, and the gradients of the slope's squared length."""
    norm = nn.BatchNorm2d(x.shape[1])
    if dist.is_initialized():
        share_statistics(norm)
    x = x.clone().requires_grad_()
    (slope,) = torch.autograd.grad((norm(x).relu() * g).sum(), x, create_graph=True)
    slope.square().sum().backward()
    assert x.grad is not None
    assert norm.weight.grad is not None
    return {"slope": slope.detach(), "slope.x": x.grad, "slope.weight": norm.weight.grad}


def frames() -> tuple[Tensor, Tensor]:
    draw = torch.Generator().manual_seed(1)
    x = torch.randn(12, 3, 4, 4, generator=draw) * 3 + 7
    return x.to(memory_format=torch.channels_last), torch.randn(12, 3, 4, 4, generator=draw)


def work(rank: int, folder: str) -> None:
    """What one of two processes does; it leaves what it found in a file."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", f"file://{folder}/meet", rank=rank, world_size=2)
    x, mask, weight = inputs()
    mine = slice(3 * rank, 3 * rank + 3)
    weight.requires_grad_()
    torch.manual_seed(0)
    with sharded_batch(3):
        terms_here = terms(x[mine], mask[mine], weight)
        means = mean_terms({name: (1.0, value) for name, value in terms_here.items()})
        codes, steps = gather((Codes(x[mine, 0], x[mine]), mask[mine]))
        back, noise = local_rows(codes.s), torch.randn_like(x[mine])
        with same_draws():
            same = torch.randn_like(x[mine])
    torch.stack(list(terms_here.values())).sum().backward()
    assert weight.grad is not None
    dist.all_reduce(weight.grad)
    here = slice(0, 5) if rank == 0 else slice(5, 12)  # unequal numbers of frames
    norm, y, grad = norm_of(*(part[here] for part in frames()))
    slopes = penalty_of(*(part[here] for part in frames()))
    with sharded_batch(3):
        pass
    alone = gather(x[mine])
    dist.destroy_process_group()
    state = {f"norm.{name}": value for name, value in norm.state_dict().items()}
    grads = {"norm.grad": norm.weight.grad, "y": y, "x.grad": grad, "weight.grad": weight.grad / 2}
    values = {name: value for name, (_, value) in means.items()}
    rows = {"s": codes.s, "d": codes.d, "mask": steps, "back": back, "alone": alone}
    draws = {"noise": noise, "same": same}
    torch.save(state | grads | slopes | values | rows | draws, f"{folder}/{rank}.pt")


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Tensor]]:
    """What each of two processes found."""
    folder = tmp_path_factory.mktemp("two")
    spawn(work, (str(folder),), nprocs=2)
    return [torch.load(Path(folder) / f"{rank}.pt", weights_only=True) for rank in (0, 1)]


def test_rows_come_in_the_order_of_the_processes(two: list[dict[str, Tensor]]):
    x, mask, _ = inputs()
    for rank, process in enumerate(two):
        assert torch.equal(process["s"], x[:, 0])
        assert torch.equal(process["d"], x)
        assert torch.equal(process["mask"], mask)
        assert torch.equal(process["back"], x[3 * rank : 3 * rank + 3, 0])


def test_outside_of_a_shared_step_nothing_is_gathered(two: list[dict[str, Tensor]]):
    x, mask, _ = inputs()
    assert two[1]["alone"].shape == x[:3].shape
    assert gather((x, mask))[0] is x
    assert local_rows(x) is x


def test_terms_and_their_gradient_are_those_of_the_whole_batch(two: list[dict[str, Tensor]]):
    x, mask, weight = inputs()
    weight.requires_grad_()
    torch.manual_seed(0)
    whole = terms(x, mask, weight)
    torch.stack(list(whole.values())).sum().backward()
    for process in two:
        for name, value in whole.items():
            torch.testing.assert_close(process[name], value.detach(), rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(process["weight.grad"], weight.grad, rtol=1e-4, atol=1e-5)


def test_noise_is_a_slice_of_that_of_the_whole_batch(two: list[dict[str, Tensor]]):
    x, mask, weight = inputs()
    torch.manual_seed(0)
    terms(x, mask, weight)
    whole = torch.randn_like(x)
    assert torch.equal(torch.cat([process["noise"] for process in two]), whole)
    assert torch.equal(two[0]["same"], two[1]["same"])


def test_batch_statistics_are_those_of_all_frames(two: list[dict[str, Tensor]]):
    x, g = frames()
    norm, y, grad = norm_of(x, g)
    both = {name: torch.cat([process[name] for process in two]) for name in ("y", "x.grad")}
    torch.testing.assert_close(both["y"], y, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(both["x.grad"], grad, rtol=1e-4, atol=1e-5)
    parts = sum(process["norm.grad"] for process in two)  # DDP adds the processes' gradients
    torch.testing.assert_close(parts, norm.weight.grad, rtol=1e-4, atol=1e-4)
    for name, value in norm.state_dict().items():
        for process in two:
            torch.testing.assert_close(process[f"norm.{name}"], value, rtol=1e-5, atol=1e-6)


def test_slopes_through_batch_statistics_can_be_differentiated(two: list[dict[str, Tensor]]):
    whole = penalty_of(*frames())
    for name in ("slope", "slope.x"):
        both = torch.cat([process[name] for process in two])
        torch.testing.assert_close(both, whole[name], rtol=1e-4, atol=1e-5)
    parts = two[0]["slope.weight"] + two[1]["slope.weight"]
    torch.testing.assert_close(parts, whole["slope.weight"], rtol=1e-4, atol=1e-5)


def draws(rows: int) -> Iterator[Tensor]:
    """Every way the library draws noise, for so many rows."""
    x = torch.zeros(rows, 3)
    yield torch.randn_like(x)
    yield torch.rand(rows)
    yield torch.rand(x.shape, dtype=torch.float64)
    yield torch.randn(rows, 2)
    yield torch.randint(7, (rows,))
    yield torch.randint(3, 9, (rows, 2))
    yield torch.empty(rows).uniform_(0.5, 2.0)
    yield x.new_empty(rows, 5).normal_()
    yield torch.rand_like(x)


def test_slices_of_draws_put_together_are_the_draws_of_one_process():
    torch.manual_seed(3)
    whole = list(draws(6))
    slices = []
    for rank in range(3):
        torch.manual_seed(3)
        with SlicedDraws(2, rank, 3):
            slices.append(list(draws(2)))
    for parts, expected in zip(zip(*slices, strict=True), whole, strict=True):
        assert torch.equal(torch.cat(parts), expected)
        assert parts[0].dtype == expected.dtype


def test_a_bank_of_two_views_is_sliced_view_by_view():
    torch.manual_seed(3)
    first, second = torch.randn(12, 4).chunk(2)
    torch.manual_seed(3)
    with SlicedDraws(2, 1, 3):
        assert torch.equal(torch.randn(4, 4), torch.cat([first[2:4], second[2:4]]))


def test_draws_that_do_not_count_rows_are_the_same_everywhere():
    torch.manual_seed(3)
    scalar, order, three = torch.rand(()), torch.randperm(6), torch.randn(3)
    torch.manual_seed(3)
    with SlicedDraws(2, 1, 3):
        assert torch.equal(torch.rand(()), scalar)
        assert torch.equal(torch.randperm(6), order)
        assert torch.equal(torch.randn(3), three)

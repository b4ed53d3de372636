import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from unbraid.runs.checkpoint import (
    SafeCheckpointIO,
    method_weights,
    pack,
    read_checkpoint,
    unpack,
)

STATE: dict[str, Any] = {
    "epoch": 3,
    "global_step": 12,
    "callbacks": {},
    "state_dict": {"method.a": torch.arange(6.0).reshape(2, 3), "method.b": torch.tensor(7)},
    "optimizer_states": [{"state": {0: {"step": torch.tensor(2.0)}, 1: {}}, "betas": (0.9, 0.999)}],
    "nested": [(1, (2, [3])), None, True, "text", 1.5, {"tensor": "not one"}, {}, [], ()],
    "strided": torch.arange(24.0).reshape(1, 2, 3, 4).to(memory_format=torch.channels_last),
    "half": torch.ones(2, dtype=torch.bfloat16),
    "bool": torch.tensor([True, False]),
}


def assert_equal(a: Any, b: Any) -> None:
    assert type(a) is type(b)
    if isinstance(a, torch.Tensor):
        assert a.dtype == b.dtype
        assert torch.equal(a, b)
    elif isinstance(a, dict):
        assert list(a) == list(b)
        for key in a:
            assert_equal(a[key], b[key])
    elif isinstance(a, list | tuple):
        assert len(a) == len(b)
        for left, right in zip(a, b, strict=True):
            assert_equal(left, right)
    else:
        assert a == b


@pytest.fixture
def path(tmp_path: Path) -> Path:
    SafeCheckpointIO().save_checkpoint(STATE, tmp_path / "last.safetensors")
    return tmp_path / "last.safetensors"


def test_nested_values_survive_packing_and_json():
    tensors: dict[str, torch.Tensor] = {}
    tree = json.loads(json.dumps(pack(STATE, tensors)))
    assert_equal(unpack(tree, tensors), STATE)


def test_a_checkpoint_survives_the_disk(path: Path):
    assert_equal(read_checkpoint(path), STATE)
    assert_equal(SafeCheckpointIO().load_checkpoint(path), STATE)
    assert [p.name for p in path.parent.iterdir()] == ["last.safetensors"]


def test_numbers_that_are_not_finite_survive(tmp_path: Path):
    state = {
        "best": math.inf,
        "global_step": 1,
        "callbacks": {},
        "state_dict": {"w": torch.ones(1)},
    }
    SafeCheckpointIO().save_checkpoint(state, tmp_path / "a")
    assert read_checkpoint(tmp_path / "a")["best"] == math.inf


def test_packed_tensors_are_copies():
    tensors: dict[str, torch.Tensor] = {}
    weight = torch.zeros(2)
    tree = pack({"w": weight}, tensors)
    weight += 1.0
    assert unpack(tree, tensors)["w"].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("value", [{1, 2}, object(), 1j, print])
def test_what_json_cannot_hold_is_refused(value: Any):
    with pytest.raises(TypeError, match=r"a checkpoint cannot hold a \w+\."):
        pack({"a": [value]}, {})


def test_a_missing_checkpoint_is_said_to_be_missing(tmp_path: Path):
    with pytest.raises(ValueError, match=r"there is no checkpoint .*stopped before its first"):
        read_checkpoint(tmp_path / "last.safetensors")


def test_a_pickle_is_refused(tmp_path: Path):
    path = tmp_path / "last.safetensors"
    torch.save(STATE, path)
    with pytest.raises(ValueError, match="is damaged or not a checkpoint of ours"):
        read_checkpoint(path)


def test_a_foreign_safetensors_file_is_refused(tmp_path: Path):
    path = tmp_path / "last.safetensors"
    save_file({"a": torch.ones(2)}, path)
    with pytest.raises(ValueError, match=r"is not a checkpoint of ours: its format is not"):
        read_checkpoint(path)


@pytest.mark.parametrize("keep", [0, 5, 8, 100, -1])
def test_a_checkpoint_cut_off_is_said_to_be_damaged(path: Path, keep: int):
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ValueError, match="is damaged or not a checkpoint of ours"):
        read_checkpoint(path)


def test_a_damaged_header_never_gives_anything_but_a_sentence(path: Path):
    data = path.read_bytes()
    header = 8 + int.from_bytes(data[:8], "little")
    for at in range(0, header, 7):
        broken = bytearray(data)
        broken[at] ^= 0x13
        path.write_bytes(bytes(broken))
        try:
            read_checkpoint(path)  # a changed digit inside is not noticed, and need not be
        except ValueError as error:
            assert "last.safetensors is" in str(error), at


def test_an_interrupted_save_keeps_the_old_checkpoint(path: Path):
    with pytest.raises(TypeError):
        SafeCheckpointIO().save_checkpoint({"a": object()}, path)
    assert_equal(read_checkpoint(path), STATE)


def test_the_method_s_weights_lose_their_prefix():
    assert list(method_weights(STATE)) == ["a", "b"]

"""The placed DSVAE, and how runs and presets of its former name are read."""

from pathlib import Path

import pytest
import torch

from tests.conformance.toys import NET, toy_batch, toy_method, toy_spec
from unbraid.methods.placed import Placed, PlacedConfig
from unbraid.runs.plan import make_plan, read_plan

FORMER = {"posterior": "placed", "net": {"stamps": 3, "stamp_side": 7}}


def test_s_does_not_depend_on_the_order_of_frames_if_patches_do_not_move():
    method = toy_method("placed", "video").eval()
    batch = toy_batch("video", ragged=False)
    with torch.no_grad():  # every d places the patches at the same position
        for part in method.decoder.placer[::2]:
            part.weight.zero_()
    turned = batch.with_x(batch.x.flip(1))
    torch.testing.assert_close(method.encode(batch).s, method.encode(turned).s)


@pytest.mark.parametrize("kind", ["audio", "series"])
def test_only_video_can_be_placed(kind: str):
    with pytest.raises(ValueError, match=f"puts image patches into frames, and .* is {kind}"):
        Placed(toy_spec(kind), PlacedConfig(net=NET))


@pytest.mark.parametrize("name", ["patches", "patch_side"])
def test_sizes_of_patches_are_checked(name: str):
    with pytest.raises(ValueError, match=f"{name} must"):
        PlacedConfig(**{name: -1})


def test_the_second_object_is_looked_for_in_what_the_first_leaves():
    method = toy_method("placed", "video").eval()
    batch = toy_batch("video", ragged=False)
    _, q = method.infer(batch)
    first = method._read(method.encoder(batch), batch)
    left = method._without(first, batch)
    assert (left.x <= batch.x).all() and (left.x < batch.x).any()
    second = method._read(method.encoder(left), left)
    torch.testing.assert_close(q.s.mean, torch.cat([first.s.mean, second.s.mean], 1))
    torch.testing.assert_close(q.d.mean, torch.cat([first.d.mean, second.d.mean], 2))


def test_settings_of_the_former_name_make_a_placed_plan():
    plan = make_plan("toy-digits", "dsvae", settings={"method": FORMER})
    assert plan.method == "placed"
    assert (plan.method_config.patches, plan.method_config.patch_side) == (3, 7)
    assert plan.training == make_plan("toy-digits", "dsvae").training


def test_a_preset_is_found_by_the_former_name():
    former, now = (make_plan("sm-mnist", m, preset="sm-mnist/placed") for m in ("dsvae", "placed"))
    assert former == now
    assert now.method_config.patch_side == 32


def test_a_config_toml_of_the_former_name_is_read(tmp_path: Path):
    path = tmp_path / "config.toml"
    plan = make_plan("toy-digits", "dsvae", preset="none", settings={"method": {"static_dim": 5}})
    text = plan.as_toml().replace('posterior = "sequence"', 'posterior = "placed"')
    path.write_text(text.replace("[method.net]\n", "[method.net]\nstamps = 3\nstamp_side = 0\n"))
    read = read_plan(path)
    assert (read.method, read.method_config) == ("placed", PlacedConfig(static_dim=5, patches=3))


def test_sizes_of_patches_in_the_net_of_other_old_runs_are_dropped(tmp_path: Path):
    path = tmp_path / "config.toml"
    plan = make_plan("toy-digits", "dbse")
    path.write_text(plan.as_toml().replace("[method.net]\n", "[method.net]\nstamps = 2\n"))
    assert read_plan(path) == plan

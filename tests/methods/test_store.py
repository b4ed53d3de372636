import json
from pathlib import Path

import pytest
import torch

from tests.conformance.toys import toy_method, toy_spec
from unbraid.methods.store import load_model, read_about, save_model, spec_from_table
from unbraid.records import Factor


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_model(toy_method("dbse", "audio"), tmp_path, {"steps": 3})
    return tmp_path


def change_about(folder: Path, **changes: object) -> None:
    path = folder / "model.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_what_is_known_of_the_training_is_kept(folder: Path):
    assert read_about(folder)["training"] == {"steps": 3}
    assert read_about(folder)["method"] == "dbse"


def test_nothing_but_the_two_files_is_left(folder: Path):
    assert sorted(p.name for p in folder.iterdir()) == ["model.json", "model.safetensors"]


def test_a_spec_survives_json_with_its_factors():
    factors = (Factor(name="who", classes=2, values=("a", "b")),)
    spec = toy_spec("series")
    table = {name: getattr(spec, name) for name in spec.__dataclass_fields__}
    table["static"] = [{"name": "who", "classes": 2, "values": ["a", "b"], "per_step": False}]
    again = spec_from_table(json.loads(json.dumps(table)))
    assert again.static == factors
    assert again.frame == spec.frame


def test_a_folder_without_a_model_is_named(tmp_path: Path):
    with pytest.raises(ValueError, match=r"holds no model: there is no model.json"):
        load_model(tmp_path)


def test_missing_weights_are_named(folder: Path):
    (folder / "model.safetensors").unlink()
    with pytest.raises(ValueError, match=r"model\.safetensors"):
        load_model(folder)


@pytest.mark.parametrize("text", ['{"a": 1}', "[]", "3", '{"format": "other-1"}'])
def test_a_foreign_json_is_no_model_of_ours(folder: Path, text: str):
    (folder / "model.json").write_text(text)
    with pytest.raises(ValueError, match=r"model\.json is not a model of ours: its format is"):
        load_model(folder)


@pytest.mark.parametrize("data", [b"", b"{", b"\xff\xfe", b'{"format": '])
def test_a_broken_json_is_said_to_be_damaged(folder: Path, data: bytes):
    (folder / "model.json").write_bytes(data)
    with pytest.raises(ValueError, match=r"model\.json is damaged"):
        load_model(folder)


@pytest.mark.parametrize("part", ["method", "config", "spec"])
def test_a_model_json_that_lacks_a_part_is_said_to_be_damaged(folder: Path, part: str):
    about = read_about(folder)
    del about[part]
    (folder / "model.json").write_text(json.dumps(about))
    with pytest.raises(ValueError, match=rf"model\.json is damaged.*{part}"):
        load_model(folder)


def test_a_spec_with_a_foreign_field_is_said_to_be_damaged(folder: Path):
    change_about(folder, spec=read_about(folder)["spec"] | {"colour": 1})
    with pytest.raises(ValueError, match=r"model\.json is damaged.*colour"):
        load_model(folder)


@pytest.mark.parametrize("keep", [0, 4, 9, 200, -1])
def test_cut_off_weights_are_said_to_be_damaged(folder: Path, keep: int):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ValueError, match=r"model\.safetensors is damaged or not a safetensors"):
        load_model(folder)


@pytest.mark.parametrize("at", [0, 7, 8, 20])
def test_a_flipped_header_is_said_to_be_damaged(folder: Path, at: int):
    path = folder / "model.safetensors"
    data = bytearray(path.read_bytes())
    data[at] ^= 0xFF
    path.write_bytes(bytes(data))
    with pytest.raises(ValueError, match=r"model\.safetensors"):
        load_model(folder)


def test_a_pickle_is_not_read(folder: Path):
    torch.save(toy_method("dbse", "audio").state_dict(), folder / "model.safetensors")
    with pytest.raises(ValueError, match=r"model\.safetensors is damaged or not a safetensors"):
        load_model(folder)


def test_weights_of_another_config_do_not_belong(folder: Path):
    change_about(folder, config=read_about(folder)["config"] | {"static_dim": 9})
    with pytest.raises(ValueError, match=r"does not belong to .*model\.json: size mismatch"):
        load_model(folder)


def test_weights_of_another_method_do_not_belong(folder: Path, tmp_path: Path):
    save_model(toy_method("dsvae", "audio"), tmp_path / "other")
    (tmp_path / "other" / "model.safetensors").replace(folder / "model.safetensors")
    with pytest.raises(ValueError, match=r"does not belong to .*model\.json: Missing key"):
        load_model(folder)

import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from unbraid.data import load_data
from unbraid.data.sets import sprites
from unbraid.data.sets.sprites import Config

CHECKS = {  # LAYOUT.md of the sheets: (character as digits, action) -> SHA-256 of (8, 64, 64, 3)
    ("0000", 0): "67f0355ee3366d36d44118e02dae0cd9fdbba6dda0230206f0529f3605446d6c",
    ("0000", 4): "01bf7d40e01cf33df7888106dfc9dd7c5f1b8b87ab08d8669827220ba7ce2380",
    ("0000", 8): "ae8c1de0ebccab7d9a77a8b37a3cfcf02b8f9d2718e6f0ae54b3683f1ba268e8",
    ("1234", 0): "7da94b673341048521b664e4e286f0c493fd643f2b20b942fd5a8e853404d9a9",
    ("1234", 5): "3568de14186db4437fe37b32185a3c75c00032ce1e53b70299b86db1f766d880",
    ("1234", 7): "0b42fbff75c6d287db018fca0860d8945096906366dfc04fd60a3e27e779b1e8",
    ("5555", 0): "34adbe1e5b0cab3c124331f2e7e172215366597236631edb4e39def625aa061e",
    ("5555", 8): "0d91ea01a2762f595f6aeb17e4def0a25981e53e8a7ae23ba1cbea74f54095ff",
}
PERMUTATION = "3c71b1c0dfb3214f125e8670a4c5e039cdefa2ebe1998c7186dfa3bd421a0082"


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("UNBRAID_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("UNBRAID_DATA", raising=False)


@pytest.fixture(scope="session")
def prepared(real_data, tmp_path_factory) -> Iterator[Path]:
    root = tmp_path_factory.mktemp("prepared")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UNBRAID_CACHE", str(root))
        shares: list[float] = []
        sprites.load(Config(root=str(real_data / "sprites")), progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    yield root
    shutil.rmtree(root)  # pytest would keep 1.15 GB of three sessions


@pytest.fixture
def cache(prepared, monkeypatch) -> None:
    monkeypatch.setenv("UNBRAID_CACHE", str(prepared))


def _sheets(root: Path) -> Path:
    for name in sprites.SOURCE.files:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGBA", sprites.SHEET_SIZE).save(root / name)
    return root


@pytest.mark.data
@pytest.mark.parametrize(("digits", "action"), CHECKS)
def test_example_sequences_have_the_known_hashes(cache, digits, action):
    x = load_data("sprites").train.x
    frames = x[int(digits, 6) * 9 + action].transpose(0, 2, 3, 1)
    assert hashlib.sha256(frames.tobytes()).hexdigest() == CHECKS[digits, action]


@pytest.mark.data
def test_the_whole_set_as_stored_has_the_known_hash(cache):
    digest, x = hashlib.sha256(), load_data("sprites").test.x
    for start in range(0, len(x), 144):
        digest.update(x[start : start + 144].transpose(0, 1, 3, 4, 2).tobytes())
    assert digest.hexdigest() == "9a90d76e1172c33b1a9e318a299657cecb9d9d19ddfd0d085e800b796a07a9f3"


@pytest.mark.data
def test_splits_have_the_published_sizes_and_share_no_character(cache):
    corpus = load_data("sprites")
    assert (len(corpus.train), len(corpus.validation), len(corpus.test)) == (8100, 900, 2664)
    assert corpus.spec.size == 8100
    parts = [set(corpus.split(n).label("character")) for n in ("train", "validation", "test")]
    assert [len(part) for part in parts] == [900, 100, 296]
    assert len(set.union(*parts)) == 1296


@pytest.mark.data
def test_labels_agree_with_the_rows(cache):
    test = load_data("sprites").test
    garments = [test.label(name) for name in ("body", "bottomwear", "topwear", "hair")]
    character = ((garments[0] * 6 + garments[1]) * 6 + garments[2]) * 6 + garments[3]
    assert np.array_equal(character, test.label("character"))
    assert np.array_equal(character * 9 + test.label("action"), test.rows)
    assert np.bincount(test.label("action")).tolist() == [296] * 9


@pytest.mark.data
def test_a_prepared_cache_is_not_built_again_and_needs_no_sheets(cache, monkeypatch):
    monkeypatch.setattr(sprites, "_build", None)
    corpus = load_data("sprites")
    assert isinstance(corpus.train.x, np.memmap)
    batch = corpus.train.take(slice(0, 6))
    assert batch.x.shape == (6, 8, 3, 64, 64)
    assert 0.5 < batch.x.max() <= 255 / 256


@pytest.mark.data
def test_a_quick_trial_takes_some_training_sequences_by_seed(cache):
    rows = [load_data("sprites", {"train": 50, "seed": seed}).train.rows for seed in (0, 0, 1)]
    assert [len(part) for part in rows] == [50, 50, 50]
    assert np.array_equal(rows[0], rows[1])
    assert not np.array_equal(rows[0], rows[2])
    assert set(rows[0]) <= set(load_data("sprites").train.rows)
    with pytest.raises(ValueError, match="train must be at most 8100 sequences, got 9000"):
        load_data("sprites", {"train": 9000})


def test_the_split_is_the_published_permutation():
    train, test = sprites.split_rows()
    assert {1116, 1135, 17, 469, 1293, 491} <= set(train // 9)
    assert {884, 1285, 252, 297, 947, 713} <= set(test // 9)
    order = np.random.RandomState(423).permutation(1296)
    assert hashlib.sha256(order.astype("<i8").tobytes()).hexdigest() == PERMUTATION
    assert set(order[:1000]) == set(train // 9)
    assert (len(train), len(test)) == (9000, 2664)


def test_actions_and_garments_are_named():
    assert sprites.ACTION_NAMES[5] == "spellcard right"
    assert [(name, len(set(values))) for name, values in sprites.VALUES.items()] == [
        (name, 6) for name in ("body", "bottomwear", "topwear", "hair")
    ]


def test_without_sheets_and_cache_the_message_says_what_to_do(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"there is neither.*prepare sprites --root DIR.*--down"):
        sprites.load(Config())
    with pytest.raises(ValueError, match=r"root must be a folder, got .*gone"):
        sprites.load(Config(root=str(tmp_path / "gone")))
    monkeypatch.setenv("UNBRAID_DATA", str(tmp_path))
    with pytest.raises(ValueError, match="there is neither"):
        sprites.load(Config())


def _replace(path: Path, how: str) -> None:
    if how == "missing":
        path.unlink()
    elif how == "small":
        Image.new("RGBA", (64, 64)).save(path)
    elif how == "torn":
        path.write_bytes(path.read_bytes()[:200])
    else:
        path.write_text("no picture")


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("missing", "1 missing: hair/3.png"),
        ("small", r"hair/3.png must have \(832, 1344\) pixels, got \(64, 64\)"),
        ("torn", "hair/3.png cannot be read as a picture"),
        ("text", "hair/3.png cannot be read as a picture"),
    ],
)
def test_a_bad_sheet_is_named_and_leaves_no_cache(tmp_path, how, message):
    root = _sheets(tmp_path / "sheets")
    _replace(root / "hair" / "3.png", how)
    with pytest.raises(ValueError, match=message):
        sprites.load(Config(root=str(root)))
    assert list((tmp_path / "cache").iterdir()) == []


def test_other_pictures_are_refused_and_leave_no_cache(tmp_path, monkeypatch):
    blank = Image.new("RGBA", (64, 64 * 63), (0, 0, 0, 255))
    monkeypatch.setattr(sprites, "_compose", lambda layers: iter([blank] * 2))
    with pytest.raises(ValueError, match="are not the Sprites benchmark"):
        sprites.load(Config(root=str(_sheets(tmp_path / "sheets"))))
    assert list((tmp_path / "cache").iterdir()) == []


def test_settings_are_checked():
    with pytest.raises(ValueError, match=r"validation must lie between 0 and 1, got 1\.0"):
        Config(validation=1.0)
    with pytest.raises(ValueError, match="train must be 0"):
        Config(train=-1)


def test_the_source_lists_the_sheets_in_use():
    names = [f"{kind}/{n}.png" for kind in sprites.VALUES for n in range(6)]
    assert list(sprites.SOURCE.files) == [*names, "shoes/1.png"]
    assert "CC BY-SA 3.0" in sprites.SOURCE.terms


@pytest.mark.data
def test_the_source_has_the_hashes_of_the_sheets(real_data):
    for name, sha256 in sprites.SOURCE.files.items():
        assert hashlib.sha256((real_data / "sprites" / name).read_bytes()).hexdigest() == sha256

import shutil
from functools import cache
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from unbraid.data import load_data
from unbraid.data.sets import jester
from unbraid.data.sets.jester import GESTURES, Config

OTHERS = ("Swiping Left", "No gesture", "Sliding Two Fingers Up")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("UNBRAID_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("UNBRAID_DATA", raising=False)


@cache
def _grey(value: int) -> bytes:
    file = BytesIO()
    Image.new("RGB", (44, 25), (value, value, value)).save(file, "jpeg", quality=95)
    return file.getvalue()


def _video(folder: Path, count: int = 37) -> None:
    """Write frames of one grey each: frame t is 4 t."""
    folder.mkdir(parents=True)
    for t in range(count):
        (folder / f"{t + 1:05d}.jpg").write_bytes(_grey(4 * t))


def _copy(root: Path, *, train: int = 20, validation: int = 5) -> Path:
    """Write a small copy in the publisher's layout; one video in four shows another gesture."""
    lines: dict[str, list[str]] = {"train": [], "validation": [], "test": []}
    for number in range(train + validation):
        part = "train" if number < train else "validation"
        video = 1000 + 7 * number
        _video(root / "20bn-jester-v1" / str(video))
        lines[part].append(f"{video};{GESTURES[number % 5]}")
        if number % 4 == 0:
            lines[part].append(f"{video + 1};{OTHERS[number % 3]}")
            lines["test"].append(str(video + 2))
    for part, text in lines.items():
        (root / f"jester-v1-{part}.csv").write_text("\n".join(text) + "\n")
    (root / "jester-v1-labels.csv").write_text("\n".join((*GESTURES, *OTHERS)) + "\n")
    return root


@pytest.fixture
def root(tmp_path) -> Path:
    return _copy(tmp_path / "jester")


def test_five_gestures_are_read_and_split_as_published(root):
    shares: list[float] = []
    corpus = jester.load(Config(root=str(root)), progress=shares.append)
    assert shares[-1] == 1.0
    assert corpus.spec.length == 10
    assert corpus.spec.frame == (3, 64, 64)
    assert corpus.spec.static == ()
    assert [(f.name, f.values) for f in corpus.spec.dynamic] == [("gesture", GESTURES)]
    assert (len(corpus.train), len(corpus.validation), len(corpus.test)) == (18, 2, 5)
    numbers = (corpus.test.label("name").astype(int) - 1000) // 7
    assert numbers.tolist() == [20, 21, 22, 23, 24]
    for part in ("train", "validation", "test"):
        split = corpus.split(part)
        numbers = (split.label("name").astype(int) - 1000) // 7
        assert np.array_equal(split.label("gesture"), numbers % 5)
    assert corpus.train.take([0]).x.max() <= 1


def test_ten_frames_lie_a_tenth_of_the_video_apart(root):
    x = jester.load(Config(root=str(root))).train.x
    shown = (x[0, :, 0, 32, 32] / 4).round().astype(int)
    assert shown.tolist() == [0, 3, 7, 11, 14, 18, 22, 25, 29, 33]  # floor of 3.7 t


def test_frames_are_stretched_or_cropped(tmp_path):
    root = _copy(tmp_path / "jester")
    wide = Image.new("RGB", (176, 100))
    wide.paste((255, 255, 255), (38, 0, 138, 100))  # the middle square is white
    for path in (root / "20bn-jester-v1" / "1000").iterdir():
        wide.save(path, quality=95)
    stretched = jester.load(Config(root=str(root))).train.x[0, 0, 0]
    cropped = jester.load(Config(root=str(root), fit="crop")).train.x[0, 0, 0]
    assert (stretched[32] > 128).sum() == pytest.approx(64 * 100 / 176, abs=1)
    assert cropped[:, 2:-2].min() > 200


@pytest.mark.parametrize("layout", ["below", "itself", "beside"])
def test_the_root_may_be_the_lists_folder_or_the_videos_folder(root, layout, tmp_path):
    videos = root / "20bn-jester-v1"
    given = videos if layout == "itself" else root
    if layout == "beside":
        for folder in list(videos.iterdir()):
            folder.rename(root / folder.name)
        videos.rmdir()
    corpus = jester.load(Config(root=str(given)))
    assert len(corpus.train.x) == 25


def test_a_copy_is_known_by_its_videos_not_by_their_frames(root, monkeypatch):
    jester.load(Config(root=str(root)))
    (root / "20bn-jester-v1" / "1000" / "00099.jpg").touch()
    with monkeypatch.context() as patch:
        patch.setattr(jester, "_build", None)
        jester.load(Config(root=str(root)))
        assert len(load_data("jester").test) == 5  # without the files
    shutil.rmtree(root / "20bn-jester-v1" / "1000")
    assert list(jester.load(Config(root=str(root))).skipped) == ["1000"]


def test_missing_short_and_torn_videos_are_skipped_with_a_reason(root):
    videos = root / "20bn-jester-v1"
    shutil.rmtree(videos / "1000")
    for path in sorted((videos / "1007").iterdir())[9:]:
        path.unlink()
    (videos / "1014" / "00001.jpg").write_text("torn")
    with pytest.raises(ValueError, match="3 of 25 videos cannot be used: 1000: the folder cannot"):
        jester.load(Config(root=str(root)))
    assert not list(Path(root.parent / "cache").iterdir())
    corpus = jester.load(Config(root=str(root), broken=0.2))
    assert corpus.skipped["1000"] == "the folder cannot be listed: No such file or directory"
    assert corpus.skipped["1007"] == "it has 9 frames, 10 are wanted"
    assert corpus.skipped["1014"].startswith("00001.jpg cannot be read as a picture")
    assert len(corpus.train.x) == 22
    with pytest.raises(ValueError, match="3 of 25 videos cannot be used"):
        jester.load(Config(root=str(root)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1000\n", r"jester-v1-train.csv, line 1: 'video;gesture' is wanted, got '1000'"),
        ("1000;Swiping Left\n", "names no video of Pushing Hand Away"),
        (b"\xff\xfe\xff", "jester-v1-train.csv cannot be read"),
        (None, r"must hold jester-v1-train.csv, .*is not there. Sign in at https://developer"),
    ],
)
def test_a_bad_list_is_named(root, text, message):
    path = root / "jester-v1-train.csv"
    path.unlink()
    if isinstance(text, bytes):
        path.write_bytes(text)
    elif text is not None:
        path.write_text(text)
    with pytest.raises(ValueError, match=message):
        jester.load(Config(root=str(root)))


def test_lists_with_other_line_ends_are_read(root):
    path = root / "jester-v1-validation.csv"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n") + b"\r\n")
    assert len(jester.load(Config(root=str(root))).test) == 5


def test_without_files_the_message_says_where_to_apply():
    with pytest.raises(ValueError, match=r"not to be downloaded freely: Sign in at https://devel"):
        jester.load(Config())


def test_settings_are_checked():
    with pytest.raises(ValueError, match="validation must lie between 0 and 1, got 1"):
        Config(validation=1.0)
    with pytest.raises(ValueError, match="broken must be at least 0 and below 1"):
        Config(broken=-0.1)

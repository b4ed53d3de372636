import sys
from functools import cache
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFilter

from unbraid.data import load_data
from unbraid.data.sets import mug
from unbraid.data.sets.mug import EXPRESSIONS, Config

SIDE = 160


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("UNBRAID_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("UNBRAID_DATA", raising=False)


def _face(x: int, y: int, *, width: int = 30, mouth: float = 1.0) -> Image.Image:
    """Draw a face that the cascade finds: hair, eye sockets, brows, nose and mouth."""
    picture = Image.new("RGB", (SIDE, SIDE), (128, 128, 128))
    draw = ImageDraw.Draw(picture)

    def ellipse(dx: float, dy: float, rx: float, ry: float, color: tuple[int, int, int]) -> None:
        left, top, right, bottom = (width * v for v in (dx - rx, dy - ry, dx + rx, dy + ry))
        draw.ellipse((x + left, y + top, x + right, y + bottom), fill=color)

    ellipse(0, -0.1, 1.05, 1.4, (50, 35, 30))
    ellipse(0, 0.05, 0.95, 1.3, (205, 170, 150))
    for side in (-0.38, 0.38):
        ellipse(side, -0.2, 0.26, 0.15, (133, 110, 97))
        ellipse(side, -0.17, 0.15, 0.07, (240, 240, 240))
        ellipse(side, -0.17, 0.07, 0.07, (25, 20, 20))
        ellipse(side, -0.37, 0.22, 0.05, (45, 30, 25))
        ellipse(side / 4, 0.38, 0.06, 0.04, (133, 110, 97))
    ellipse(0, 0.15, 0.08, 0.35, (221, 184, 162))
    ellipse(0, 0.72, 0.33, 0.1 * mouth, (140, 60, 60))
    return picture.filter(ImageFilter.GaussianBlur(width * 0.03))


def _noise(seed: int) -> Image.Image:
    pixels = np.random.default_rng(seed).integers(0, 256, (SIDE, SIDE, 3))
    return Image.fromarray(pixels.astype(np.uint8))


def _jpeg(picture: Image.Image) -> bytes:
    file = BytesIO()
    picture.save(file, "jpeg", quality=90)
    return file.getvalue()


def _video(folder: Path, pictures: list[bytes]) -> None:
    folder.mkdir(parents=True)
    for number, picture in enumerate(pictures):
        (folder / f"img_{number:04d}.jpg").write_bytes(picture)


@cache
def _grey(value: int) -> bytes:
    return _jpeg(Image.new("RGB", (32, 32), (value, value, value)))


def _greys(count: int) -> list[bytes]:
    """Pictures of one grey each: frame t is 4 t."""
    return [_grey(4 * t) for t in range(count)]


def _people(root: Path, people: int = 3, takes: int = 5) -> Path:
    for person in range(1, people + 1):
        for expression in ("anger", "happiness"):
            for take in range(takes):
                _video(root / f"subjects3/{person:03d}/{expression}/take{take:03d}", _greys(20))
    return root


def _frame_numbers(x: np.ndarray) -> np.ndarray:
    """Return which frames of `_greys` sequences (N, T, C, H, W) show."""
    return (x[:, :, 0, 32, 32] / 4).round().astype(int)


def test_the_publisher_s_layout_is_read(tmp_path):
    root = _people(tmp_path / "mug")
    _video(root / "subjects3/002/neutral/take000", _greys(20))
    _video(root / "subjects3/002/neutral/take001", _greys(20))
    _video(root / "subjects3/003/session1/surprise/take000", _greys(20))
    _video(root / "subjects3/003/session1/mixed/take000", _greys(20))
    (root / "subjects3/001/landmarks.txt").touch()
    (root / "subjects3/.hidden").mkdir()
    shares: list[float] = []
    corpus = mug.load(Config(root=str(root), crop="none"), progress=shares.append)
    assert shares[-1] == 1.0
    assert corpus.spec.length == 15
    assert corpus.spec.frame == (3, 64, 64)
    person, expression = corpus.spec.static[0], corpus.spec.dynamic[0]
    assert (person.name, person.values) == ("subject", ("001", "002", "003"))
    assert (expression.name, expression.values) == ("expression", EXPRESSIONS)
    labels = corpus.train.labels
    assert len(labels["name"]) == 31
    assert labels["name"][-1] == "003/session1/surprise/take000"
    assert (labels["subject"][-1], labels["expression"][-1]) == (2, 5)
    columns = (labels[name] for name in ("name", "subject", "expression"))
    for name, subject, number in zip(*columns, strict=True):
        assert name.startswith(f"{subject + 1:03d}/")
        assert EXPRESSIONS[number] in name
    facts = mug.SET.open(str(root / "subjects3"), _options("none"), _never).facts
    assert facts["left_out"] == {"mixed": 1, "neutral": 2}


def _options(crop: str) -> dict[str, object]:
    return {"choose": "random", "crop": crop, "seed": 0}


def _never(root: Path, new: object) -> None:
    raise AssertionError("it was prepared before")


def test_the_root_may_be_subjects3_or_the_folder_it_lies_in(tmp_path, monkeypatch):
    root = _people(tmp_path / "data" / "mug")
    first = mug.load(Config(root=str(root), crop="none"))
    monkeypatch.setattr(mug, "_build", _never)
    mug.load(Config(root=str(root / "subjects3"), crop="none"))
    monkeypatch.setenv("UNBRAID_DATA", str(tmp_path / "data"))
    mug.load(Config(crop="none"))
    monkeypatch.delenv("UNBRAID_DATA")
    assert np.array_equal(load_data("mug", {"crop": "none"}).train.rows, first.train.rows)


def test_fifteen_frames_are_drawn_in_order_by_the_seed(tmp_path):
    root = _people(tmp_path, people=2)
    drawn = [
        _frame_numbers(mug.load(Config(root=str(root), crop="none", seed=seed)).train.x)
        for seed in (0, 0, 1)
    ]
    for numbers in drawn:
        assert numbers.shape == (20, 15)
        assert (np.diff(numbers, axis=1) > 0).all()
        assert numbers.max() < 20
    assert np.array_equal(drawn[0], drawn[1])
    assert (drawn[0] != drawn[2]).any(axis=1).mean() > 0.5
    assert len(np.unique(drawn[0], axis=0)) > 10  # every video has its own draw


def test_the_frames_of_a_video_do_not_depend_on_other_videos(tmp_path):
    root = _people(tmp_path, people=2)
    before = mug.load(Config(root=str(root), crop="none")).train
    _video(root / "subjects3/000/fear/take000", _greys(20))
    after = mug.load(Config(root=str(root), crop="none")).train
    assert np.array_equal(before.x, after.x[1:])


def test_even_frames_are_spread_over_the_video(tmp_path):
    root = _people(tmp_path, people=1)
    x = mug.load(Config(root=str(root), crop="none", choose="even")).train.x
    assert _frame_numbers(x)[0].tolist() == [20 * step // 15 for step in range(15)]


def test_all_people_are_in_every_split_unless_people_are_cut(tmp_path):
    root = _people(tmp_path, people=6)
    parts = ("train", "validation", "test")
    videos = mug.load(Config(root=str(root), crop="none"))
    assert [len(videos.split(part)) for part in parts] == [42, 6, 12]
    assert [set(videos.split(part).label("subject")) for part in parts] == [set(range(6))] * 3
    rows = np.concatenate([videos.split(part).rows for part in parts])
    assert sorted(rows.tolist()) == list(range(60))
    people = mug.load(Config(root=str(root), crop="none", cut="subject"))
    groups = [set(people.split(part).label("subject")) for part in parts]
    assert sum(map(len, groups)) == len(set.union(*groups)) == 6
    assert all(groups)


@pytest.mark.parametrize(("x", "y"), [(80, 80), (50, 95), (105, 70)])
def test_a_face_is_found_where_it_was_drawn(x, y):
    left, top, right, bottom = mug._find_face([_noise(0), _face(x, y)])
    assert abs((left + right) / 2 - x) < 6
    assert abs((top + bottom) / 2 - y) < 6
    assert right - left == bottom - top
    assert 60 < right - left < 100  # the face is 60 wide and 80 high


def test_a_face_fills_the_frame_wherever_it_is(tmp_path):
    for take, (x, y) in enumerate([(80, 80), (50, 95), (105, 70)]):
        pictures = [_jpeg(_face(x, y, mouth=1 + t / 8)) for t in range(16)]
        _video(tmp_path / f"subjects3/001/happiness/take{take:03d}", pictures)
    faces = mug.load(Config(root=str(tmp_path), choose="even")).train.x.astype(int)
    wholes = mug.load(Config(root=str(tmp_path), choose="even", crop="none")).train.x.astype(int)
    head = np.pi * 1.05 * 1.4 * 30**2  # pixels; the box is about 93 wide
    for x, side in ((faces, 93), (wholes, SIDE)):
        wall = 1 - head / side**2
        share = (np.abs(x - 128).max(2) < 12).mean((1, 2, 3))
        assert np.abs(share - wall).max() < 0.08
    assert np.abs(faces[0] - faces[1:]).mean() < 8


class _Detector:
    """Finds nothing in the first picture, then two faces, and counts."""

    def __init__(self) -> None:
        self.calls = 0

    def detectMultiScale(self, grey: np.ndarray, **options: object) -> object:  # noqa: N802
        self.calls += 1
        faces = np.array([[5, 5, 20, 20], [40, 60, 50, 50]], dtype=np.int32)
        return faces if self.calls > 1 else ()


def test_one_box_around_the_largest_face_is_cut_out_of_all_frames(tmp_path, monkeypatch):
    folder = tmp_path / "001" / "fear" / "take000"
    _video(folder, [_jpeg(_face(50 + 3 * t, 80)) for t in range(15)])
    detector = _Detector()
    monkeypatch.setattr(mug, "_detector", lambda: detector)
    frames = mug._read(folder, "001/fear/take000", Config())
    assert detector.calls == 2
    for t, frame in enumerate(frames):
        with Image.open(folder / f"img_{t:04d}.jpg") as file:
            # A tenth of 50 pixels on every side of (40, 60).
            wanted = file.crop((35, 55, 95, 115)).resize((64, 64), Image.Resampling.BILINEAR)
        assert np.array_equal(frame, np.asarray(wanted).transpose(2, 0, 1))


def test_the_box_stays_square_and_inside_the_picture():
    assert mug._widen([300, 10, 100, 100], (400, 400)) == (280, 0, 400, 120)
    assert mug._widen([0, 0, 390, 390], (400, 500)) == (0, 0, 400, 400)
    assert mug._widen([100, 100, 40, 50], (400, 400)) == (90, 95, 150, 155)


def test_videos_without_a_face_are_skipped_with_a_reason(tmp_path):
    good = [_jpeg(_face(80, 80))] * 15
    for take in range(3):
        _video(tmp_path / f"001/anger/take{take:03d}", good)
    _video(tmp_path / "001/anger/take003", [_jpeg(_noise(t)) for t in range(15)])
    _video(tmp_path / "001/anger/take004", good[:9])
    _video(tmp_path / "001/anger/take005", good)
    (tmp_path / "001/anger/take005/img_0007.jpg").write_text("torn")
    corpus = mug.load(Config(root=str(tmp_path), broken=0.5))
    assert corpus.skipped == {
        "001/anger/take003": "no face was found in it",
        "001/anger/take004": "it has 9 frames, 15 are wanted",
        "001/anger/take005": corpus.skipped["001/anger/take005"],
    }
    assert "img_0007.jpg cannot be read as a picture" in corpus.skipped["001/anger/take005"]
    assert len(corpus.train.x) == 3
    with pytest.raises(ValueError, match="3 of 6 videos cannot be used: 001/anger/take003: no fa"):
        mug.load(Config(root=str(tmp_path)))


def test_too_many_broken_videos_leave_no_cache(tmp_path):
    root = _people(tmp_path / "mug", people=1, takes=1)
    _video(root / "subjects3/001/fear/take000", _greys(3))
    with pytest.raises(ValueError, match="1 of 3 videos cannot be used"):
        mug.load(Config(root=str(root), crop="none"))
    assert not list((tmp_path / "cache").iterdir())


def test_without_opencv_the_message_says_what_to_install(tmp_path, monkeypatch):
    root = _people(tmp_path, people=1)
    monkeypatch.setitem(sys.modules, "cv2", None)
    monkeypatch.setattr(mug, "_OF_THREAD", type("Empty", (), {})())
    with pytest.raises(ValueError, match=r'pip install "unbraid\[faces\]", or take the middle'):
        mug.load(Config(root=str(root)))


def test_another_layout_is_refused_with_an_example(tmp_path):
    (tmp_path / "001" / "anger").mkdir(parents=True)
    with pytest.raises(ValueError, match=r"as in 001/anger/take000/img_0000.jpg, and holds no"):
        mug.load(Config(root=str(tmp_path), crop="none"))


def test_without_files_the_message_says_where_to_apply():
    with pytest.raises(ValueError, match=r"not to be downloaded freely: Apply .*mug\.ee\.auth\.gr"):
        mug.load(Config())


def test_settings_are_checked():
    with pytest.raises(ValueError, match="test must lie between 0 and 1, got 0"):
        Config(test=0.0)
    with pytest.raises(ValueError, match="broken must be at least 0 and below 1"):
        Config(broken=1.0)

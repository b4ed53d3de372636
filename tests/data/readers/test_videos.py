from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image

from tests.data.readers.films import numbered, shown, write_video
from unbraid.data import load_data
from unbraid.data.readers import videos
from unbraid.data.readers.videos import Config, read


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("UNBRAID_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("UNBRAID_DATA", raising=False)


@pytest.fixture
def folder(tmp_path) -> Path:
    path = tmp_path / "films"
    path.mkdir()
    return path


def test_pieces_follow_each_other_and_a_short_rest_is_left_out(folder):
    write_video(folder / "long.mkv", numbered(40))
    write_video(folder / "shorter.mkv", numbered(39))
    write_video(folder / "tiny.mkv", numbered(3))
    films = read(folder, Config(frames=16, clip="pieces"))
    names = ["long.mkv"] * 3 + ["shorter.mkv"] * 2 + ["tiny.mkv"]
    assert films.labels["name"].tolist() == names
    assert films.lengths.tolist() == [16, 16, 8, 16, 16, 3]
    assert shown(films.x[1]) == list(range(16, 32))
    assert shown(films.x[2, :8]) == list(range(32, 40))
    assert films.rate == 25.0


def test_pieces_at_a_rate_are_of_that_rate(folder):
    path = write_video(folder / "a.mkv", numbered(60))
    films = read(path, Config(frames=4, clip="pieces", rate=5.0))
    assert [shown(x) for x in films.x] == [[0, 5, 10, 15], [20, 25, 30, 35], [40, 45, 50, 55]]


def test_pieces_of_one_video_stay_in_one_split(folder):
    for number in range(12):
        write_video(folder / f"{number}.mkv", numbered(12))
    corpus = load_data(str(folder), {"frames": 4, "clip": "pieces", "size": 16})
    parts = [corpus.split(part) for part in ("train", "validation", "test")]
    names = [set(part.label("name")) for part in parts]
    assert sum(map(len, names)) == len(set.union(*names)) == 12
    assert [len(part) for part in parts] == [30, 3, 3]


@pytest.mark.parametrize("count", [1, 2])
def test_of_one_or_two_videos_the_ends_are_held_out(folder, count):
    for number in range(count):
        write_video(folder / f"{number}.mkv", numbered(40))
    corpus = load_data(str(folder), {"frames": 4, "clip": "pieces", "size": 16})
    assert corpus.train.rows.tolist() == [*range(8), *range(10, 18)][: 8 * count]
    assert corpus.validation.rows.tolist() == [8, 18][:count]
    assert corpus.test.rows.tolist() == [9, 19][:count]
    write_video(folder / "0.mkv", numbered(8))
    if count == 1:
        with pytest.raises(ValueError, match="need three"):
            load_data(str(folder), {"frames": 4, "clip": "pieces", "size": 16})
    else:
        corpus = load_data(str(folder), {"frames": 4, "clip": "pieces", "size": 16})
        assert corpus.train.rows.tolist() == list(range(10))


def test_splits_told_by_folders_are_kept_for_pieces(folder):
    for part, count in (("train", 4), ("test", 2)):
        for number in range(count):
            write_video(folder / part / f"{number}.mkv", numbered(12))
    corpus = load_data(str(folder), {"frames": 4, "clip": "pieces", "size": 16})
    assert (len(corpus.train), len(corpus.validation), len(corpus.test)) == (9, 3, 6)
    assert {name.split("/")[0] for name in corpus.test.label("name")} == {"test"}


def _break(folder: Path) -> None:
    """Add what cannot be read to a folder."""
    (folder / "text.mp4").write_text("no video at all")
    (folder / "empty.mp4").touch()
    whole = write_video(folder / "torn.mp4", numbered(40), codec="libx264", pixels="yuv420p")
    whole.write_bytes(whole.read_bytes()[:500])
    write_video(folder / "still.mkv", numbered(1))
    with av.open(str(folder / "sound.mkv"), "w") as container:
        stream = container.add_stream("flac", rate=16000, layout="mono")
        sound = av.AudioFrame.from_ndarray(np.zeros((1, 512), np.int16), layout="mono")
        sound.sample_rate = 16000
        container.mux(stream.encode(sound))
        container.mux(stream.encode())
    (folder / "frames").mkdir()
    for number in range(3):
        (folder / "frames" / f"{number}.png").write_text("no picture")


def test_broken_videos_are_skipped_with_name_and_reason(folder):
    for number in range(2):
        write_video(folder / f"{number}.mkv", numbered(20))
    _break(folder)
    films = read(folder, Config(frames=4, broken=0.9))
    assert films.labels["name"].tolist() == ["0.mkv", "1.mkv"]
    reasons = films.skipped
    assert set(reasons) == {"text.mp4", "empty.mp4", "torn.mp4", "still.mkv", "sound.mkv", "frames"}
    for name in ("text.mp4", "empty.mp4", "torn.mp4"):
        assert reasons[name].startswith("it cannot be decoded as video: Invalid data found")
    assert reasons["still.mkv"] == "it has fewer than two frames"
    assert reasons["sound.mkv"] == "it has no pictures"
    assert reasons["frames"].startswith("0.png cannot be read as a picture")
    with pytest.raises(ValueError, match=r"6 of 8 videos cannot be used: empty.mp4: it cannot"):
        read(folder, Config(frames=4))
    with pytest.raises(ValueError, match=r"6 of 8 videos cannot be used"):
        read(folder, Config(frames=5))  # nothing is prepared yet


def test_a_video_that_breaks_off_leaves_no_pieces(folder):
    (folder / "a").mkdir()
    for number in range(9):
        Image.new("RGB", (32, 32), (number, 0, 0)).save(folder / "a" / f"{number}.png")
    (folder / "a" / "8.png").write_text("torn")
    write_video(folder / "b.mkv", numbered(8))
    films = read(folder, Config(frames=4, clip="pieces", broken=0.5))
    assert films.labels["name"].tolist() == ["b.mkv", "b.mkv"]
    assert shown(films.x[0]) == [0, 1, 2, 3]
    assert list(films.skipped) == ["a"]


def test_a_folder_of_numbered_pictures_is_a_sequence(folder):
    for name in ("walk", "run"):
        (folder / name).mkdir()
        for number, frame in enumerate(numbered(12)):
            Image.fromarray(frame).save(folder / name / f"img{number}.png")
        (folder / name / "._img0.png").write_text("hidden")
    films = read(folder, Config(frames=6))
    assert films.labels["name"].tolist() == ["run", "walk"]
    assert shown(films.x[0]) == [0, 2, 4, 6, 8, 10]
    assert read(folder, Config(frames=6, clip="pieces")).x.shape[0] == 4
    timed = read(folder, Config(frames=6, rate=12.0))
    assert shown(timed.x[1]) == list(range(6))
    assert timed.rate == 12.0


def test_videos_and_folders_of_pictures_mix_and_covers_are_left_out(folder):
    write_video(folder / "films" / "a.mkv", numbered(8))
    Image.new("RGB", (32, 32)).save(folder / "films" / "a.png")
    Image.new("RGB", (32, 32)).save(folder / "cover.png")
    (folder / "shots").mkdir()
    for number in range(3):
        Image.new("RGB", (32, 32)).save(folder / "shots" / f"{number}.jpg")
    (folder / ".trash").mkdir()
    (folder / ".trash" / "b.mkv").touch()
    (folder / "._a.mkv").touch()
    films = read(folder, Config(frames=4))
    assert films.labels["name"].tolist() == ["films/a.mkv", "shots"]
    assert films.lengths.tolist() == [4, 3]
    assert not films.skipped


def test_one_folder_of_pictures_is_one_sequence(folder, monkeypatch):
    for number, frame in enumerate(numbered(5)):
        Image.fromarray(frame).save(folder / f"{number}.bmp")
    monkeypatch.chdir(folder)
    for path in (folder, Path()):
        films = read(path, Config(frames=5))
        assert films.name == "films"
        assert films.labels["name"].tolist() == ["films"]
        assert shown(films.x[0]) == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="one picture is no sequence: give the folder"):
        read(folder / "0.bmp", Config())


def test_labels_come_from_names_folders_and_a_table(folder):
    for person in ("ann", "bob"):
        for action in ("runs", "jumps"):
            write_video(folder / f"{person}_{action}_1.mkv", numbered(4))
    config = Config(frames=4, pattern="{person}_{action}_*", dynamic=("action",))
    films = read(folder, config)
    assert [(f.name, f.values) for f in films.static] == [("person", ("ann", "bob"))]
    assert [(f.name, f.values) for f in films.dynamic] == [("action", ("jumps", "runs"))]
    assert films.labels["person"].tolist() == [0, 0, 1, 1]
    assert films.labels["action"].tolist() == [0, 1, 0, 1]
    (folder / "labels.csv").write_text("file,mood\nann_runs_1.mkv,glad\n")
    moods = read(folder, config)
    assert moods.labels["mood"].tolist() == [-1, 0, -1, -1]
    with pytest.raises(KeyError, match=r"dynamic: there is no label 'acton'. Did you mean"):
        read(folder, Config(frames=4, pattern=config.pattern, dynamic=("acton",)))
    # A new file for a trained model need have no labels.
    alone = write_video(folder / "other" / "new.mkv", numbered(4))
    assert read(alone, Config(frames=4, pattern="{a}/{b}", dynamic=("action",))).x.shape[0] == 1


def test_labels_of_skipped_videos_are_no_classes(folder):
    for name in ("a/1.mkv", "a/2.mkv", "c/1.mkv"):
        write_video(folder / name, numbered(4))
    (folder / "b").mkdir()
    (folder / "b" / "1.mkv").touch()
    films = read(folder, Config(frames=4, broken=0.5))
    assert films.static[0].values == ("a", "c")
    assert films.labels["folder"].tolist() == [0, 0, 1]


def test_videos_are_prepared_once_and_again_when_they_change(folder, monkeypatch):
    path = write_video(folder / "a.mkv", numbered(4))
    first = read(folder, Config(frames=4))
    assert isinstance(first.x, np.memmap)
    with monkeypatch.context() as patch:
        patch.setattr(videos, "write_clips", None)
        assert np.array_equal(read(folder, Config(frames=4)).x, first.x)
    write_video(path, numbered(4, factor=9))
    assert shown(read(folder, Config(frames=4)).x[0], factor=9) == [0, 1, 2, 3]


def test_a_corpus_of_videos_is_ready_for_a_model(folder):
    for number in range(10):
        write_video(folder / f"{number}.mkv", numbered(8 if number else 3))
    corpus = load_data(str(folder), {"frames": 4})
    assert corpus.spec.frame == (3, 64, 64)
    assert (len(corpus.train), len(corpus.validation), len(corpus.test)) == (8, 1, 1)
    batches = [corpus.split(part).take(slice(0, 8)) for part in ("train", "validation", "test")]
    assert sum(int(batch.mask.sum()) for batch in batches) == 9 * 4 + 3
    assert max(float(batch.x.max()) for batch in batches) == pytest.approx(6 * 4 / 255)


def test_settings_are_checked():
    with pytest.raises(ValueError, match="size must be a multiple of 16, as the default networks"):
        Config(size=50)
    with pytest.raises(ValueError, match="size must be a multiple of 16"):
        Config(size=0)
    with pytest.raises(ValueError, match="frames must be at least 2, got 1"):
        Config(frames=1)
    with pytest.raises(ValueError, match="rate must not be negative"):
        Config(rate=-1.0)


def test_a_folder_without_videos_says_what_can_be_read(folder):
    (folder / "note.txt").touch()
    with pytest.raises(ValueError, match=r"holds neither videos \(.mp4, .* nor folders of pict"):
        read(folder, Config())

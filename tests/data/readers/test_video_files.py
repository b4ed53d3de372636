import struct
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.data.readers.films import numbered, shown, write_video
from unbraid.data.readers import decoding as video_files
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


def test_a_whole_video_is_spread_over_the_steps(folder):
    path = write_video(folder / "a.mkv", numbered(40))
    films = read(path, Config(frames=10))
    assert films.x.shape == (1, 10, 3, 64, 64)
    assert shown(films.x[0]) == list(range(0, 40, 4))
    assert films.lengths is None
    assert films.rate == pytest.approx(25 / 4, rel=0.02)
    assert films.labels["name"].tolist() == ["a.mkv"]


@pytest.mark.parametrize(
    ("name", "codec", "pixels"),
    [
        ("a.mp4", "libx264", "yuv420p"),
        ("a.avi", "mpeg4", "yuv420p"),
        ("a.webm", "libvpx", "yuv420p"),
        ("a.mov", "mjpeg", "yuvj420p"),
        ("a.mkv", "ffv1", "gray"),
    ],
)
def test_usual_formats_are_read(folder, name, codec, pixels):
    path = write_video(folder / name, numbered(20, factor=10), codec=codec, pixels=pixels)
    greys = read(path, Config(frames=5)).x[0].mean((1, 2, 3))
    assert np.abs(greys - [0, 40, 80, 120, 160]).max() < 6


def test_a_rate_takes_the_frames_shown_at_its_beats(folder):
    path = write_video(folder / "a.mkv", numbered(40))
    films = read(path, Config(frames=6, rate=5.0))
    assert shown(films.x[0]) == [0, 5, 10, 15, 20, 25]
    assert films.rate == 5.0
    assert films.lengths is None
    short = read(path, Config(frames=20, rate=5.0))
    assert short.lengths.tolist() == [8]  # 1.6 s
    assert shown(short.x[0, :8]) == list(range(0, 40, 5))
    assert (short.x[0, 8:] == 0).all()


def test_frames_of_unequal_duration_are_sampled_by_their_time(folder):
    times = [0, 100, 200, 700, 800]
    path = write_video(folder / "a.mkv", numbered(5), rate=10, times=times)
    films = read(path, Config(frames=16, rate=10.0))
    wanted = [0, 1, 2, 2, 2, 2, 2, 3, 4]
    assert films.lengths.tolist() == [9]
    assert shown(films.x[0, :9]) == wanted


def test_a_container_that_is_wrong_about_its_frames_is_counted(folder, monkeypatch):
    path = write_video(folder / "a.mkv", numbered(40))
    for lie in (0, 7, 400):
        monkeypatch.setattr(video_files, "count_packets", lambda path, lie=lie: lie)
        frames, rate = video_files.spread_frames(path, 10, Config().look)
        assert shown(np.stack(frames)) == list(range(0, 40, 4))
        assert rate == pytest.approx(25 / 4, rel=0.02)


def test_a_portrait_video_of_a_telephone_is_turned_upright(folder):
    frames = np.zeros((4, 64, 64, 3), np.uint8)
    frames[:, :32, :32] = 250  # white above on the left
    path = write_video(folder / "a.mp4", frames, codec="libx264", pixels="yuv420p")
    data = bytearray(path.read_bytes())
    start = data.index(b"tkhd") + 4 + 40
    one = 1 << 16
    # x' = -y + width, y' = x: clockwise by a quarter.
    data[start : start + 36] = struct.pack(">9i", 0, one, 0, -one, 0, 0, 64 * one, 0, 1 << 30)
    path.write_bytes(data)
    x = read(path, Config(frames=4)).x[0, 0, 0]
    assert x[:28, 36:].min() > 235
    assert x[:, :28].max() < 20
    assert x[36:].max() < 20


def test_odd_sizes_and_every_fit_work(folder):
    frames = np.zeros((4, 47, 141, 3), np.uint8)
    frames[:, :, 47:94, 1] = 200  # the middle third is green
    path = write_video(folder / "a.mkv", frames)
    crop, stretch, pad = (
        read(path, Config(frames=4, fit=fit)).x[0, 0] for fit in ("crop", "stretch", "pad")
    )
    assert crop[1, :, 2:-2].min() >= 199
    assert stretch[1, 32, [10, 32, 54]].tolist() == [0, 200, 0]
    assert (pad[1, 22:42, 32] >= 199).all()
    assert (pad[:, :20] == 0).all()
    assert (pad[:, 44:] == 0).all()


def test_grey_frames_have_one_channel(folder):
    frames = numbered(4)
    frames[..., 1:] = 0
    path = write_video(folder / "a.mkv", frames)
    x = read(path, Config(frames=4, color=False)).x
    assert x.shape == (1, 4, 1, 64, 64)
    assert x[0, :, 0, 0, 0].tolist() == [0, 1, 2, 4]  # 0.299 of 0, 4, 8, 12


def test_what_is_transparent_in_a_gif_is_black(folder):
    pictures = []
    for number in range(4):
        picture = Image.new("RGBA", (32, 32), (0, 0, 0, 0))
        picture.paste((255, 255, 255, 255), (8 * number, 0, 8 * number + 8, 32))
        pictures.append(picture)
    path = folder / "a.gif"
    pictures[0].save(path, save_all=True, append_images=pictures[1:], duration=100, disposal=2)
    x = read(path, Config(frames=4)).x[0].astype(int)
    for step in range(4):
        bright = x[step].min((0, 1)) > 200
        assert bright[16 * step + 2 : 16 * step + 14].all()
        assert bright.sum() <= 16
        assert x[step, :, :, (16 * step + 32) % 64].max() < 50


def test_pictures_give_what_the_video_of_them_gives(folder):
    rng = np.random.default_rng(0)
    rough = rng.integers(0, 256, (8, 9, 12, 3)).astype(np.uint8)
    frames = np.stack([np.asarray(Image.fromarray(f).resize((160, 120))) for f in rough])
    write_video(folder / "a.mkv", frames)
    for number, frame in enumerate(frames):
        (folder / "a").mkdir(exist_ok=True)
        Image.fromarray(frame).save(folder / "a" / f"{number}.png")
    for fit in ("crop", "stretch", "pad"):
        pictures, film = read(folder, Config(frames=8, fit=fit)).x.astype(int)
        assert np.abs(pictures - film).mean() < 1.5


def test_without_the_decoder_the_message_says_what_to_install(folder, monkeypatch):
    path = write_video(folder / "a.mkv", numbered(4))
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(ValueError, match=r'needs PyAV: pip install "unbraid\[video\]"'):
        read(path, Config())

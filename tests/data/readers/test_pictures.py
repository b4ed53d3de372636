import numpy as np
import pytest
from PIL import Image

from unbraid.data.readers.pictures import (
    Look,
    even_steps,
    find_pictures,
    in_order,
    on_black,
    open_picture,
    random_steps,
)
from unbraid.data.readers.stacks import CHUNK, check_skipped, new_stack, open_lengths, read_all

RED, GREEN, BLUE = (255, 0, 0), (0, 255, 0), (0, 0, 255)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("UNBRAID_CACHE", str(tmp_path / "cache"))


def _flag() -> Image.Image:
    """Three squares side by side: red, green, blue."""
    pixels = np.zeros((32, 96, 3), np.uint8)
    for place, color in enumerate((RED, GREEN, BLUE)):
        pixels[:, 32 * place : 32 * (place + 1)] = color
    return Image.fromarray(pixels)


def test_crop_keeps_the_middle_square():
    frame = Look(size=32, fit="crop").frame(_flag())
    assert frame.shape == (3, 32, 32)
    assert frame.dtype == np.uint8
    assert (frame == np.array(GREEN)[:, None, None]).all()


def test_stretch_keeps_all_and_distorts_it():
    frame = Look(size=48, fit="stretch").frame(_flag())
    thirds = frame[:, 24, [8, 24, 40]].T
    assert thirds.tolist() == [list(RED), list(GREEN), list(BLUE)]


def test_pad_keeps_all_between_black_borders():
    frame = Look(size=96, fit="pad").frame(_flag())
    assert (frame[:, :32] == 0).all()
    assert (frame[:, 64:] == 0).all()
    assert np.array_equal(frame[:, 32:64].transpose(1, 2, 0), np.asarray(_flag()))


def test_a_thin_picture_is_still_a_pixel_wide():
    frame = Look(size=16, fit="pad").frame(Image.new("RGB", (1, 400), RED))
    assert frame[0].sum() == 16 * 255
    assert (frame[0, :, 7] == 255).all()


def test_scaling_down_takes_the_mean_of_what_a_pixel_covers():
    ramp = np.tile(np.arange(256, dtype=np.uint8), (256, 1))
    frame = Look(size=64, color=False).frame(Image.fromarray(ramp))
    wanted = ramp.reshape(64, 4, 64, 4).mean((1, 3))
    assert np.abs(frame[0, 1:-1, 1:-1] - wanted[1:-1, 1:-1]).max() <= 1


def test_grey_is_one_channel_of_luminance():
    frame = Look(size=32, color=False, fit="crop").frame(_flag())
    assert frame.shape == (1, 32, 32)
    assert frame[0, 0, 0] == 150  # 0.587 x 255, the weight of green in BT.601
    assert Look(size=32).frame(Image.new("L", (40, 40), 9)).max() == 9


@pytest.mark.parametrize(
    ("image", "wanted"),
    [
        (Image.new("RGBA", (4, 4), (200, 100, 50, 128)), (100, 50, 25)),
        (Image.new("RGBA", (4, 4), (200, 100, 50, 0)), (0, 0, 0)),
        (Image.new("LA", (4, 4), (200, 128)), (100, 100, 100)),
        (Image.new("1", (4, 4), 1), (255, 255, 255)),
        (Image.new("CMYK", (4, 4), (0, 0, 0, 0)), (255, 255, 255)),
        (Image.fromarray(np.full((4, 4), 0x8001, np.uint16)), (128, 128, 128)),
        (Image.new("RGB", (4, 4), RED).convert("P"), RED),
    ],
)
def test_every_kind_of_picture_becomes_eight_bits_on_black(image, wanted):
    shown = np.asarray(on_black(image).convert("RGB")).astype(int)
    assert np.abs(shown - wanted).max() <= 1


def test_sixteen_bits_and_transparent_palettes_survive_the_file(tmp_path):
    Image.fromarray(np.full((4, 4), 0x4000, np.uint16)).save(tmp_path / "deep.png")
    assert Look(size=16).read(tmp_path / "deep.png").max() == 64
    clear = Image.new("P", (4, 4), 1)
    clear.putpalette([0, 0, 0, 250, 250, 250])
    clear.save(tmp_path / "clear.png", transparency=1)
    assert Look(size=16).read(tmp_path / "clear.png").max() == 0


def test_a_picture_that_lies_on_its_side_is_turned_upright(tmp_path):
    half = Image.new("L", (32, 32))
    half.paste(255, (0, 0, 32, 16))  # white above black as stored
    exif = Image.Exif()
    exif[0x0112] = 6  # to be shown turned clockwise: what is above goes to the right
    half.save(tmp_path / "side.png", exif=exif)
    frame = Look(size=32, color=False).read(tmp_path / "side.png")[0]
    assert (frame[:, :15] == 0).all()
    assert (frame[:, 17:] == 255).all()


def test_a_large_jpeg_is_decoded_to_fewer_pixels_and_looks_the_same(tmp_path):
    rough = np.random.default_rng(0).integers(0, 256, (12, 16, 3)).astype(np.uint8)
    Image.fromarray(rough).resize((1600, 1200), Image.Resampling.BICUBIC).save(tmp_path / "a.jpg")
    assert open_picture(tmp_path / "a.jpg").size == (1600, 1200)
    assert open_picture(tmp_path / "a.jpg", least=192).size == (400, 300)
    assert open_picture(tmp_path / "a.jpg", least=5000).size == (1600, 1200)
    look = Look(size=64)
    whole = look.frame(open_picture(tmp_path / "a.jpg")).astype(int)
    assert np.abs(look.read(tmp_path / "a.jpg") - whole).mean() < 1.5


@pytest.mark.parametrize("how", ["text", "empty", "torn", "missing"])
def test_what_is_no_picture_is_named_without_its_folder(tmp_path, how):
    path = tmp_path / "deep" / "0001.jpg"
    path.parent.mkdir()
    if how == "torn":
        noise = np.random.default_rng(0).integers(0, 256, (64, 64, 3)).astype(np.uint8)
        Image.fromarray(noise).save(path)
        path.write_bytes(path.read_bytes()[:2000])
    elif how != "missing":
        path.write_text("no picture" if how == "text" else "")
    with pytest.raises(ValueError, match=r"0001\.jpg cannot be read as a picture: ") as error:
        Look().read(path)
    assert str(tmp_path) not in str(error.value)


def test_pictures_go_by_their_numbers_and_hidden_ones_are_left_out(tmp_path):
    for name in ("img10.png", "img2.png", "img1.PNG", "._img1.png", "note.txt", "a.jpeg"):
        (tmp_path / name).touch()
    names = [path.name for path in find_pictures(tmp_path)]
    assert names == ["a.jpeg", "img1.PNG", "img2.png", "img10.png"]
    with pytest.raises(ValueError, match="cannot be listed: No such file"):
        find_pictures(tmp_path / "gone")


def test_names_sort_by_every_number_in_them():
    names = ["b1", "take2_10", "take2_9", "take10_1", "7", "a"]
    assert sorted(names, key=in_order) == ["7", "a", "b1", "take2_9", "take2_10", "take10_1"]


def test_even_steps_lie_total_over_count_apart():
    assert even_steps(100, 10).tolist() == [0, 10, 20, 30, 40, 50, 60, 70, 80, 90]
    assert even_steps(25, 10).tolist() == [0, 2, 5, 7, 10, 12, 15, 17, 20, 22]
    assert even_steps(4, 10).tolist() == [0, 1, 2, 3]
    assert even_steps(0, 10).tolist() == []


def test_random_steps_are_different_in_order_and_fixed_by_the_seed():
    drawn = [random_steps(60, 15, np.random.default_rng(seed)) for seed in (0, 0, 1)]
    for steps in drawn:
        assert (np.diff(steps) > 0).all()
        assert steps[0] >= 0
        assert steps[-1] < 60
    assert np.array_equal(drawn[0], drawn[1])
    assert not np.array_equal(drawn[0], drawn[2])


def _arrays() -> tuple[dict[str, np.ndarray], object]:
    made: dict[str, np.ndarray] = {}

    def new(name, shape, dtype):
        made[name] = np.full(shape, 7, dtype)
        return made[name]

    return made, new


def test_a_stack_holds_sequences_of_unequal_length_in_order(tmp_path):
    made, new = _arrays()
    count = CHUNK + 3
    with new_stack(3, (1, 2, 2)) as stack:
        stack.append(np.full((3, 1, 2, 2), 99, np.uint8))
        stack.shrink(0)
        for number in range(count):
            stack.append(np.full((1 + number % 3, 1, 2, 2), number, np.uint8))
        stack.store(new)
    assert not list((tmp_path / "cache").iterdir())
    steps = 1 + np.arange(count) % 3
    assert made["lengths"].tolist() == steps.tolist()
    there = np.arange(3) < steps[:, None]
    wanted = np.where(there, np.arange(count)[:, None], 0)
    assert np.array_equal(made["x"][..., 0, 0, 0], wanted)
    assert open_lengths(made["lengths"], 3) is made["lengths"]
    assert open_lengths(np.array([3, 3]), 3) is None


def test_what_cannot_be_read_is_named_and_the_rest_keeps_its_order():
    made, new = _arrays()
    shares: list[float] = []

    def read(name: str) -> np.ndarray:
        if int(name) % 10 == 4:
            raise ValueError(f"{name} is broken")
        return np.full((1, 1, 1, 1), int(name), np.uint8)

    names = [str(number) for number in range(CHUNK + 8)]
    with new_stack(1, (1, 1, 1)) as stack:
        skipped = read_all(read, names, stack, shares.append)
        stack.store(new)
    assert skipped == {name: f"{name} is broken" for name in names if name[-1] == "4"}
    assert made["x"].ravel().tolist() == [n for n in range(CHUNK + 8) if n % 10 != 4]
    assert shares == [CHUNK / (CHUNK + 8), 1.0]


def test_too_many_broken_videos_stop_with_the_first_names():
    broken = {f"{letter}.mp4": "it is torn" for letter in "abcd"}
    check_skipped(broken, 40, 0.1)
    with pytest.raises(
        ValueError, match=r"4 of 39 videos .*: a.mp4: it is torn; .*c.*; \.\.\. Rep"
    ):
        check_skipped(broken, 39, 0.1)
    with pytest.raises(ValueError, match="4 of 4 videos cannot be used"):
        check_skipped(broken, 4, 1.0)

import zipfile

import numpy as np
import pytest

import unbraid
from unbraid.data.readers.arrays import from_arrays
from unbraid.data.readers.own import load_own, read_own
from unbraid.shapes import ShapeError


def _x(*shape: int, dtype=np.float32) -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape).astype(dtype)


def _video(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, shape).astype(np.uint8)


def _sizes(corpus) -> tuple[int, ...]:
    return tuple(len(corpus.split(part)) for part in ("train", "validation", "test"))


def test_a_corpus_prints_as_one_line_and_not_as_its_arrays():
    corpus = from_arrays(_x(40, 6, 3), labels={"who": np.arange(40) % 4})
    assert repr(corpus).startswith(f"Corpus({corpus.spec.name}, series of ")
    assert (
        repr(corpus.test) == f"Split({corpus.spec.name}: {len(corpus.test)} sequences; labels: who)"
    )


def test_it_is_a_public_name():
    assert unbraid.from_arrays is from_arrays


@pytest.mark.parametrize(
    ("x", "options", "kind", "shape"),
    [
        (_video(10, 3, 1, 8, 8), {}, "video", (10, 3, 1, 8, 8)),
        (_x(10, 40, 2), {}, "series", (10, 20, 2, 2)),
        (_x(10, 40, 2), {"window": 8}, "series", (10, 5, 8, 2)),
        (_x(10, 5, 8, 2), {}, "series", (10, 5, 8, 2)),
        (_x(10, 40, 2), {"kind": "audio"}, "audio", (10, 40, 2)),
        (_x(10, 40, 2, dtype=np.float64), {"kind": "series"}, "series", (10, 20, 2, 2)),
    ],
)
def test_the_kind_follows_from_the_axes(x, options, kind, shape):
    corpus = from_arrays(x, name="mine", options=options)
    assert (corpus.spec.name, corpus.spec.kind) == ("mine", kind)
    assert corpus.train.x.shape == shape
    assert _sizes(corpus) == (8, 1, 1)


@pytest.mark.parametrize(
    ("shape", "kind"),
    [((4, 3), "auto"), ((4,), "auto"), ((4, 3, 2), "video"), ((4, 3, 2, 2), "audio")],
)
def test_other_axes_are_refused_with_those_that_are_wanted(shape, kind):
    with pytest.raises(ShapeError, match=rf"x must be video \(N, T, C, H, W\).* for kind '{kind}'"):
        from_arrays(_x(*shape), options={"kind": kind})


def test_an_empty_axis_is_refused():
    with pytest.raises(ShapeError, match=r"no axis of x may be empty, got shape \(4, 0, 2\)"):
        from_arrays(np.zeros((4, 0, 2), np.float32))
    with pytest.raises(ValueError, match="need three sequences at least, got 2"):
        from_arrays(_x(2, 4, 1))


def test_bytes_of_video_stay_bytes_and_floats_lie_between_0_and_1():
    pixels = _video(6, 2, 3, 4, 4)
    corpus = from_arrays(pixels)
    assert corpus.train.x is pixels
    assert corpus.spec.scale == (255.0,)
    floats = from_arrays(pixels / 255)
    assert floats.spec.scale == (1.0,)
    assert np.allclose(floats.train.take([0, 1]).x, corpus.train.take([0, 1]).x)
    with pytest.raises(ValueError, match=r"float video must lie in \[0, 1\], got \[0, 255\]"):
        from_arrays(np.float32([0, 255])[_video(6, 2, 3, 4, 4) // 128])


@pytest.mark.parametrize("x", [_x(4, 3, 2).astype(complex), np.full((4, 3, 2), "a")])
def test_only_real_numbers_are_values(x):
    with pytest.raises(ValueError, match="x must hold real numbers, got"):
        from_arrays(x)


def test_nan_in_a_series_is_missing():
    x = _x(5, 6, 2)
    x[1, 2, 0], x[2, 3, 1] = np.nan, np.inf
    corpus = from_arrays(x, options={"window": 3})
    assert corpus.spec.missing
    unknown = np.argwhere(~corpus.train.observed).tolist()
    assert unknown == [[1, 0, 2, 0], [2, 1, 0, 1]]
    assert np.isfinite(corpus.train.x).all()
    assert np.isnan(x[1, 2, 0])  # what was given is not changed


@pytest.mark.parametrize(("shape", "kind"), [((5, 6, 2), "audio"), ((5, 6, 1, 2, 2), "video")])
def test_nan_elsewhere_is_refused_with_its_place(shape, kind):
    x = np.abs(_x(*shape)) % 1
    x[1, 2] = np.nan
    with pytest.raises(ValueError, match=r"x holds \d NaN or infinite values, first at \(1, 2, 0"):
        from_arrays(x, options={"kind": kind})


def test_what_stands_beyond_the_end_is_never_looked_at():
    x = _x(5, 6, 2)
    lengths = np.array([6, 2, 6, 6, 6])
    x[1, 2:] = np.nan
    corpus = from_arrays(x, lengths=lengths, options={"kind": "audio"})
    assert np.isfinite(corpus.train.x).all()
    assert not corpus.spec.missing
    assert from_arrays(x, lengths=lengths, options={"window": 2}).train.observed is None
    video = np.zeros((5, 6, 1, 2, 2), np.float32)
    video[1, 2:] = -7
    assert from_arrays(video, lengths=lengths).train.x.min() == 0


@pytest.mark.parametrize("lengths", [[6, 2, 6, 6, 6], np.array([6, 2, 6, 6, 6], np.uint8)])
def test_lengths_become_windows(lengths):
    corpus = from_arrays(_x(5, 6, 2), lengths=lengths, options={"window": 4})
    assert corpus.train.lengths.tolist() == [2, 1, 2, 2, 2]
    assert corpus.train.observed[1, 0, :, 0].tolist() == [True, True, False, False]


@pytest.mark.parametrize(
    "lengths", [[6, 2], [0, 1, 1, 1, 1], [7, 1, 1, 1, 1], [1.0] * 5, [[1]] * 5, ["1"] * 5]
)
def test_lengths_are_checked(lengths):
    with pytest.raises(ShapeError, match="lengths must be 5 whole numbers from 1 to 6, got"):
        from_arrays(_x(5, 6, 2), lengths=np.array(lengths))


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.float32])
def test_a_mask_may_be_given(dtype):
    observed = np.ones((5, 6, 2), dtype)
    observed[0, 0, 0] = 0
    corpus = from_arrays(_x(5, 6, 2), observed=observed, options={"window": 2})
    assert corpus.train.observed.dtype == bool
    assert (~corpus.train.observed).sum() == 1
    everything = corpus.train.select(slice(None))
    assert everything.take([0]).observed.dtype is not None
    with pytest.raises(ShapeError, match=r"observed must have the shape of x, \(5, 6, 2\), got"):
        from_arrays(_x(5, 6, 2), observed=observed[:, :3])


def test_a_mask_and_nan_are_joined():
    x, observed = _x(5, 6, 2), np.ones((5, 6, 2), bool)
    x[0, 0, 0], observed[0, 1, 0] = np.nan, False
    corpus = from_arrays(x, observed=observed, options={"window": 1})
    assert np.argwhere(~corpus.train.observed).tolist() == [[0, 0, 0, 0], [0, 1, 0, 0]]


def test_a_list_of_unequal_length_is_padded():
    parts = [_x(n, 2) for n in (3, 5, 4, 2)]
    corpus = from_arrays(parts, options={"kind": "audio"})
    assert corpus.train.lengths.tolist() == [3, 5, 4, 2]
    assert corpus.train.x.shape == (4, 5, 2)
    for row, part in zip(corpus.train.x, parts, strict=True):
        assert np.array_equal(row[: len(part)], part)


def test_what_belongs_to_a_list_may_be_lists():
    parts = [_x(n, 2) for n in (3, 5, 4)]
    observed = [np.ones((n, 2), bool) for n in (3, 5, 4)]
    observed[2][1] = False
    labels = {
        "state": [[0, 1, 2], [1] * 5, [2, 2, 1, 1]],
        "mood": [["a"] * 3, ["b"] * 5, ["a"] * 4],
        "level": [np.full(n, 0.5) for n in (3, 5, 4)],
        "on": [[True] * 3, [False] * 5, [True] * 4],
        "who": ["ann", "bob", "cid"],
    }
    corpus = from_arrays(parts, observed=observed, labels=labels, options={"window": 1})
    labels_read = corpus.train.labels
    assert labels_read["state"].tolist() == [[0, 1, 2, -1, -1], [1] * 5, [2, 2, 1, 1, -1]]
    assert labels_read["mood"].tolist() == [[0, 0, 0, -1, -1], [1] * 5, [0, 0, 0, 0, -1]]
    assert labels_read["on"].tolist() == [[1, 1, 1, -1, -1], [0] * 5, [1, 1, 1, 1, -1]]
    assert np.isnan(labels_read["level"][0, 3:]).all()
    assert labels_read["who"].tolist() == [0, 1, 2]
    assert not corpus.train.observed[2, 1].any()
    assert [factor.name for factor in corpus.spec.static] == ["who"]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([], "got an empty list"),
        ([_x(3, 2), _x(3, 3), _x(3, 2)], r"must agree but in length, got \(3, 2\), \(3, 3\)"),
        ([_x(3, 2), _x(0, 2), _x(3, 2)], "every sequence needs a step, sequence 1 has none"),
        ([np.array(1.0), np.array(2.0)], "must agree but in length"),
    ],
)
def test_lists_that_do_not_fit_are_refused(parts, message):
    with pytest.raises(ShapeError, match=message):
        from_arrays(parts)


def test_a_list_says_its_lengths_itself():
    with pytest.raises(ValueError, match="a list says them itself"):
        from_arrays([_x(3, 2)] * 3, lengths=np.array([3, 3, 3]))


def test_labels_are_encoded_and_cut_into_windows():
    labels = {
        "who": ["b", "a", "b", "a"],
        "state": np.tile([0, 0, 1, 1], (4, 1)),
        "level": np.tile([0.0, 1.0, 2.0, 4.0], (4, 1)),
        "action": [0, 1, 0, 1],
    }
    corpus = from_arrays(_x(4, 4, 1), labels=labels, options={"window": 2, "dynamic": ["action"]})
    assert corpus.train.labels["who"].tolist() == [1, 0, 1, 0]
    assert corpus.train.labels["state"].tolist() == [[0, 1]] * 4
    assert corpus.train.labels["level"].tolist() == [[0.5, 3.0]] * 4
    assert [factor.name for factor in corpus.spec.static] == ["who"]
    assert [factor.name for factor in corpus.spec.dynamic] == ["state", "level", "action"]


@pytest.mark.parametrize("label", [[1, 2, 3], np.zeros((4, 3)), 7])
def test_labels_of_another_shape_are_refused(label):
    with pytest.raises(ShapeError, match=r"label 'who' must have shape \(4,\) or \(4, 4\), got"):
        from_arrays(_x(4, 4, 1), labels={"who": label})


def test_a_label_and_a_setting_decide_the_splits():
    words = ["test"] * 2 + ["train"] * 6 + ["validation"]
    corpus = from_arrays(_x(9, 4, 1), labels={"split": words})
    assert _sizes(corpus) == (6, 1, 2)
    who = np.repeat(np.arange(6), 3)
    by = from_arrays(
        _x(18, 4, 1), labels={"who": who}, options={"split": {"by": "who", "test": 0.3}}
    )
    assert set(by.test.label("who")).isdisjoint(by.train.label("who"))
    assert len(by.test) == 6


def test_settings_are_checked():
    with pytest.raises(ValueError, match="from_arrays: window must not be negative, got -1"):
        from_arrays(_x(4, 4, 1), options={"window": -1})
    with pytest.raises(KeyError, match=r"from_arrays: Config has no setting 'windows'"):
        from_arrays(_x(4, 4, 1), options={"windows": 1})
    with pytest.raises(ValueError, match="from_arrays: kind must be one of auto, video, audio"):
        from_arrays(_x(4, 4, 1), options={"kind": "films"})


def test_a_file_holds_what_from_arrays_takes(tmp_path):
    x, lengths = _x(6, 8, 2), np.array([8, 3, 8, 8, 8, 8])
    observed = np.random.default_rng(1).random(x.shape) < 0.8
    labels = {"who": np.array(list("abcabc")), "state": np.zeros((6, 8), int)}
    np.savez(tmp_path / "mine.npz", x=x, lengths=lengths, observed=observed, **labels)
    loaded = load_own(str(tmp_path / "mine.npz"), {"window": 2})
    wanted = from_arrays(
        x, lengths=lengths, observed=observed, labels=labels, name="mine", options={"window": 2}
    )
    assert loaded.spec == wanted.spec
    for part in ("x", "lengths", "observed", "rows"):
        assert np.array_equal(getattr(loaded.train, part), getattr(wanted.train, part))
    assert loaded.train.labels.keys() == wanted.train.labels.keys()


def test_a_file_of_one_array_is_mapped(tmp_path):
    np.save(tmp_path / "mine.npy", _video(5, 2, 1, 4, 4))
    collection = read_own(str(tmp_path / "mine.npy"))
    assert isinstance(collection.x, np.memmap)
    assert collection.name == "mine"


def test_a_file_without_x_says_what_it_holds(tmp_path):
    np.savez(tmp_path / "mine.npz", y=_x(3, 2, 1), z=_x(3, 2, 1))
    with pytest.raises(ValueError, match=r"must hold an array 'x' of sequences, it holds: y, z"):
        read_own(str(tmp_path / "mine.npz"))


@pytest.mark.parametrize("name", ["mine.npz", "mine.npy"])
@pytest.mark.parametrize("how", ["empty", "text", "torn", "pickled"])
def test_a_broken_file_is_named(tmp_path, name, how):
    path = tmp_path / name
    content = np.array([{"a": 1}] * 4, dtype=object) if how == "pickled" else _x(40, 20, 3)
    if name.endswith("z"):
        np.savez_compressed(path, x=content)
    else:
        np.save(path, content)
    if how in ("empty", "text"):
        path.write_bytes(b"" if how == "empty" else b"x,y\n1,2\n")
    elif how == "torn":
        path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(ValueError, match=rf"{name} cannot be read as \.np[yz] without pickle"):
        read_own(str(path))


def test_an_archive_with_a_damaged_member_is_named(tmp_path):
    path = tmp_path / "mine.npz"
    np.savez_compressed(path, x=_x(40, 20, 3))
    content = bytearray(path.read_bytes())
    content[400:420] = bytes(20)
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"mine\.npz cannot be read as \.npz"):
        read_own(str(path))
    with zipfile.ZipFile(tmp_path / "other.npz", "w") as file:
        file.writestr("notes.txt", "no array")
    with pytest.raises(ValueError, match=r"other\.npz must hold an array 'x'.*it holds: nothing"):
        read_own(str(tmp_path / "other.npz"))


def test_a_folder_of_arrays_is_refused(tmp_path):
    np.save(tmp_path / "a.npy", _x(3, 2, 1))
    with pytest.raises(ValueError, match=r"is a folder: give one \.npz or \.npy file"):
        read_own(str(tmp_path))

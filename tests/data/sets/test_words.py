from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from unbraid.data.cache import Prepared, content_key, open_or_build
from unbraid.data.corpus import Corpus, RowSource
from unbraid.data.sets import words
from unbraid.data.sets.words import LETTERS, SPELT, WORDS, Drawing, WordsConfig, Written, bend, ink

PAPER, INK = 240, 40


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("UNBRAID_CACHE", str(tmp_path / "cache"))


def _png(pixels: np.ndarray) -> bytes:
    file = BytesIO()
    Image.fromarray(pixels.astype(np.uint8)).save(file, "png")
    return file.getvalue()


def _letter(name: str) -> bytes:
    """A blot of its own for every name."""
    pixels = np.full((48, 48), PAPER)
    pixels[8:-8, 8:-8] -= np.random.default_rng(list(name.encode())).integers(0, 200, (32, 32))
    return _png(pixels)


def _drawings(writers: list[str], samples: int = 2) -> list[Drawing]:
    return [
        Drawing(writer, letter, f"{writer}/{letter}_{sample}.png")
        for writer in writers
        for letter in LETTERS
        for sample in range(samples)
    ]


def _store(drawings: list[Drawing], read=_letter, **settings: float) -> Prepared:
    config = WordsConfig(size=32, **settings)  # type: ignore[arg-type]
    build = lambda new: words.store_letters(new, drawings, read, config)  # noqa: E731
    return open_or_build("words", content_key(drawings=drawings), build)


def _spell(prepared: Prepared, **settings: object) -> Corpus:
    return words.spell(prepared, WordsConfig(size=32, **settings), name="words")  # type: ignore[arg-type]


def test_the_lexicon_has_a_hundred_different_words_of_seven_letters():
    assert len(WORDS) == len(set(WORDS)) == 100
    assert {len(word) for word in WORDS} == {7}
    assert all(word.isascii() and word.isalpha() and word.islower() for word in WORDS)
    assert "science" in WORDS  # the paper's example


def test_every_letter_is_in_six_words_at_least():
    assert min(sum(letter in word for word in WORDS) for letter in LETTERS) >= 6


def test_words_are_spelt_by_the_alphabet():
    assert SPELT[WORDS.index("because")].tolist() == [1, 4, 2, 0, 20, 18, 4]


@pytest.mark.parametrize("seed", range(3))
def test_the_commonest_letter_is_as_frequent_in_test_words_as_in_a_dictionary(seed: int):
    corpus = _spell(_store(_drawings(["1"])), seed=seed)
    shares = np.bincount(corpus.test.label("letter").ravel()) / corpus.test.label("letter").size
    assert LETTERS[shares.argmax()] == "e"
    assert shares.max() == pytest.approx(0.112, abs=0.025)  # Concise Oxford Dictionary


@pytest.mark.parametrize("seed", range(5))
def test_whatever_the_seed_training_words_have_every_letter(seed: int):
    corpus = _spell(_store(_drawings(["1"])), seed=seed)
    assert len(np.unique(corpus.train.label("letter"))) == 26


def test_ink_is_what_differs_from_paper_and_is_bright():
    pixels = np.full((20, 20), PAPER)
    pixels[5:15, 9:11] = INK
    dark = ink(_png(pixels), 20)
    assert set(np.unique(dark)) == {0, PAPER - INK}
    assert np.array_equal(dark > 0, pixels == INK)
    assert np.array_equal(ink(_png(255 - pixels), 20), dark)


def test_a_picture_that_is_not_square_keeps_its_proportions():
    pixels = np.full((20, 10), PAPER)
    pixels[5:15, 3:7] = INK
    wide = ink(_png(pixels), 20) > 0
    assert wide.any(0).nonzero()[0].tolist() == [8, 9, 10, 11]
    assert wide.any(1).sum() == 10


def test_bending_by_the_identity_changes_nothing():
    pictures = np.random.default_rng(0).integers(0, 256, (2, 3, 16, 24)).astype(np.uint8)
    same = np.broadcast_to(np.eye(2, 3, dtype=np.float32), (2, 3, 2, 3)).copy()
    assert np.array_equal(bend(pictures, same), pictures)


def test_bending_can_shift_and_turn_to_known_places():
    pictures = np.zeros((2, 16, 16), dtype=np.uint8)
    pictures[:, 3, 5] = 200
    shift = [[1, 0, 0.25], [0, 1, -0.5]]  # from 2 pixels to the right and 4 above
    turn = [[0, 1, 0], [1, 0, 0]]  # rows become columns
    bent = bend(pictures, np.array([shift, turn], dtype=np.float32))
    assert np.argwhere(bent).tolist() == [[0, 7, 3], [1, 5, 3]]
    assert bent[0, 7, 3] == bent[1, 5, 3] == 200


def test_every_step_shows_its_letter_by_its_writer():
    prepared = _store(_drawings(["ann", "bob", "cid"]))
    corpus = _spell(prepared)
    x = corpus.train.x
    assert isinstance(x, Written)
    writer, letter = prepared.arrays["writer"], prepared.arrays["letter"]
    assert np.array_equal(writer[x.index], np.repeat(corpus.train.labels["writer"][:, None], 7, 1))
    assert np.array_equal(letter[x.index], corpus.train.labels["letter"])
    shown = x[123]
    assert shown.shape == (7, 1, 32, 32)
    for step, picture in enumerate(x.index[123]):
        assert np.array_equal(shown[step, 0], prepared.arrays["pictures"][picture])
    names = [d.name for d in sorted(_drawings(["ann", "bob", "cid"]))]
    assert np.array_equal(shown[0, 0], ink(_letter(names[x.index[123, 0]]), 32))


def test_both_samples_of_a_letter_are_used_about_equally():
    x = _spell(_store(_drawings(["ann", "bob"]))).train.x
    second = np.asarray(x.index % 2)
    assert 0.45 < second.mean() < 0.55


def test_words_or_writers_are_never_in_two_splits():
    prepared = _store(_drawings(list("12345"), samples=1))
    for cut, sizes in (("word", [350, 50, 100]), ("writer", [300, 100, 100])):
        corpus = _spell(prepared, cut=cut)
        splits = [corpus.split(name) for name in ("train", "validation", "test")]
        assert [len(split) for split in splits] == sizes
        held = [set(split.label(cut)) for split in splits]
        assert sum(map(len, held)) == len(set.union(*held))
    assert set(_spell(prepared).test.label("writer")) == set(range(5))


def test_one_seed_gives_one_result():
    prepared = _store(_drawings(["1", "2"]))
    a, b, c = (_spell(prepared, seed=seed, jitter=0.1) for seed in (1, 1, 2))
    assert np.array_equal(a.train.x[:9], b.train.x[:9])
    assert not np.array_equal(a.train.x[:9], c.train.x[:9])
    assert np.array_equal(a.test.rows, b.test.rows)


def test_with_jitter_no_letter_is_equal_to_another_and_rows_stay_what_they_are():
    prepared = _store(_drawings(["1"], samples=1))
    plain, bent = _spell(prepared).train.x, _spell(prepared, jitter=0.05).train.x
    assert len(np.unique(plain[:].reshape(700, -1), axis=0)) == 26
    assert len(np.unique(bent[:].reshape(700, -1), axis=0)) == 700
    assert np.array_equal(bent[[4, 2]], bent[:5][[4, 2]])
    assert np.array_equal(bent[3], bent[3:4][0])


def test_written_words_look_like_an_array():
    x = _spell(_store(_drawings(["1"]))).train.x
    assert isinstance(x, RowSource)
    assert (len(x), x.shape, x.ndim, x.dtype) == (100, (100, 7, 1, 32, 32), 5, np.uint8)
    assert np.asarray(x).shape == x.shape
    with pytest.raises(IndexError, match="indexed by rows alone"):
        x[1, 2]


def test_writers_are_in_the_order_of_their_numbers():
    corpus = _spell(_store(_drawings(["10", "9", "2"], samples=1)))
    assert corpus.spec.static[0].values == ("2", "9", "10")


def test_a_writer_who_lacks_a_letter_is_skipped_and_named():
    drawings = [
        d for d in _drawings(["1", "2"]) if (d.writer, d.letter) not in {("2", "q"), ("2", "z")}
    ]
    corpus = _spell(_store(drawings))
    assert corpus.skipped == {"writer 2": "there is no letter q, z"}
    assert corpus.spec.static[0].classes == 1


def test_nobody_with_all_letters_is_an_error():
    drawings = [drawing for drawing in _drawings(["1"]) if drawing.letter != "x"]
    with pytest.raises(ValueError, match=r"no writer has .* writer 1: there is no letter x"):
        _store(drawings)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"no picture", "cannot identify image"),
        (_letter("a")[:90], "truncated"),
        (_png(np.full((9, 9), PAPER)), "the picture is empty"),
    ],
)
def test_a_broken_picture_is_skipped_and_named(data: bytes, reason: str):
    def read(name: str) -> bytes:
        return data if name == "1/k_0.png" else _letter(name)

    corpus = _spell(_store(_drawings(["1", "2"]), read))
    assert list(corpus.skipped) == ["1/k_0.png"]
    assert reason in corpus.skipped["1/k_0.png"]
    assert corpus.spec.static[0].classes == 2


def test_too_many_broken_pictures_stop_the_preparation():
    def read(name: str) -> bytes:
        return b"" if "_0" in name else _letter(name)

    with pytest.raises(ValueError, match=r"26 of 52 .* more than broken=0.1 allows: 1/a_0\.png"):
        _store(_drawings(["1"]), read)
    assert len(_store(_drawings(["1"]), read, broken=0.5).arrays["pictures"]) == 26


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"size": 8}, "size must be at least 16, got 8"),
        ({"jitter": -0.1}, r"jitter must lie between 0 and 1, got -0\.1"),
        ({"broken": 1.5}, r"broken must lie between 0 and 1, got 1\.5"),
        ({"test": 0.0}, "test must lie between 0 and 1"),
        ({"test": 0.6, "validation": 0.5}, "leave nothing to train on"),
        ({"seed": -1}, "seed must not be negative, got -1"),
    ],
)
def test_settings_are_checked(settings: dict[str, float], message: str):
    with pytest.raises(ValueError, match=message):
        WordsConfig(**settings)  # type: ignore[arg-type]

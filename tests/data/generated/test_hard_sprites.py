import numpy as np
import pytest
from numpy.typing import NDArray

from unbraid.data import Corpus, Split, load_data
from unbraid.data.generated.hard_sprites import (
    CAMERAS,
    LEVELS,
    OFF,
    STATIC,
    Config,
    draw_labels,
    draw_scenes,
    phases_of,
)
from unbraid.data.generated.poses import MOTIONS
from unbraid.data.generated.scenes import PHASES, paint
from unbraid.data.generated.sprites import deal_characters
from unbraid.evaluation.manipulate import Embedding
from unbraid.evaluation.protocols.separation import separate

SPLITS = ("train", "validation", "test")
SMALL = {"train": 40, "validation": 6, "test": 24}


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UNBRAID_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return load_data("hard-sprites", SMALL)


def drawn(count: int, *, biased: bool = False, **settings) -> dict[str, NDArray]:
    characters = deal_characters(0)["train"]
    rng = np.random.default_rng(5)
    return draw_labels(characters, count, Config(**settings), biased=biased, rng=rng)


def clean_scenes(labels: dict[str, NDArray]) -> NDArray[np.uint8]:
    """Paint without any nuisance."""
    config = Config(without=("shift", "light", "tint", "bar", "noise"))
    return paint(draw_scenes(labels, config, np.random.default_rng(0)), np.random.default_rng(0))


def test_splits_have_the_sizes_asked_for(corpus: Corpus):
    assert [len(corpus.split(name)) for name in SPLITS] == [40, 6, 24]
    assert corpus.train.x.shape == (70, 8, 3, 64, 64)
    assert corpus.train.x.dtype == np.uint8
    assert corpus.train.take([0, 3]).x.shape == (2, 8, 3, 64, 64)


def test_every_factor_is_a_label_within_its_classes(corpus: Corpus):
    for factor in (*corpus.spec.static, *corpus.spec.dynamic):
        labels = corpus.train.label(factor.name)
        assert labels.shape == ((40, 8) if factor.per_step else (40,))
        assert 0 <= labels.min() <= labels.max() < factor.classes == len(factor.values)


def test_no_label_looks_like_an_unknown_one(corpus: Corpus):
    assert all(corpus.train.label(name).min() >= 0 for name in corpus.train.labels)


def test_one_seed_gives_one_result_and_another_seed_another():
    labels = [drawn(3), drawn(3)]
    a, b = (clean_scenes(some) for some in labels)
    assert np.array_equal(a, b)
    sizes = {"train": 2, "validation": 1, "test": 1}
    x, y = (load_data("hard-sprites", sizes | {"seed": seed}).train for seed in (1, 2))
    assert not np.array_equal(x.x[:2], y.x[:2])


def test_a_split_does_not_depend_on_the_sizes_of_the_others(corpus: Corpus):
    other = load_data("hard-sprites", SMALL | {"train": 7, "validation": 2}).test
    assert np.array_equal(corpus.test.x[corpus.test.rows], other.x[other.rows])
    assert np.array_equal(corpus.test.label("motion"), other.label("motion"))


def test_it_is_painted_once_and_then_read(corpus: Corpus, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(
        "unbraid.data.generated.hard_sprites.paint", None
    )  # painting again would fail
    again = load_data("hard-sprites", SMALL)
    assert np.array_equal(again.test.x[again.test.rows], corpus.test.x[corpus.test.rows])


def test_characters_are_in_one_split_only(corpus: Corpus):
    characters = [set(corpus.split(name).label("character").tolist()) for name in SPLITS]
    assert sum(map(len, characters)) == len(set.union(*characters))


@pytest.mark.parametrize(("difficulty", "share"), [("medium", 0.625), ("hard", 0.85)])
def test_motion_follows_skin_in_training_only(difficulty, share):
    for biased, wanted in ((True, share), (False, 0.25)):
        labels = drawn(8000, biased=biased, difficulty=difficulty)
        follows = labels["motion"] // 2 == labels["skin"]
        assert follows.mean() == pytest.approx(wanted, abs=0.02)


def test_camera_follows_background_in_training_only():
    for biased, wanted in ((True, 0.6), (False, 0.2)):
        labels = drawn(8000, biased=biased)
        assert (labels["camera"] == labels["background"]).mean() == pytest.approx(wanted, abs=0.02)


def test_a_biased_training_set_has_every_motion_and_camera_equally_often():
    labels = drawn(8000, biased=True, difficulty="hard")
    for name, classes in (("motion", len(MOTIONS)), ("camera", len(CAMERAS))):
        shares = np.bincount(labels[name], minlength=classes) / 8000
        assert shares == pytest.approx(np.full(classes, 1 / classes), abs=0.02)


def test_speed_is_the_step_of_the_phase():
    labels = drawn(30)
    steps = np.diff(phases_of(labels, 8), axis=1) % PHASES
    assert np.array_equal(steps, np.repeat(labels["speed"][:, None] + 1, 7, axis=1))


def test_a_jump_is_at_its_peak_when_the_feet_are_off_the_ground():
    labels = drawn(64)
    jump = list(MOTIONS).index("jump")
    lifts = np.array([MOTIONS["jump"]((phase + 0.5) / PHASES).lift for phase in range(PHASES)])
    rows = labels["motion"] == jump
    assert rows.sum() > 3
    assert np.array_equal(labels["stage"][rows] == 1, lifts[phases_of(labels, 8)[rows]] > 0)


def test_the_camera_moves_the_background_its_way():
    labels = {k: v[:1] for k, v in drawn(1).items()}
    corner = (slice(None), slice(None), slice(0, 8), slice(0, 8))  # of a frame: no character
    by = {
        name: clean_scenes(labels | {"camera": np.array([number])})[0]
        for number, name in enumerate(CAMERAS)
    }
    assert (by["still"][1:][corner] == by["still"][:1][corner]).all()
    step = LEVELS["medium"].scroll
    right, down = by["right"], by["down"]
    assert np.array_equal(right[1][:, :8, : 8 - step], right[0][:, :8, step:8])
    assert np.array_equal(down[1][:, : 8 - step, :8], down[0][:, step:8, :8])


@pytest.mark.parametrize("name", ["skin", "style", "hair", "top", "trousers", "size", "background"])
def test_every_static_factor_shows_in_every_frame(name: str):
    labels = drawn(6)
    other = labels | {name: (labels[name] + 1) % 3}
    a, b = (clean_scenes(some).astype(int) for some in (labels, other))
    changed = (abs(a - b).max(axis=2) > 12).sum(axis=(2, 3))  # pixels, (N, T)
    assert (changed >= 8).all()


@pytest.mark.parametrize("name", [name for name in OFF if name != "correlation"])
def test_every_nuisance_shows_and_can_be_left_out(name):
    rest = tuple(other for other in OFF if other not in (name, "correlation"))
    pictures = []
    for off in (rest, (*rest, name)):
        labels, rng = drawn(12, difficulty="hard", without=off), np.random.default_rng(0)
        scenes = draw_scenes(labels, Config(difficulty="hard", without=off), rng)
        pictures.append(paint(scenes, rng).astype(int))
    assert abs(pictures[0] - pictures[1]).mean() > 0.5


def test_a_bar_hides_the_character():
    labels = drawn(40) | {"bar": np.ones(40, dtype=np.int64)}
    config = Config(without=("shift", "light", "tint", "noise"))
    scenes = draw_scenes(labels, config, np.random.default_rng(0))
    x = paint(scenes, np.random.default_rng(0))
    row, step = np.argwhere((scenes.bar > 20) & (scenes.bar < 40))[0]
    column = x[row, step, :, :, scenes.bar[row, step]]
    assert (column == column[:, :1]).all()


def test_long_sequences_repeat_the_motion():
    corpus = load_data("hard-sprites", {"length": 128, "train": 2, "validation": 1, "test": 1})
    assert corpus.train.x.shape == (4, 128, 3, 64, 64)
    assert corpus.spec.length == 128
    stage = corpus.train.label("stage")
    assert np.array_equal(stage[:, :16], stage[:, 16:32])


def test_hard_is_harder_in_every_strength():
    medium, hard = LEVELS["medium"], LEVELS["hard"]
    for name in type(medium).__dataclass_fields__:
        assert getattr(hard, name) > getattr(medium, name)


@pytest.mark.parametrize("length", [1, 129])
def test_a_length_out_of_range_is_refused(length: int):
    with pytest.raises(ValueError, match=f"length must be 2 to 128 frames, got {length}"):
        Config(length=length)


def test_a_misspelt_nuisance_is_refused():
    with pytest.raises(ValueError, match="without"):
        load_data("hard-sprites", {"without": ["bars"]})


def test_an_empty_split_is_refused():
    with pytest.raises(ValueError, match="test must be at least 1, got 0"):
        Config(test=0)


@pytest.mark.slow
def test_codes_that_hold_the_truth_are_separated():
    count, rng = 600, np.random.default_rng(0)
    labels = drawn(count)
    static = [np.eye(len(values))[labels[name]] for name, values in STATIC.items()]
    angle = 2 * np.pi * phases_of(labels, 8)[..., None] / PHASES
    motion = np.eye(len(MOTIONS))[labels["motion"]][:, None]
    ways = np.array(list(CAMERAS.values()))[labels["camera"]][:, None] * np.ones((8, 1))
    d = [motion * np.cos(angle), motion * np.sin(angle), ways * np.arange(8)[:, None] / 8]
    s, d = (np.concatenate(parts, axis=-1) for parts in (static, d))
    s, d = (a + 0.05 * rng.standard_normal(a.shape) for a in (s, d))
    codes = Embedding(s.astype(np.float32), d.astype(np.float32), np.ones((count, 8), dtype=bool))
    spec = load_data("hard-sprites", SMALL).spec
    split = Split(spec=spec, x=np.zeros((count, 1)), rows=np.arange(count), labels=labels)
    assert separate(codes, split).separation > 0.9

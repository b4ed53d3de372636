"""The examples of docs/data.md that bring data from other libraries run as they stand."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unbraid
from tests.conformance.toys import toy_method
from unbraid.data.corpus import Corpus, Split
from unbraid.data.readers.ts import read_ts

TEXT = (Path(__file__).parents[1] / "docs" / "data.md").read_text()
BLOCKS = re.findall(
    r"```python\n(.*?)```",
    TEXT.split("<!-- open data -->")[1].split("<!-- end of open data -->")[0],
    re.DOTALL,
)
COUNT, STEPS = 12, 10
HEADER = "#c\n@problemName gait\n@classLabel true a b\n@data\n"


@pytest.fixture
def names(tmp_path) -> dict[str, Any]:
    draws = np.random.default_rng(0)
    method = toy_method("dsvae", "series").eval()
    x = draws.random((4, 5, *method.spec.frame), dtype=np.float32)
    who = [f"p{i}" for i in range(COUNT)]
    return {
        "sequences": [draws.normal(size=(STEPS, 2)).astype(np.float32) for _ in range(COUNT)],
        "who": who,
        "long_who": np.repeat(who, STEPS),
        "long_time": np.tile(np.arange(STEPS), COUNT),
        "long_value": draws.normal(size=COUNT * STEPS),
        "folder": tmp_path,
        "lines": "\n".join(f"1,2,{i},?:4,{i},6,7:{'ab'[i % 2]}" for i in range(COUNT)),
        "model": method,
        "split": Split(
            spec=method.spec, x=x, rows=np.array([3, 1]), lengths=np.array([5, 2, 5, 4])
        ),
    }


def _sounds(folder: Path) -> list[str]:
    """Recordings of 0.55 s, of which a segment of 0.5 s can be cut."""
    soundfile = pytest.importorskip("soundfile", reason="needs the extra audio")
    draws = np.random.default_rng(0)
    for i in range(COUNT):
        soundfile.write(folder / f"{i}.wav", 0.1 * draws.normal(size=8800), 16000)
    return [str(folder / f"{i}.wav") for i in range(COUNT)]


def _videos(folder: Path) -> list[str]:
    pytest.importorskip("av", reason="needs the extra video")
    from tests.data.readers.films import numbered, write_video

    return [str(write_video(folder / f"{i}.mkv", numbered(8))) for i in range(COUNT)]


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.split("\n")[0][2:40])
def test_an_example_of_the_docs_runs(block, names):
    for library in ("datasets", "polars", "pandas"):
        if f"import {library}" in block:
            pytest.importorskip(library, reason=f"{library} is not installed")
    if "wav_files" in block:
        names["wav_files"] = _sounds(names["folder"])
    if "video_files" in block:
        names["video_files"] = _videos(names["folder"])
    exec(compile(block, "docs/data.md", "exec"), names)
    if "corpus" in names:
        corpus = names["corpus"]
        assert isinstance(corpus, Corpus)
        assert sum(len(corpus.split(part)) for part in ("train", "validation", "test")) == COUNT
    else:
        sequences, steps = names["sequences_frame"], names["steps_frame"]
        assert sequences["id"].tolist() == [3, 1]
        assert steps.groupby("id").size().to_dict() == {1: 2, 3: 4}
        assert list(steps.columns[:3]) == ["id", "step", "d_0"]


def test_a_ts_file_has_channels_missing_values_and_classes(tmp_path):
    file = tmp_path / "gait.ts"
    file.write_text(HEADER + "1,?,3:4,5:a\n6:7:b\n")
    x, labels = read_ts(file)
    assert labels == ["a", "b"]
    assert np.array_equal(x[0], [[1, 4], [np.nan, 5], [3, np.nan]], equal_nan=True)
    assert x[1].tolist() == [[6, 7]]


def test_train_and_test_files_of_the_archive_are_splits(tmp_path):
    rows = "\n".join(f"1,{i},3,4:a" for i in range(6))
    (tmp_path / "gait_TRAIN.ts").write_text(HEADER + rows)
    (tmp_path / "gait_TEST.ts").write_text(HEADER + rows[: rows.index("\n")])
    corpus = unbraid.load_data(str(tmp_path / "gait_TRAIN.ts"))
    assert len(corpus.test) == 1
    assert corpus.spec.name == "gait"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("1,2", "has @data before"),
        ("@data\n", "no sequences"),
        ("@data\n1,x", "line 2"),
        ("@timestamps true\n@data\n(0,1)", "time stamp at every value"),
    ],
)
def test_a_wrong_ts_file_is_refused_with_a_sentence(text, sentence, tmp_path):
    (tmp_path / "x.ts").write_text(text)
    with pytest.raises(ValueError, match=sentence):
        read_ts(tmp_path / "x.ts")


def test_items_without_a_sequence_or_with_other_labels_are_refused():
    x = np.zeros((4, 2))
    with pytest.raises(ValueError, match="must have its sequence under 'x'"):
        unbraid.from_torch([{"y": x}])
    with pytest.raises(ValueError, match="items have 1 labels, got 2 names"):
        unbraid.from_torch([(x, 1)], labels=("a", "b"))
    with pytest.raises(ValueError, match="holds no sequences"):
        unbraid.from_torch([])

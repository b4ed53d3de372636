"""Malformed inputs of every kind: a case writes files into a folder and says what to run there."""

import io
import json
import struct
import wave
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st
from PIL import Image

from tests.torture.jobs import COMPARISON, RUN, SMALL, sets
from unbraid.data.generated.series import Config as DataConfig
from unbraid.methods import METHODS
from unbraid.runs.config import TrainingConfig
from unbraid.settings import as_table, flat


@dataclass(frozen=True)
class Case:
    """One malformed input."""

    about: str
    write: Callable[[Path], list[Any]]  # into a folder, or of a run; returns words
    lenient: bool = False  # what is left of the file may happen to be readable

    def __repr__(self) -> str:
        return self.about


def _fit(path: str) -> list[Any]:
    return ["fit", path, "-m", "dsvae", "--out", "runs", *sets(*SMALL)]


def _file(name: str, content: bytes, *, lenient: bool = False) -> Case:
    """Return the case of one file of data."""

    def write(folder: Path) -> list[Any]:
        (folder / name).write_bytes(content)
        return _fit(name)

    return Case(f"{name}: {content[:40]!r} ({len(content)} bytes)", write, lenient)


def _x(shape: tuple[int, ...] = (12, 8, 2)) -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


def npz(**arrays: Any) -> bytes:
    """Return the bytes of an archive of arrays, pickled ones among them."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def npz_with_header(header: str) -> bytes:
    """Return an archive whose only array has a header and nothing else."""
    text = header.encode() + b" " * (-(len(header) + 11) % 64) + b"\n"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("x.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text)
    return buffer.getvalue()


HEADERS = [
    f"{{'descr': '{kind}', 'fortran_order': {order}, 'shape': {shape}, }}"
    for kind in ("<f8", "|O", "<U99999999", "V7", "zz")
    for order in ("False", "3")
    for shape in ("(500000000000000, 8, 1)", "(-1, 8)", "()", "(1e9,)", "'x'", "(2, 3, 4)")
]
WRONG_ARRAYS: list[dict[str, Any]] = [
    {"y": _x()}, {"x": _x(())}, {"x": _x((5,))}, {"x": _x((5, 4))}, {"x": _x((2, 2, 2, 2, 2, 2))},
    {"x": np.zeros((0, 4, 2))}, {"x": np.zeros((4, 0, 2))}, {"x": np.full((9, 4, 2), np.nan)},
    {"x": np.full((9, 4, 2), np.inf)}, {"x": np.ones((9, 4, 2))}, {"x": _x((9, 1, 2))},
    {"x": _x() + 1j}, {"x": np.array([["a", "b"]])}, {"x": np.array([{"a": 1}, None])},
    {"x": _x((2, 8, 2))}, {"x": _x((9, 4, 3, 8, 8)) * 99}, {"x": _x(), "lengths": np.arange(3)},
    {"x": _x(), "lengths": np.zeros(12, int)}, {"x": _x(), "lengths": np.full(12, 99)},
    {"x": _x(), "lengths": np.full(12, 1.5)}, {"x": _x(), "observed": np.ones((3, 3), bool)},
    {"x": _x(), "observed": np.zeros((12, 8, 2), bool)}, {"x": _x(), "who": np.arange(5)},
    {"x": _x(), "who": np.zeros((12, 3, 3))}, {"x": _x(), "split": np.array(["train"] * 12)},
    {"x": _x(), "split": np.array(["other"] * 12)}, {"x": np.full((9, 4, 2), "7")},
    {"x": np.zeros((9, 4, 2), "M8[s]")}, {"x": np.full((9, 4, 2), 1e300)},
]  # fmt: skip


def _cut(content: bytes, share: float) -> bytes:
    return content[: int(share * len(content))]


shares = st.floats(0.0, 0.97)
junk = st.binary(min_size=0, max_size=400)
arrays = st.one_of(
    junk.map(lambda b: _file("a.npz", b)),
    junk.map(lambda b: _file("a.npy", b)),
    junk.map(lambda b: _file("a.npy", b"\x93NUMPY\x01\x00" + b)),
    shares.map(lambda s: _file("a.npz", _cut(npz(x=_x()), s))),
    st.sampled_from(HEADERS).map(lambda h: _file("a.npz", npz_with_header(h))),
    st.sampled_from(WRONG_ARRAYS).map(lambda a: _file("a.npz", npz(**a))),
)

WORDS = [
    "a",
    "b",
    "",
    "1",
    "2.5",
    "nan",
    "inf",
    "-",
    '"',
    "2020-01-01",
    "\x00",
    "é",
    "1e999",
    "x,y",
]


def _table(rows: list[list[str]]) -> bytes:
    return "\n".join(",".join(row) for row in rows).encode()


tables = st.one_of(
    junk.map(lambda b: _file("t.parquet", b)),
    junk.map(lambda b: _file("t.parquet", b"PAR1" + b + b"PAR1")),
    st.binary(min_size=1, max_size=300).map(lambda b: _file("t.csv", b"\xff\xfe" + b)),
    st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=4), max_size=6).map(
        lambda rows: _file("t.csv", _table(rows))
    ),
    st.integers(0, 2).map(lambda n: _file("t.tsv", b"a\tb\n" + n * b"1\t2\n")),
    st.integers(20_001, 60_000).map(
        lambda n: _file("t.csv", _table([[f"c{i}" for i in range(n)], ["1"] * n]))
    ),
)


def _sound(frames: int) -> bytes:
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16000)
        file.writeframes(bytes(2 * frames))
    return buffer.getvalue()


def _picture(kind: str) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (16, 16), (9, 8, 7)).save(buffer, kind)
    return buffer.getvalue()


sounds = st.one_of(
    st.tuples(st.sampled_from(["wav", "flac", "ogg", "mp3"]), junk).map(
        lambda pair: _file(f"s.{pair[0]}", pair[1])
    ),
    st.integers(0, 500).map(lambda n: _file("s.wav", _sound(n))),
    st.integers(0, 40).map(lambda n: _file("s.wav", _sound(9000)[:n])),
    junk.map(lambda b: _file("s.wav", b"RIFF\xff\xff\xff\xffWAVEfmt " + b)),
)
videos = st.one_of(
    st.tuples(st.sampled_from(["mp4", "avi", "mov", "mkv", "webm", "gif", "mpg"]), junk).map(
        lambda pair: _file(f"v.{pair[0]}", pair[1])
    ),
    st.tuples(st.sampled_from(["PNG", "GIF", "BMP", "JPEG"]), shares).map(
        lambda pair: _file(
            f"v.{pair[0].lower().replace('jpeg', 'jpg')}", _cut(_picture(pair[0]), pair[1])
        )
    ),
    st.integers(0, 7).map(lambda n: _file("v.gif", b"GIF89a\xff\xff\xff\xff"[: 6 + n])),
)


def _folder(names: list[tuple[str, bytes]]) -> Case:
    def write(folder: Path) -> list[Any]:
        (folder / "many").mkdir()
        for name, content in names:
            path = folder / "many" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return _fit("many")

    return Case(f"folder of {[name for name, _ in names]}", write)


file_names = st.sampled_from(
    ["a.wav", "b.wav", "c/a.wav", "a.mp4", "x.png", "d/1.png", "d/2.png", "t.csv", "u.csv",
     "labels.csv", ".hidden.wav", "notes.txt", "a[/b].csv", "\x1b[2J.wav", "..csv", "é.png"]
)  # fmt: skip
folders = st.lists(st.tuples(file_names, junk), max_size=6).map(_folder)

KNOWN = {
    f"{method}:{name}": value
    for method, cls in METHODS.items()
    for name, value in [
        *flat(as_table(cls.Config()), "method."),
        *flat(as_table(TrainingConfig()), "training."),
        *flat(as_table(DataConfig()), "data."),
    ]
}
BAD: dict[type, list[str]] = {
    bool: ["3", '"x"', "[true]", "{ a = 1 }"],
    int: ["1.5", '"x"', "nan", "[1]", "true", "1979-05-27", "{ a = 1 }", "[" * 500],
    float: ['"x"', "nan", "inf", "-inf", "[1.0]", "true", "1979-05-27", "{ a = 1 }"],
    str: ["3", "nan", "[1]", "true", "{ a = 1 }"],
    list: ["3", '"x"', "[[[1]]]", "[{ a = 1 }]", "[nan]", "true"],
}


def _setting(pair: tuple[str, int, bool]) -> Case:
    (key, draw, misspelt), method = pair, pair[0].partition(":")[0]
    name, options = key.partition(":")[2], BAD[type(KNOWN[key])]
    word = f"{name}{'x' if misspelt else ''}={options[draw % len(options)]}"
    words = ["fit", "toy-series", "-m", method, "--out", "runs", "--set", word]
    return Case(f"{method} --set {word}", lambda folder: words)


settings = st.tuples(st.sampled_from(sorted(KNOWN)), st.integers(0, 7), st.booleans()).map(_setting)
OPTIONS: list[list[Any]] = [
    ["fit", "toy-series", "--max-minutes", "nan"], ["fit", "toy-series", "--max-minutes", "-1"],
    ["fit", "toy-series", "--device", "meta"], ["fit", "toy-series", "--seed", "-1"],
    ["fit", "toy-series", "--preset", "../../etc"], ["fit", "toy-series", "--preset", "x.toml"],
    ["fit", "toy-series", "-m", "../dbse"], ["fit", "../../../none"], ["fit", ""],
    ["fit", "\x1b[2J"],
    ["fit", "toy-series", "--set", "data.train=1000000000000"], ["fit", "a[/b].csv"],
    ["fit", "toy-series", "--set", "method.static_dim=1000000000"], ["fit", "--resume", "none"],
    ["fit", "toy-series", "--set", "method=3"], ["fit", "toy-series", "--set", "=3"],
    ["fit", "toy-series", "--set", "a..b=3"], ["fit", "toy-series", "--devices", "0"],
    ["evaluate", "none"], ["report", "none", "other"], ["encode", "none"], ["diagnose", "none"],
    ["reproduce", "none"], ["reproduce", "none.toml"], ["tune", "none"],
    ["tune", "toy-series", "--trials", "0"], ["tune", "toy-series", "--max-minutes", "nan"],
    ["judge", "fit", "none"], ["judge", "score", "none", "--judge", "none"],
    ["data", "prepare", "none"], ["data", "preview", "none"], ["sample", "none"], ["swap", "none"],
    ["--precision", "fp8", "data", "list"], ["methods", "none"],
]  # fmt: skip
options = st.sampled_from(OPTIONS).map(lambda words: Case(str(words), lambda folder: words))

USES: list[list[Any]] = [
    ["evaluate", RUN], ["encode", RUN], ["sample", RUN], ["swap", RUN], ["diagnose", RUN],
    ["report", RUN],
]  # fmt: skip
CHECKED = ("format", "method", "config", "spec")  # of model.json
WRONG = [None, "x", -1, [], {"wrong": 1}, 1e308, True, [[[[1]]]], {"a": {"b": 2}}]


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, dict):
        leaves = [leaf for key in value for leaf in _leaves(value[key], (*path, key))]
        return [*([path] if path else []), *leaves]
    return [path]


def _changed(name: str, place: int, wrong: int, use: int) -> Case:
    """Replace one value of a JSON file of a run by one of another type."""

    def write(folder: Path) -> list[Any]:
        file = folder / RUN / name
        about = json.loads(file.read_text())
        about.get("training", {}).pop("notes", None)
        leaves = [leaf for leaf in _leaves(about) if leaf[0] in CHECKED]
        *way, last = leaves[place % len(leaves)]
        inner = about
        for key in way:
            inner = inner[key]
        others = [w for w in WRONG if type(w) not in (type(inner[last]), int, float, type(None))]
        inner[last] = others[wrong % len(others)]
        file.write_text(json.dumps(about))
        return USES[use % len(USES)]

    return Case(f"{name}, value {place} by {wrong}, use {use}", write)


def _broken(name: str, content: Callable[[bytes], bytes], words: list[Any], about: str) -> Case:
    def write(folder: Path) -> list[Any]:
        file = folder / RUN / name
        file.write_bytes(content(file.read_bytes()))
        return words

    return Case(f"{name}: {about}, {words[:2]}", write)


LONGER = ["fit", "--resume", RUN, "--set", "training.steps=9"]
CHECKPOINT = "checkpoints/last.safetensors"
uses = st.sampled_from(USES)
models = st.one_of(
    st.builds(
        _changed, st.just("model.json"), st.integers(0, 200), st.integers(0, 9), st.integers(0, 9)
    ),
    st.tuples(shares, uses).map(
        lambda p: _broken("model.json", lambda b: _cut(b, p[0]), p[1], f"cut to {p[0]}")
    ),
    st.tuples(shares, uses).map(
        lambda p: _broken("model.safetensors", lambda b: _cut(b, p[0]), p[1], f"cut to {p[0]}")
    ),
    st.tuples(st.binary(min_size=8, max_size=8), uses).map(
        lambda p: _broken(
            "model.safetensors", lambda b: p[0] + b"{" + b[9:], p[1], f"begins with {p[0]!r}"
        )
    ),
    st.integers(1000, 200_000).map(
        lambda n: _broken("model.json", lambda b: b"[" * n + b"]" * n, USES[0], f"{n} deep")
    ),
)
TOML_LINES = ['data = 3', "seed = 1.5", "seed = true", "method = []", 'method = "none"',
              "preset = 3", "data = [1]", "seed = nan", 'method = "../x"']  # fmt: skip
SECTIONS = ["training = 3", "method = [1]", "data = 'x'", "run = 5", "[[training]]", "nonsense",
            "[training]\nsteps = 'x'", "[method]\nstatic_dim = -3", "[other]\na = 1"]  # fmt: skip


def _config(text: str, lines: list[str], *, inside: bool) -> str:
    """Return a config.toml with a line of [run] replaced, or with a section that is wrong."""
    if not inside:
        name = lines[0].strip("[").partition(" ")[0].partition("]")[0]
        head, _, rest = text.partition(f"[{name}]")
        body = "" if name not in text else rest.partition("\n[")[2]
        first = lines[0] if not lines[0].startswith("[") else ""
        last = lines[0] if lines[0].startswith("[") else ""
        return f"{first}\n{head}\n{'[' + body if body else ''}\n{last}\n"
    name = lines[0].partition(" ")[0]
    others = [line for line in text.splitlines() if not line.startswith(f"{name} = ")]
    at = others.index("[run]") + 1
    return "\n".join([*others[:at], lines[0], *others[at:]])


runs = st.one_of(
    st.tuples(st.sampled_from(TOML_LINES), st.sampled_from([*USES, LONGER])).map(
        lambda p: _broken(
            "config.toml", lambda b: _config(b.decode(), [p[0]], inside=True).encode(), p[1], p[0]
        )
    ),
    st.tuples(st.sampled_from(SECTIONS), st.sampled_from([*USES, LONGER])).map(
        lambda p: _broken(
            "config.toml", lambda b: _config(b.decode(), [p[0]], inside=False).encode(), p[1], p[0]
        )
    ),
    st.binary(min_size=1, max_size=60).map(
        lambda b: _broken("config.toml", lambda _: b"\xff" + b, LONGER, "bytes")
    ),
    shares.map(lambda s: _broken(CHECKPOINT, lambda b: _cut(b, s), LONGER, f"cut to {s}")),
    junk.map(lambda j: _broken(CHECKPOINT, lambda _: j, LONGER, "junk")),
    shares.map(lambda s: _broken("splits.json", lambda b: _cut(b, s), LONGER, f"cut to {s}")),
    st.sampled_from([b"[]", b"3", b'{"train": 3}', b"null"]).map(
        lambda j: _broken("splits.json", lambda _: j, LONGER, str(j))
    ),
    st.sampled_from([b"a,b\n1,2\n", b"step\nx\n", b"\x00\x00\n\x00\n", b"\xff\xff\n1\n"]).map(
        lambda j: _broken("log.csv", lambda _: j, LONGER, str(j))
    ),
)


def _own(name: str, text: str, words: list[Any]) -> Case:
    def write(folder: Path) -> list[Any]:
        (folder / name).write_text(text)
        return words

    return Case(f"{name}: {text[-50:]!r}", write)


LINES = COMPARISON.strip().splitlines()
BAD_LINES = ["seeds = -1", "seeds = 'x'", "epochs = nan", "data = 3", "data = '../none'",
             "rows = 3", "rows = [{ name = '../evil', label = 'x', method = 'dsvae' }]",
             "rows = [{ name = 'a' }]", "metrics = [{ name = 'x' }]", "metrics = 'x'", "paper = 3",
             "rows = [{ name = 'a', label = 'b', method = 'none' }]", "sets = ['x']", "repeats = 0",
             "sets = ['data.train=nan']", "other = 1", "title = []", "judge = 3"]  # fmt: skip


def _comparison(line: str) -> Case:
    name = line.partition(" ")[0]
    joined = "\n".join(LINES).replace(",\n        ", ", ").splitlines()
    others = [old for old in joined if not old.startswith(f"{name} ")]
    return _own("own.toml", "\n".join([*others, line]), ["reproduce", "own.toml", "--out", "made"])


PRESET = ["fit", "toy-series", "-m", "dsvae", "--preset", "own.toml", "--out", "runs"]
comparisons = st.one_of(
    st.sampled_from(BAD_LINES).map(_comparison),
    st.sampled_from(LINES[:6]).map(
        lambda line: _own(
            "own.toml", COMPARISON.replace(line, ""), ["reproduce", "own.toml", "--out", "made"]
        )
    ),
    st.sampled_from(SECTIONS).map(lambda line: _own("own.toml", line, PRESET)),
    st.tuples(st.sampled_from(["training.steps", "method.static_dim"]), st.integers(0, 7)).map(
        lambda p: _own(
            "own.toml", f"[{p[0].split('.')[0]}]\n{p[0].split('.')[1]} = {BAD[int][p[1]]}\n", PRESET
        )
    ),
    st.text(max_size=40).map(lambda t: _own("own.toml", f"{t} = = [", PRESET)),
)  # fmt: skip

FAMILIES: dict[str, tuple[Any, int]] = {
    "arrays": (arrays, 140),
    "tables": (tables, 90),
    "sounds": (sounds, 70),
    "videos": (videos, 70),
    "folders": (folders, 50),
    "settings": (settings, 220),
    "options": (options, len(OPTIONS)),
    "models": (models, 130),
    "run folders": (runs, 110),
    "presets and comparisons": (comparisons, 60),
}

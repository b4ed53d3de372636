"""Settings are frozen dataclasses; here tables and command-line words become them.

Resolution order, later wins: defaults of the dataclass < preset file < `--set a.b=c`.
"""

import dataclasses
import difflib
import math
import re
import tomllib
import types
import typing
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from unbraid.files import read_text

C = TypeVar("C")
Table = dict[str, Any]
_SHORT_FLOAT = re.compile(r"[+-]?(\d+\.|\.\d+)(e[+-]?\d+)?", re.I)  # no TOML: .05 and 1.
_WORD = r"[^][{}\"',\s][^][{}\"',]*"
_WORD_LIST = re.compile(rf"\[\s*({_WORD}(?:,\s*{_WORD})*),?\s*\]")  # [a, b] without quotes


def build(cls: type[C], table: Mapping[str, Any], *, where: str) -> C:
    """Return `cls(**table)` with every name and type checked.

    Args:
        cls: a frozen settings dataclass; nested dataclasses take nested tables.
        table: plain values as TOML, JSON or `--set` give them.
        where: where the values come from, the first words of an error.
    """
    hints = typing.get_type_hints(cls)
    names = [field.name for field in dataclasses.fields(cls)]  # type: ignore[arg-type]
    values = {}
    for key, value in table.items():
        if key not in names:
            raise KeyError(f"{where}: {_no_such(cls.__name__, key, names)}")
        values[key] = _coerce(value, hints[key], f"{where}: {key}")
    try:
        return cls(**values)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def at_least(settings: Any, limit: int, *names: str) -> None:
    """Raise `ValueError` unless these settings are `limit` or more; for `__post_init__`."""
    for name in names:
        value = getattr(settings, name)
        if value < limit:
            wanted = "must not be negative" if limit == 0 else f"must be at least {limit}"
            raise ValueError(f"{name} {wanted}, got {value}.")


def all_finite(settings: Any) -> None:
    """Raise `ValueError` if a number is NaN or infinite; for `__post_init__`."""
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"{field.name} must be a finite number, got {value}.")


def proper_share(settings: Any, *names: str) -> None:
    """Raise `ValueError` unless these settings lie between 0 and 1; for `__post_init__`."""
    for name in names:
        value = getattr(settings, name)
        if not 0 < value < 1:
            raise ValueError(f"{name} must lie between 0 and 1, got {value}.")


def share_below_one(settings: Any, *names: str) -> None:
    """Raise `ValueError` unless these settings are 0 or more and below 1; for `__post_init__`."""
    for name in names:
        value = getattr(settings, name)
        if not 0 <= value < 1:
            raise ValueError(f"{name} must be at least 0 and below 1, got {value}.")


def flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the leaves of a nested table by their dotted names.

    >>> list(flat({"split": {"by": "who"}, "window": 4}))
    [('split.by', 'who'), ('window', 4)]
    """
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def closest(word: str, names: Iterable[str]) -> str:
    """Return ` Did you mean 'x'?` or, without a near name, the list of them."""
    names = sorted(names)
    near = difflib.get_close_matches(word, names, n=1)
    return f" Did you mean '{near[0]}'?" if near else f" There is: {', '.join(names)}."


def _no_such(owner: str, key: str, names: list[str]) -> str:
    return f"{owner} has no setting '{key}'.{closest(key, names)}"


def _coerce(value: Any, hint: Any, where: str) -> Any:
    """Return `value` as `hint` wants it, or say what was wanted and what came."""
    origin, options = typing.get_origin(hint), typing.get_args(hint)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return _coerce_table(value, hint, where)
    if origin is typing.Literal:
        near = "" if value in options else closest(str(value), map(str, options))
        _want(value in options, where, f"one of {', '.join(map(str, options))}", value, near)
        return value
    if origin is tuple:
        example = {int: "[64, 128]", float: "[0.5, 1.0]", str: '["a", "b"]'}.get(options[0])
        wanted = f"a list, e.g. {example}" if example else "a list of tables"
        _want(isinstance(value, list | tuple), where, wanted, value)
        return tuple(_coerce(part, options[0], where) for part in value)
    if origin in (types.UnionType, typing.Union):
        return _coerce_union(value, options, where)
    return _coerce_plain(value, hint, where)


def _coerce_plain(value: Any, hint: Any, where: str) -> Any:
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    is_right = isinstance(value, hint) and (hint is bool or not isinstance(value, bool))
    words = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
    _want(is_right, where, words[hint], value)
    if isinstance(value, float) and not math.isfinite(value):  # as a budget NaN would be no limit
        raise ValueError(f"{where} must be a finite number, got {value}.")
    return value


def _coerce_table(value: Any, hint: type[C], where: str) -> C:
    if isinstance(value, hint):
        return value
    _want(isinstance(value, Mapping), where, "a table", value)
    return build(hint, value, where=where)


def _coerce_union(value: Any, options: tuple[Any, ...], where: str) -> Any:
    if value is None or (value == "none" and type(None) in options):
        return None
    kinds = [option for option in options if option is not type(None)]
    return _coerce(value, kinds[0], where)


def _want(ok: bool, where: str, wanted: str, value: Any, hint: str = "") -> None:
    if not ok:
        raise ValueError(f"{where} must be {wanted}, got {value!r}.{hint}")


def parse_sets(words: Iterable[str]) -> Table:
    """Return the nested table of `a.b=c` words; values are read as TOML, else as plain text.

    Words of a list need no quotes, which a shell would take away.

    >>> parse_sets(["method.static_dim=64", "method.net.channels=[8, 16]", "method.anchor=last"])
    {'method': {'static_dim': 64, 'net': {'channels': [8, 16]}, 'anchor': 'last'}}
    >>> parse_sets(["method.w_nce=.05", "data.labels=[ward, died]"])
    {'method': {'w_nce': 0.05}, 'data': {'labels': ['ward', 'died']}}
    """
    table: Table = {}
    for word in words:
        path, equals, text = word.partition("=")
        keys = path.strip().split(".")
        if not equals or not all(keys):
            raise ValueError(f"--set wants section.name=value, got {word!r}.")
        inner: Table = {keys[-1]: _parse_value(text.strip())}
        for key in reversed(keys[:-1]):
            inner = {key: inner}
        table = merge(table, inner)
    return table


def _parse_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        if words := _WORD_LIST.fullmatch(text):
            return [_parse_value(word.strip()) for word in words[1].split(",")]
        return float(text) if _SHORT_FLOAT.fullmatch(text) else text


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> Table:
    """Return `base` with the leaves of `over` put in; neither is changed.

    >>> merge({"a": {"b": 1, "c": 2}}, {"a": {"b": 3}})
    {'a': {'b': 3, 'c': 2}}
    """
    merged = dict(base)
    for key, value in over.items():
        old = merged.get(key)
        nested = isinstance(old, Mapping) and isinstance(value, Mapping)
        merged[key] = merge(old, value) if nested else value  # type: ignore[arg-type]
    return merged


def read_toml(path: Path) -> Table:
    """Return the table of a TOML file, or say which file is broken and where."""
    try:
        return tomllib.loads(read_text(path))
    except FileNotFoundError:
        raise ValueError(f"there is no file {path}.") from None
    except RecursionError:
        raise ValueError(f"{path} is not valid TOML: it is nested too deeply.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not valid TOML: {error}.") from None


def as_table(settings: Any) -> Table:
    """Return a settings dataclass as plain nested values, `None` left out (TOML has none)."""
    table = {}
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if dataclasses.is_dataclass(value):
            value = as_table(value)
        if value is not None:
            table[field.name] = list(value) if isinstance(value, tuple) else value
    return table

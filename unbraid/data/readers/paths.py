"""Labels of people's own files: from their names and folders, or from a table beside them."""

import csv
import re
from collections.abc import Sequence
from pathlib import Path

LABEL_TABLE = "labels.csv"
SPLIT_WORDS = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("validation", "valid", "val", "dev"), "validation"),
    **dict.fromkeys(("test", "testing"), "test"),
}
Labels = dict[str, list[str]]

_TOKENS = re.compile(r"\{(\w*)\}|(\*\*)|(\*)|(\?)")


def file_labels(paths: Sequence[Path], root: Path, pattern: str) -> Labels:
    """Return the labels that paths and the table `labels.csv` tell; the table has the last word."""
    return path_labels(paths, root, pattern) | read_label_table(root, paths)


def path_labels(paths: Sequence[Path], root: Path, pattern: str) -> Labels:
    """Return the labels that the paths tell, one word for each file.

    `name`, the path below `root`, is always there. `split` is if the files lie in folders train,
    validation (or valid, val, dev) and test of `root`. Without a pattern the folder of a file is
    its label `folder`, if there are two folders at least.

    Args:
        paths: the files.
        root: the folder they lie in, at any depth.
        pattern: what the path below `root` looks like, with or without its suffix, for example
            `{speaker}/{chapter}/*` or `{person}_{action}_*.mp4`. `{label}` takes as little as it
            can, `*` is any text within a folder's or file's name, `**` any text, `?` one letter.
            A label named twice must read the same twice. Files that do not match are unlabelled.

    Raises:
        ValueError: the pattern is none, or no file matches. One file alone need not match: it may
            lie elsewhere, to be encoded by a model that was trained on the others.
    """
    names = [path.relative_to(root).as_posix() for path in paths]
    words = [
        SPLIT_WORDS.get(name.split("/")[0].lower(), "") if "/" in name else "" for name in names
    ]
    labels: Labels = {"name": names}
    if {"train", "test"} <= set(words) or (words and all(words)):
        labels["split"] = words
    if pattern:
        return labels | _matched(names, pattern)
    skip = 1 if "split" in labels else 0  # the folder of a split is no label
    folders = ["/".join(name.split("/")[skip:-1]) for name in names]
    if len(set(folders) - {""}) > 1:
        labels["folder"] = folders
    return labels


def read_label_table(root: Path, paths: Sequence[Path]) -> Labels:
    """Return the labels of `labels.csv` in `root`, one word for each file; none without the table.

    The table has a column `file`, the path below `root`, and a column for each label. Files that it
    does not name are unlabelled.

    Raises:
        ValueError: it cannot be read, or it names a file that is not there.
    """
    table = root / LABEL_TABLE
    if not table.is_file():
        return {}
    rows = _read_rows(table)
    known = {path.relative_to(root).as_posix(): place for place, path in enumerate(paths)}
    lost = [name for name in rows if name not in known and not (root / name).exists()]
    if lost:
        names = ", ".join(lost[:5]) + (", ..." if len(lost) > 5 else "")
        raise ValueError(
            f"{table} names {len(lost)} of {len(rows)} files that are not in {root}: {names}. "
            "The column 'file' must be the path below that folder, with its suffix."
        )
    columns = next(iter(rows.values()), {}).keys()
    labels: Labels = {column: [""] * len(paths) for column in columns}
    for name, row in rows.items():
        if name in known:
            for column, word in row.items():
                labels[column][known[name]] = word
    if "split" in labels:
        labels["split"] = [SPLIT_WORDS.get(word.lower(), word) for word in labels["split"]]
    return labels


def _matched(names: Sequence[str], pattern: str) -> Labels:
    """Return the labels of a pattern; unlabelled where it does not match."""
    rule, fields = _compile(pattern)
    matches = [rule.fullmatch(_stem(name)) or rule.fullmatch(name) for name in names]
    if len(names) > 1 and not any(matches):
        raise ValueError(
            f"pattern {pattern!r} matches none of {len(names)} files, e.g. {names[0]!r}. It must "
            "describe the whole path below the folder, such as '{speaker}/*'."
        )
    labels = {field: [hit[field] if hit else "" for hit in matches] for field in fields}
    if "split" in labels:
        labels["split"] = [SPLIT_WORDS.get(word.lower(), word) for word in labels["split"]]
    return labels


def _stem(name: str) -> str:
    """Return a path without its suffix.

    >>> _stem("a.b/c.d.wav"), _stem("a.b/c")
    ('a.b/c.d', 'a.b/c')
    """
    return re.sub(r"(?<=[^/])\.[^./]*$", "", name)


def _compile(pattern: str) -> tuple[re.Pattern[str], list[str]]:
    """Return the pattern as a regular expression, and the labels it has."""
    parts, fields, end = [], list[str](), 0
    for token in _TOKENS.finditer(pattern):
        parts.append(re.escape(pattern[end : token.start()]))
        end = token.end()
        if not token[0].startswith("{"):
            parts.append({"**": ".*?", "*": "[^/]*", "?": "[^/]"}[token[0]])
        elif token[1] in fields:
            parts.append(f"(?P={token[1]})")
        else:
            _check_field(pattern, token[1])
            fields.append(token[1])
            parts.append(f"(?P<{token[1]}>[^/]+?)")
    plain = "".join(_TOKENS.split(pattern)[::5])  # four groups lie between two pieces of text
    if not fields or "{" in plain or "}" in plain:
        raise ValueError(
            f"pattern must name labels in braces, such as '{{speaker}}/*', got {pattern!r}."
        )
    return re.compile("".join(parts) + re.escape(pattern[end:])), fields


def _check_field(pattern: str, field: str) -> None:
    if not field.isidentifier() or field in ("name", "file"):
        raise ValueError(
            f"pattern {pattern!r}: a label must be a word other than name and file, got {field!r}."
        )


def _read_rows(table: Path) -> dict[str, dict[str, str]]:
    """Return file -> column -> word."""
    try:
        with table.open(encoding="utf-8-sig", newline="") as file:
            lines = list(csv.reader(file, strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{table} cannot be read as a table: {error}.") from None
    head = [word.strip() for word in lines[0]] if lines else []
    _check_head(table, head)
    rows: dict[str, dict[str, str]] = {}
    for number, line in enumerate(lines[1:], start=2):
        if not any(word.strip() for word in line):
            continue
        if len(line) != len(head):
            raise ValueError(
                f"{table}, row {number}: {len(head)} cells are wanted, got {len(line)}."
            )
        row = {column: word.strip() for column, word in zip(head, line, strict=True)}
        name = row.pop("file").replace("\\", "/").removeprefix("./")
        if name in rows:
            raise ValueError(f"{table}, row {number}: {name!r} is named a second time.")
        rows[name] = row
    return rows


def _check_head(table: Path, head: list[str]) -> None:
    if "file" not in head:
        raise ValueError(
            f"{table} must have a column 'file' in its first row, got "
            f"{', '.join(head) or 'nothing'}. Cells are parted by commas."
        )
    bad = [word for word in head if head.count(word) > 1 or word in ("", "name")]
    if bad:
        raise ValueError(
            f"{table}: every column needs a name of its own, other than 'name', got "
            f"{', '.join(map(repr, bad))} among {', '.join(head)}."
        )

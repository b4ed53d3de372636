"""What training and test have in common: the same sequences, the same groups."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from unbraid.data.collection import PARTS
from unbraid.data.corpus import Array, Corpus, Rows, Split, release

CHUNK_BYTES = 1 << 22  # read together
EXAMPLES = 5
MANY = 10  # a label with as many values may be a group: a recording; persons are at any number
MORE = 20  # one whose name does not say so needs as many
# Names of labels that name somebody, or some recording.
PERSONS = {
    *("actor", "author", "character", "identity", "individual", "participant", "patient", "person"),
    *("singer", "speaker", "subject", "user", "writer"),
}
GROUPS = PERSONS | {"file", "id", "name", "recording", "session"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A label with many values that may name a person, a recording or the like.

    Attributes:
        name: of the label.
        values: in training.
        test_values: in the test split.
        shared: in both.
    """

    name: str
    values: int
    test_values: int
    shared: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Twins:
    """Sequences that are the same, byte for byte.

    Attributes:
        compared: how many sequences were compared.
        inside: split -> sequences that repeat an earlier one of the same split.
        across: "test in train" etc. -> sequences of the first split that the second has, too.
        examples: some of those across splits, in words.
    """

    compared: int
    inside: Mapping[str, int]
    across: Mapping[str, int]
    examples: tuple[str, ...]


def find_groups(corpus: Corpus) -> tuple[Group, ...]:
    """Return the labels of persons, or with many values, one per sequence and no dynamic factor.

    A label whose every value occurs once says nothing about groups and is left out.
    """
    moving = {factor.name for factor in corpus.spec.dynamic}
    groups = []
    for name, label in corpus.train.labels.items():
        if label.ndim != 1 or label.dtype.kind == "f" or name in moving or name == "split":
            continue
        parts = [corpus.split(part).known_labels(name)[0] for part in PARTS]
        every = np.concatenate(parts)
        least = 2 if not PERSONS.isdisjoint(_words(name)) else MANY
        if least <= len(np.unique(every)) < len(every):
            train, test = np.unique(parts[0]), np.unique(parts[2])
            both = len(np.intersect1d(train, test))
            groups.append(Group(name=name, values=len(train), test_values=len(test), shared=both))
    return tuple(groups)


def leaking_groups(groups: tuple[Group, ...]) -> tuple[Group, ...]:
    """Return the groups with members in training and in test, as far as that counts.

    Where one group is kept apart, others are no groups but properties that its members share,
    unless they bear the name of one.
    """
    apart = any(not group.shared for group in groups)
    return tuple(
        group
        for group in groups
        if group.shared and (is_named_group(group) or (not apart and group.values >= MORE))
    )


def is_named_group(group: Group) -> bool:
    """Say whether the name of a label tells that it is a group: speaker, patient_id."""
    return not GROUPS.isdisjoint(_words(group.name))


def _words(name: str) -> list[str]:
    return name.lower().replace("-", "_").split("_")


def find_twins(corpus: Corpus, picked: Mapping[str, Rows]) -> Twins:
    """Return which sequences are the same.

    Args:
        corpus: the data.
        picked: split -> positions to compare.
    """
    first: dict[str, dict[bytes, int]] = {}
    inside: Counter[str] = Counter()
    across: Counter[str] = Counter()
    examples: list[str] = []
    for part in PARTS:
        positions = first[part] = {}
        for position, digest in _digests(corpus.split(part), picked[part]):
            inside[part] += digest in positions
            positions.setdefault(digest, position)
            for other in PARTS[: PARTS.index(part)]:
                if digest in first[other]:
                    across[f"{part} in {other}"] += 1
                    examples.append(f"{part} {position} = {other} {first[other][digest]}")
    examples.sort(key=lambda example: not example.startswith("test"))  # these weigh most
    return Twins(
        compared=sum(len(rows) for rows in picked.values()),
        inside={part: inside[part] for part in PARTS},
        across=dict(across),
        examples=tuple(examples[:EXAMPLES]),
    )


def pieces(split: Split, positions: Rows, size: int = CHUNK_BYTES) -> Iterator[tuple[Rows, Array]]:
    """Yield positions and their raw values (n, T, *F), some at a time, as they stand in the file.

    Args:
        split: the sequences; its array may be larger than memory or painted when asked for.
        positions: in the split.
        size: bytes read together.
    """
    one = max(1, int(np.prod(split.x.shape[1:])) * np.dtype(split.x.dtype).itemsize)
    step = max(1, size // one)
    for start in range(0, len(positions), step):
        some = positions[start : start + step]
        yield some, np.asarray(split.x[split.rows[some]])
        release(split.x)


def _digests(split: Split, positions: Rows) -> Iterator[tuple[int, bytes]]:
    """Yield position and hash of every sequence that has a known value, cut to its length."""
    lengths = split.existing.sum(1)
    for some, x in pieces(split, positions):
        known = None
        if split.observed is not None:
            known = np.asarray(split.observed[split.rows[some]]).astype(bool)
            x = np.where(known, x, 0)
        for i, position in enumerate(some):
            steps = int(lengths[position])
            digest = blake2b(x[i, :steps].tobytes(), digest_size=16)
            if known is not None:
                if not known[i, :steps].any():
                    continue
                digest.update(np.packbits(known[i, :steps]).tobytes())
            yield int(position), digest.digest()

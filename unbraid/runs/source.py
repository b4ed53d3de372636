"""Where the data of a run come from: resolved once, when its plan is made, and kept with it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from unbraid.data import data_module, is_dataset, load_data
from unbraid.data.corpus import Corpus
from unbraid.data.readers.own import find_reader, is_path, load_own, reader_name
from unbraid.settings import Table, as_table, build

CATALOGUE, MEMORY = "catalogue", "memory"  # readers that are no module


@dataclass(frozen=True, slots=True)
class DataSource:
    """A data set of the catalogue, a file or folder with its reader, or a corpus in memory."""

    name: str
    """In the catalogue, the path, or the name of the corpus."""
    reader: str
    """Module that reads the path; "catalogue" for a data set, "memory" for a corpus."""
    settings: Table = field(default_factory=dict)
    """All settings of the data set or of the reader."""

    @property
    def in_memory(self) -> bool:
        """Whether the data were given as a corpus, which no run folder keeps."""
        return self.reader == MEMORY

    @property
    def published(self) -> bool:
        """Whether it is a data set of the catalogue, not a user's own data."""
        return self.reader == CATALOGUE

    def configure(self, table: Mapping[str, Any], where: str) -> "DataSource":
        """Return the source with these settings, checked, and defaults for all others."""
        if self.in_memory:
            if table:
                listed = ", ".join(table)
                raise KeyError(f"{where}: {self.name} has no settings of its own, got {listed}.")
            return replace(self, settings={})
        module = data_module(self.name) if self.reader == CATALOGUE else find_reader(self.reader)
        return replace(self, settings=as_table(build(module.Config, table, where=where)))

    def load(self) -> Corpus:
        """Return the data, or say why they cannot be had."""
        if self.in_memory:
            raise ValueError(
                f"the run was trained on arrays in memory ('{self.name}'), which it does not keep: "
                "give the sequences yourself (--input FILE.npz, or open_run(PATH, corpus=...) in "
                "Python)."
            )
        if self.reader == CATALOGUE:
            return load_data(self.name, self.settings)
        return load_own(self.name, self.settings, name=self.reader)


def find_source(data: str | Corpus, *, kind_known: bool = False) -> DataSource:
    """Return where data come from.

    Args:
        data: a name of the catalogue, the path of a file or folder, or a corpus in memory.
        kind_known: a name that is neither is that of a corpus in memory, not a mistake.
    """
    if isinstance(data, Corpus):
        return DataSource(data.spec.name, MEMORY)
    if not is_dataset(data) and is_path(data):
        return DataSource(data, reader_name(data))
    return DataSource(data, MEMORY if kind_known and not is_dataset(data) else CATALOGUE)

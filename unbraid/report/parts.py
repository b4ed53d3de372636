"""What a page is made of."""

from collections.abc import Sequence
from dataclasses import dataclass

MIMES = ("image/png", "image/apng", "image/gif", "image/jpeg", "image/webp")
Facts = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Table:
    """Cells of text under named columns.

    Columns of numbers are set right; a column called `note` may be long and is wrapped. `note` is
    what a reader has to know about the table as a whole.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""

    def __post_init__(self) -> None:
        for i, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise ValueError(
                    f"table '{self.title}' has {len(self.columns)} columns, "
                    f"but row {i} has {len(row)} cells."
                )


@dataclass(frozen=True, slots=True)
class Picture:
    """An image file to be embedded; `alt` says what it shows to who cannot see it."""

    title: str
    caption: str
    mime: str
    data: bytes
    alt: str

    def __post_init__(self) -> None:
        if self.mime not in MIMES:
            raise ValueError(
                f"picture '{self.title}' must be one of {', '.join(MIMES)}, got '{self.mime}'."
            )
        if not self.alt.strip():
            raise ValueError(f"picture '{self.title}' needs an alt text: say what it shows.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A report, ready to be written.

    Attributes:
        title: the heading.
        verdict: the main result in one or a few sentences; blank lines part paragraphs.
        glance: the few pictures that show the result, before everything else.
        facts: what was trained and how: (name, value).
        tables: measurements.
        pictures: what it looks like.
        config_text: the settings, as in config.toml.
        provenance: versions, seed, steps, minutes: (name, value).
        command: what to type to make the run and this page again.
    """

    title: str
    verdict: str
    glance: Sequence[Picture] = ()
    facts: Facts = ()
    tables: Sequence[Table] = ()
    pictures: Sequence[Picture] = ()
    config_text: str = ""
    provenance: Facts = ()
    command: str = ""

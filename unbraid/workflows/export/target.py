"""Where codes are written, in which format, and what may be replaced there."""

from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from unbraid.workflows.export import arrays, tables
from unbraid.workflows.export.parts import Parts

# Each has `require`, `files`, `is_ours` and `write`.
FORMATS: dict[str, ModuleType] = {".npz": arrays, ".parquet": tables}


@dataclass(frozen=True, slots=True)
class Target:
    """A file of codes, and what lies beside it."""

    path: Path

    @property
    def format(self) -> ModuleType:
        """The module that writes it."""
        return FORMATS[self.path.suffix]

    @property
    def files(self) -> tuple[Path, ...]:
        """All files that are written."""
        return self.format.files(self.path)

    @property
    def parts(self) -> Path:
        """The folder of finished parts, while there are any."""
        return self.path.with_name(f"{self.path.name}.parts")

    def check(self, *, force: bool) -> None:
        """Check that the files can be written and replace nothing but codes.

        Args:
            force: replace any file.

        Raises:
            ValueError: a package is missing, or a file is in the way.
        """
        self.format.require()
        for path in self.files:
            if path.is_dir():
                raise ValueError(f"{path} is a folder: choose another --out.")
            if path.exists() and not force and not self.format.is_ours(path):
                raise ValueError(
                    f"{path} exists and was not written by `unbraid encode`. Choose another --out, "
                    "or replace it with --force."
                )

    def write(self, parts: Parts, split: str) -> None:
        """Write the codes of all parts.

        Args:
            parts: all of them finished.
            split: name of the split; empty if the sequences are no split of the run.
        """
        self.format.write(self.path, parts, split)


def choose_target(out: str | Path | None, run: Path) -> Target:
    """Return the target of a run, or say which files can be written.

    Args:
        out: a file, or a folder that is there; `use` in the run folder if None.
        run: the run folder.
    """
    if out is None:
        return Target(run / "use" / "codes.npz")
    path = Path(out)
    if path.is_dir() and path.suffix not in FORMATS:
        path = path / "codes.npz"
    if path.suffix not in FORMATS:
        raise ValueError(
            f"--out must end with {' or '.join(FORMATS)}, e.g. codes.npz, got {path.name!r}."
        )
    return Target(path)

"""Files from the network: resumable, checked against a known SHA-256, whole or not there."""

import os
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path

from unbraid.data.cache import file_hash

CHUNK = 1 << 18


@dataclass(frozen=True, slots=True, kw_only=True)
class Publisher:
    """Where a data set is published, and on which terms; whoever downloads shows `terms`.

    Attributes:
        name: of the data set.
        base: address that the paths of `files` are appended to.
        files: path below `base` and below the target folder -> SHA-256. A path `a -> b` is fetched
            from a and stored as b. An empty hash: the publisher packs the file anew from time to
            time; its contents are checked when it is prepared.
        licence: its licence.
        citation: what its authors ask to be cited.
        apply: for sets that nobody may pass on: where to ask for them. They have no files.
    """

    name: str
    base: str
    files: Mapping[str, str]
    licence: str
    citation: str
    apply: str = ""

    @property
    def terms(self) -> str:
        """Publisher, licence and citation, as lines to be printed."""
        where = self.apply or f"From {self.base}"
        return f"{self.name}\n{where}\nLicence: {self.licence}\nPlease cite: {self.citation}"


def download(
    source: Publisher, target: Path, *, progress: Callable[[float], None] | None = None
) -> Publisher:
    """Fetch all files of a source below `target`; those already there and right are kept.

    Returns:
        The source, so that the caller can print its `terms`.

    Raises:
        ValueError: the set is not to be downloaded freely; the message says where to apply.
    """
    if source.apply:
        raise ValueError(f"{source.name} cannot be downloaded freely. {source.apply}")
    for done, (name, sha256) in enumerate(source.files.items(), start=1):
        path, _, stored = name.partition(" -> ")
        fetch(f"{source.base.rstrip('/')}/{path}", target / (stored or path), sha256)
        if progress is not None:
            progress(done / len(source.files))
    return source


def fetch(url: str, path: Path, sha256: str, *, timeout: float = 30.0) -> Path:
    """Fetch one file to `path`; an interrupted download goes on where it stopped.

    An empty `sha256` takes the file as it comes; one that is there already is kept.

    Raises:
        ValueError: what came has another SHA-256; it is deleted.
        OSError: the network failed; what came so far is kept for the next try.
    """
    if not url.startswith(("https://", "http://")):
        raise ValueError(f"url must begin with https:// or http://, got {url!r}.")
    if path.is_file() and (not sha256 or file_hash(path) == sha256):
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    resumed = part.exists()
    digest = _receive(url, part, timeout)
    if (
        sha256 and digest != sha256 and resumed
    ):  # the first piece was of another file: once more, from zero
        part.unlink()
        digest = _receive(url, part, timeout)
    if sha256 and digest != sha256:
        part.unlink()
        raise ValueError(
            f"{url} should have SHA-256 {sha256}, got {digest}. The published file has changed or "
            "was altered on its way; nothing was kept."
        )
    part.replace(path)
    return path


def _receive(url: str, part: Path, timeout: float) -> str:
    """Complete the partial file and return its SHA-256."""
    start = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={start}-"} if start else {})
    try:
        with urllib.request.urlopen(request, timeout=timeout) as response:
            if response.status != 206:  # the server sends all of it, from the start
                start = 0
            expected = response.headers.get("Content-Length")
            with part.open("ab" if start else "wb") as file:
                while chunk := response.read(CHUNK):
                    file.write(chunk)
                came = file.tell() - start
                file.flush()
                os.fsync(file.fileno())
    except urllib.error.HTTPError as error:
        error.close()
        if error.code != 416:  # "nothing after that byte": the part is complete, or wrong
            raise OSError(f"{url} could not be fetched: HTTP {error.code}.") from None
    except (OSError, HTTPException) as error:
        raise OSError(f"{url} could not be fetched: {error}. Run it again to go on.") from None
    else:
        if expected is not None and came < int(expected):
            raise OSError(f"{url} broke off after {came} of {expected} bytes. Run it again.")
    return file_hash(part)

import hashlib
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from unbraid.data.download import Publisher, download, fetch

BODY = bytes(range(256)) * 4000
SHA = hashlib.sha256(BODY).hexdigest()


class _Handler(BaseHTTPRequestHandler):
    """Serves BODY; `/broken` stops half-way, `/stubborn` knows no ranges."""

    asked: list[str | None] = []  # noqa: RUF012

    def do_GET(self) -> None:
        wanted = self.headers.get("Range")
        self.asked.append(wanted)
        start = 0
        if wanted and self.path != "/stubborn":
            start = int(re.fullmatch(r"bytes=(\d+)-", wanted).group(1))
        if self.path == "/missing" or start >= len(BODY):
            self.send_response(404 if self.path == "/missing" else 416)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(BODY) - start))
        self.end_headers()
        half = self.path == "/broken" and not start
        self.wfile.write(BODY[start : len(BODY) // 2 if half else None])

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def site() -> Iterator[str]:
    _Handler.asked = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def _names(folder) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_arrives_whole_and_is_not_fetched_twice(site, tmp_path):
    path = fetch(f"{site}/file", tmp_path / "deep" / "file", SHA)
    assert path.read_bytes() == BODY
    fetch(f"{site}/file", path, SHA)
    assert _Handler.asked == [None]
    assert _names(path.parent) == ["file"]


def test_a_broken_download_goes_on_where_it_stopped(site, tmp_path):
    with pytest.raises(OSError, match="Run it again"):
        fetch(f"{site}/broken", tmp_path / "file", SHA)
    assert _names(tmp_path) == ["file.part"]
    fetch(f"{site}/broken", tmp_path / "file", SHA)
    assert (tmp_path / "file").read_bytes() == BODY
    assert _Handler.asked == [None, f"bytes={len(BODY) // 2}-"]
    assert _names(tmp_path) == ["file"]


@pytest.mark.parametrize("path", ["file", "stubborn"])
@pytest.mark.parametrize("part", [BODY[:1000], BODY, b"another file" * 50, BODY + b"more"])
def test_any_leftover_part_ends_in_the_right_file(site, tmp_path, path, part):
    (tmp_path / "file.part").write_bytes(part)
    assert fetch(f"{site}/{path}", tmp_path / "file", SHA).read_bytes() == BODY


def test_a_wrong_checksum_is_refused_and_nothing_kept(site, tmp_path):
    with pytest.raises(ValueError, match=f"should have SHA-256 {'0' * 64}, got {SHA}"):
        fetch(f"{site}/file", tmp_path / "file", "0" * 64)
    assert _names(tmp_path) == []


def test_a_wrong_file_at_the_place_survives_a_failed_download(site, tmp_path):
    (tmp_path / "file").write_bytes(b"mine")
    with pytest.raises(OSError, match="HTTP 404"):
        fetch(f"{site}/missing", tmp_path / "file", SHA)
    assert (tmp_path / "file").read_bytes() == b"mine"


def test_nobody_there_and_odd_addresses_are_named(tmp_path):
    with pytest.raises(OSError, match="could not be fetched"):
        fetch("http://127.0.0.1:9/file", tmp_path / "file", SHA, timeout=5.0)
    with pytest.raises(ValueError, match="must begin with https"):
        fetch("file:///etc/hosts", tmp_path / "file", SHA)


def test_a_source_is_fetched_with_its_terms(site, tmp_path):
    source = Publisher(
        name="Set", base=f"{site}/", files={"a/1": SHA, "b/2": SHA}, licence="MIT", citation="Us."
    )
    seen: list[float] = []
    assert (
        "Licence: MIT\nPlease cite: Us." in download(source, tmp_path, progress=seen.append).terms
    )
    assert (tmp_path / "b" / "2").read_bytes() == BODY
    assert seen == [0.5, 1.0]

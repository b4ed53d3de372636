"""A hub of one model on the loopback interface: as much of its protocol as uploads need."""

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

COMMIT = "a" * 40


class FakeHub(ThreadingHTTPServer):
    """Holds the files of `me/toy`."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, bytes] = {}
        self.requests: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FakeHub

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def answer(self, code: int, body: Any = b"", **headers: str) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def do_POST(self) -> None:
        data = self.body()
        self.server.requests.append(f"POST {self.path}")
        here = f"{self.server.url}/me/toy"
        if self.path == "/api/repos/create":
            self.answer(200, {"url": here})
        elif "/preupload/" in self.path:
            files = [file["path"] for file in json.loads(data)["files"]]
            mode = {"uploadMode": "regular", "shouldIgnore": False}
            self.answer(200, {"files": [{"path": path, **mode} for path in files]})
        elif "/commit/" in self.path:
            for line in map(json.loads, data.splitlines()):
                if line["key"] == "file":
                    content = base64.b64decode(line["value"]["content"])
                    self.server.files[line["value"]["path"]] = content
            self.answer(200, {"commitUrl": f"{here}/commit/{COMMIT}", "commitOid": COMMIT})
        else:
            self.answer(200, {})

    def body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        data = b""
        while size := int(self.rfile.readline(), 16):
            data += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return data

    def do_GET(self) -> None:
        self.server.requests.append(f"{self.command} {self.path}")
        owner, _, name = self.path.partition("/resolve/main/")
        if owner != "/me/toy":
            self.answer(404, {"error": "no"}, X_Error_Code="RepoNotFound")
        elif name not in self.server.files:
            self.answer(404, {"error": "no"}, X_Error_Code="EntryNotFound")
        else:
            content = self.server.files[name]
            tag = f'"{hashlib.sha1(content).hexdigest()}"'
            self.answer(200, content, ETag=tag, X_Repo_Commit=COMMIT)

    do_HEAD = do_GET  # noqa: N815 the name http.server asks for


@contextmanager
def fake_hub() -> Iterator[FakeHub]:
    hub = FakeHub()
    thread = threading.Thread(target=hub.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        hub.shutdown()
        hub.server_close()

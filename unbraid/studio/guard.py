"""Who may ask, and how much they may send: checked before any route sees a request.

A page of another site cannot read or change anything: requests with a foreign `Host` (DNS
rebinding), a foreign `Origin` or from another site are refused. Beyond loopback a token is needed,
which the address carries once and a cookie from then on.
"""

import hmac
import json
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlencode

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

LOOPBACK = ("127.0.0.1", "localhost", "::1")
COOKIE = "unbraid_studio"
LARGEST_BODY = 1 << 16  # bytes of a request, uploads apart
LARGEST_UPLOAD = 64 << 20  # bytes
UPLOADS = "/items"  # how the path of an upload ends
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' blob: data:",
        "media-src 'self' blob:",
        "connect-src 'self'",
        "manifest-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-cache",
}


@dataclass(frozen=True, slots=True)
class Access:
    """Where the server listens and what it asks of a caller.

    Attributes:
        host: address it listens on.
        port: of that address.
        token: what a caller must show; empty on loopback.
    """

    host: str = "127.0.0.1"
    port: int = 0
    token: str = field(default="", repr=False)

    @property
    def is_open(self) -> bool:
        """Whether other machines can reach it."""
        return self.host not in LOOPBACK

    @property
    def address(self) -> str:
        """What to open in a browser."""
        host = "localhost" if self.host in ("0.0.0.0", "::") else self.host
        host = f"[{host}]" if ":" in host else host
        token = f"?{urlencode({'token': self.token})}" if self.token else ""
        return f"http://{host}:{self.port}/{token}"


def new_access(host: str, port: int) -> Access:
    """Return the access of a new server; beyond loopback with a new token."""
    return Access(host, port, "" if host in LOOPBACK else secrets.token_urlsafe(24))


class Guard:
    """Middleware that refuses before it hands on, and adds headers to every answer."""

    def __init__(self, app: Any, access: Access) -> None:
        self.app, self.access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {k.decode("latin-1"): v.decode("latin-1") for k, v in scope["headers"]}
        if self._has_token(scope):
            await _enter(self.access.token, _with_headers(send))
            return
        refusal = self._refusal(scope, headers)
        if refusal:
            await _refuse(*refusal, _with_headers(send))
            return
        limit = LARGEST_UPLOAD if scope["path"].endswith(UPLOADS) else LARGEST_BODY
        await self.app(scope, _limited(receive, limit), _with_headers(send))

    def _has_token(self, scope: Scope) -> bool:
        """Say whether the address of the page carries the token."""
        if not self.access.token or scope["path"] != "/":
            return False
        query = parse_qs(scope["query_string"].decode("latin-1"))
        return _equal(query.get("token", [""])[0], self.access.token)

    def _refusal(self, scope: Scope, headers: Mapping[str, str]) -> tuple[int, str] | None:
        if not self._known_host(headers.get("host", "")):
            return 403, "this address is not the studio's. Open the one it printed."
        if self.access.token and not _equal(_cookie(headers), self.access.token):
            return 401, "the studio wants the token of the address it printed at its start."
        if _is_foreign(scope, headers):
            return 403, "the request came from another site. Open the studio's own page."
        limit = LARGEST_UPLOAD if scope["path"].endswith(UPLOADS) else LARGEST_BODY
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > limit:
            return 413, f"at most {limit / 1e6:.0f} MB can be sent here, got {length} bytes."
        return None

    def _known_host(self, host: str) -> bool:
        """Say whether a request names this server; with a token any name is as good."""
        if self.access.token:
            return bool(host)
        name, _, port = host.rpartition(":")
        return name.strip("[]") in LOOPBACK and port == str(self.access.port)


def _is_foreign(scope: Scope, headers: Mapping[str, str]) -> bool:
    """Say whether a page of another site sent a request; opening the page itself is not one."""
    if scope["method"] not in ("GET", "HEAD") and "x-studio" not in headers:
        return True  # a form of another page cannot send this header
    origin = headers.get("origin")
    if origin is not None and origin not in _own_origins(headers.get("host", "")):
        return True
    site = headers.get("sec-fetch-site", "same-origin")
    opens = headers.get("sec-fetch-mode") == "navigate" and scope["path"] == "/"
    return site not in ("same-origin", "none") and not opens


def _own_origins(host: str) -> tuple[str, str]:
    return f"http://{host}", f"https://{host}"


def _equal(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode(), wanted.encode())


def _cookie(headers: Mapping[str, str]) -> str:
    try:
        cookies = SimpleCookie(headers.get("cookie", ""))
    except CookieError:
        return ""
    return cookies[COOKIE].value if COOKIE in cookies else ""


async def _enter(token: str, send: Send) -> None:
    """Keep the token in a cookie and take it out of the address."""
    cookie = f"{COOKIE}={token}; HttpOnly; SameSite=Strict; Path=/"
    headers = [(b"location", b"/"), (b"set-cookie", cookie.encode())]
    await send({"type": "http.response.start", "status": 303, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


async def _refuse(status: int, sentence: str, send: Send) -> None:
    body = json.dumps({"error": sentence}).encode()
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _limited(receive: Receive, limit: int) -> Receive:
    """Return `receive` that ends a body which grows beyond what its header said or may say."""
    total = 0

    async def receive_some() -> dict[str, Any]:
        nonlocal total
        message = await receive()
        total += len(message.get("body", b""))
        return {"type": "http.disconnect"} if total > limit else message

    return receive_some


def _with_headers(send: Send) -> Send:
    async def send_more(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            names = {name for name, _ in message["headers"]}
            more = [(k.encode(), v.encode()) for k, v in HEADERS.items() if k.encode() not in names]
            message = message | {"headers": [*message["headers"], *more]}
        await send(message)

    return send_more

import asyncio
import threading
import time

import pytest
from starlette.testclient import TestClient

from unbraid.studio.app import make_app
from unbraid.studio.guard import Access, new_access
from unbraid.studio.serve import listen
from unbraid.studio.thread_pools import ThreadPools


def test_loopback_needs_no_token_and_other_hosts_do():
    assert new_access("127.0.0.1", 1).token == ""
    assert len(new_access("0.0.0.0", 1).token) > 20


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},
        {"host": "127.0.0.1:9"},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
    ],
)
def test_a_request_of_another_site_is_refused(client, headers):
    answer = client.get("/api/studio", headers=headers)
    assert answer.status_code == 403
    assert "runs" not in answer.text


def test_a_form_of_another_site_cannot_start_a_training(client):
    del client.headers["x-studio"]
    assert client.post("/api/jobs", json={"data": "toy-sprites"}).status_code == 403


def test_an_open_server_wants_its_token(workspace):
    app = make_app(workspace, Access("0.0.0.0", 8420, "secret"))
    with TestClient(app, base_url="http://box:8420") as client:
        assert client.get("/api/studio").status_code == 401
        assert client.get("/?token=wrong").status_code == 401
        entered = client.get("/?token=secret", follow_redirects=False)
        assert entered.status_code == 303
        assert "HttpOnly" in entered.headers["set-cookie"]
        assert entered.headers["location"] == "/"
        assert client.get("/api/studio").status_code == 200


def test_every_answer_has_a_policy_that_allows_no_foreign_or_inline_script(client):
    for path in ("/", "/api/studio", "/static/js/main.js", "/api/nothing"):
        policy = client.get(path).headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy


def test_the_page_refers_to_no_other_host(client):
    from unbraid.studio.app import STATIC

    for path in STATIC.rglob("*.*"):
        text = path.read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in text and "https://" not in text, path.name
        assert "innerHTML" not in text and "eval(" not in text, path.name


def test_paths_outside_of_the_static_files_are_not_served(client):
    for path in ("/static/../app.py", "/static/%2e%2e/app.py", "/static//etc/passwd"):
        assert client.get(path).status_code == 404


def test_a_mistake_of_ours_is_answered_without_a_traceback(client, keys, monkeypatch):
    from unbraid.studio.model import facts

    def broken(subject):
        raise RuntimeError("secret path /home/me")

    monkeypatch.setattr(facts, "subject_facts", broken)
    answer = client.get(f"/api/runs/{keys['video']}")
    assert answer.status_code == 500
    assert "secret" not in answer.text and "Traceback" not in answer.text


def test_a_large_body_is_refused(client):
    answer = client.post("/api/jobs", content=b"x" * 100_000)
    assert answer.status_code == 413


def test_slow_work_does_not_block_quick_work():
    work, release = ThreadPools(), threading.Event()

    async def ask():
        slow = [asyncio.ensure_future(work.slow(release.wait)) for _ in range(8)]
        began = time.monotonic()
        assert await work.quick(lambda: 7) == 7
        waited = time.monotonic() - began
        release.set()
        await asyncio.gather(*slow)
        return waited

    assert asyncio.run(asyncio.wait_for(ask(), 20)) < 10
    work.close()


def test_what_is_computed_once_is_computed_once_and_errors_are_not_kept():
    work, calls = ThreadPools(), []

    def failing():
        calls.append(1)
        raise ValueError("no")

    async def ask():
        for _ in range(2):
            with pytest.raises(ValueError, match="no"):
                await work.once("a", failing)
        await asyncio.gather(*(work.once("b", lambda: calls.append(2)) for _ in range(5)))

    asyncio.run(ask())
    assert calls == [1, 1, 2]
    work.close()


def test_a_port_that_is_taken_is_said():
    opened, access = listen("127.0.0.1", 0)
    with opened, pytest.raises(ValueError, match=f"port {access.port}"):
        listen("127.0.0.1", access.port)

import io
import time
from pathlib import Path

import numpy as np
import pytest

from unbraid.studio import uploads


@pytest.fixture(autouse=True, scope="module")
def warm():
    """Decoding processes are copies of one that has imported all."""
    uploads.warm_up()


def _npz(**arrays):
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def _send(client, key, name, body):
    return client.post(f"/api/runs/{key}/items", params={"name": name}, content=body)


def test_an_own_file_is_encoded_and_can_be_swapped(client, keys):
    x = np.random.default_rng(0).integers(0, 255, (2, 8, 3, 64, 64), dtype=np.uint8)
    answer = _send(client, keys["video"], "<script>alert(1)</script>.npz", _npz(x=x))
    assert answer.status_code == 200, answer.text
    items = answer.json()["items"]
    assert [item["steps"] for item in items] == [8, 8]
    made = client.get(f"/api/runs/{keys['video']}/sequence.png?s={items[0]['id']}&d=t0")
    assert made.status_code == 200
    assert client.get(f"/api/runs/{keys['video']}").json()["items"][0]["id"].startswith("u")


def test_a_table_with_the_channels_of_the_run_is_read(client, keys):
    channels = client.get(f"/api/runs/{keys['series']}").json()["channels"]
    rows = [",".join(["time", *channels])]
    rows += [",".join([str(t), *(["0.5"] * len(channels))]) for t in range(40)]
    answer = _send(client, keys["series"], "mine.csv", "\n".join(rows).encode())
    assert answer.status_code == 200, answer.text
    assert len(answer.json()["items"]) >= 1


@pytest.mark.parametrize(
    ("kind", "name", "body", "reason"),
    [
        ("video", "song.wav", b"RIFF", "reads .mp4"),
        ("video", "film.mp4", b"#EXTM3U\nfile:///etc/passwd", "not what its name says"),
        ("video", "film.mp4", b"\0\0\0\x18ftypmp42" + b"\0" * 64, "decoded"),
        ("video", "x.npz", b"PK\3\4 broken", "the file"),
        ("audio", "empty.wav", b"", "empty"),
        ("series", "mine.csv", b"a,b\n1,2\n", "temperature"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(client, keys, kind, name, body, reason):
    answer = _send(client, keys[kind], name, body)
    assert answer.status_code == 400
    assert reason in answer.json()["error"]


def test_frames_of_another_size_are_refused(client, keys):
    x = np.zeros((1, 8, 3, 32, 32), np.uint8)
    answer = _send(client, keys["video"], "small.npz", _npz(x=x))
    assert answer.status_code == 400
    assert "32" in answer.json()["error"]


def _hungry(run, file, out):
    uploads._limit()
    blocks = []
    while True:
        blocks.append(bytearray(1 << 28))


def _sleepy(run, file, out):
    time.sleep(60)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no limit on memory here")
def test_decoding_that_takes_too_much_memory_ends_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(uploads, "decode_file", _hungry)
    with pytest.raises(ValueError, match="could not be decoded"):
        uploads._decode_aside(tmp_path, tmp_path / "a.npz", tmp_path)


def test_decoding_that_takes_too_long_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(uploads, "decode_file", _sleepy)
    monkeypatch.setattr(uploads, "SECONDS", 0.5)
    with pytest.raises(ValueError, match="within"):
        uploads._decode_aside(tmp_path, tmp_path / "a.npz", tmp_path)

import json
import os
import time

import numpy as np
import pytest
from starlette.testclient import TestClient

from unbraid.studio.app import make_app
from unbraid.studio.guard import Access
from unbraid.studio.jobs import choose
from unbraid.studio.jobs.record import Record, birth, read_records
from unbraid.studio.workspace import Workspace

SMALL = [
    "data.train=32",
    "data.validation=8",
    "data.test=16",
    "training.log_every=1",
    "training.batch_size=8",
    "training.epochs=1000000",
    "training.schedule=constant",
    "training.patience=0",
    "method.static_dim=4",
    "method.dynamic_dim=4",
]


def _wait(ask, *, seconds=240.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if answer := ask():
            return answer
        time.sleep(0.2)
    raise AssertionError("it did not happen")


@pytest.mark.slow
def test_a_training_survives_a_restart_of_the_server_and_can_be_stopped_and_go_on(
    client, workspace
):
    wish = {"data": "toy-series", "minutes": 5, "sets": SMALL}
    job = client.post("/api/jobs", json=wish).json()
    assert job["state"] == "running"
    state = lambda server: server.get("/api/jobs").json()[0]  # noqa: E731
    _wait(lambda: state(client)["key"])
    again = Workspace(workspace.places)
    app = make_app(again, Access("127.0.0.1", 8420))
    with TestClient(app, base_url="http://127.0.0.1:8420", headers={"x-studio": "1"}) as server:
        assert state(server)["state"] == "running"
        _wait(lambda: (workspace.places.runs / "toy-series/dsvae/0/log.csv").is_file())
        server.post(f"/api/jobs/{job['id']}/stop")
        _wait(lambda: state(server)["state"] != "running")
        assert state(server)["state"] == "stopped"
        events = server.get(f"/api/jobs/{job['id']}/events").text
        assert "event: rows" in events and "event: weights" in events and "event: end" in events
        key = state(server)["key"]
        assert server.get(f"/api/runs/{key}/sequence.json?s=t0&d=t1").status_code == 200
        assert server.post(f"/api/jobs/{job['id']}/resume", json={}).json()["state"] == "running"
        server.post(f"/api/jobs/{job['id']}/stop")
        _wait(lambda: state(server)["state"] != "running")


@pytest.mark.parametrize("sets", [["method.temprature=1"], ["nothing"], ["data.root=/etc"], [7]])
def test_a_wrong_setting_is_said_before_a_process_starts(client, workspace, sets):
    answer = client.post("/api/jobs", json={"data": "toy-sprites", "sets": sets})
    assert answer.status_code in (400, 404)
    assert read_records(workspace.places.runs) == {}


def test_data_outside_of_the_chosen_folders_cannot_be_used(client, workspace, tmp_path):
    outside = tmp_path / "secret.npz"
    np.savez(outside, x=np.zeros((4, 3, 2)))
    inside = workspace.places.folders[0]
    (inside / "link.npz").symlink_to(outside)
    for path in (outside, inside / ".." / "secret.npz", inside / "link.npz", "/etc", "~"):
        for route in ("data/check", "jobs"):
            answer = client.post(f"/api/{route}", json={"data": str(path)})
            assert answer.status_code == 400, path
        folder = client.get("/api/data/folder", params={"path": str(path)})
        assert folder.status_code == 400


def test_a_chosen_folder_lists_what_can_be_read(client, workspace):
    inside = workspace.places.folders[0]
    (inside / "a.csv").write_text("x\n1\n")
    (inside / "notes.txt").write_text("no")
    (inside / ".hidden").mkdir()
    (inside / "videos").mkdir()
    listing = client.get("/api/data/folder", params={"path": str(inside)}).json()
    assert [entry["name"] for entry in listing["entries"]] == ["videos", "a.csv"]
    assert listing["parent"] == ""


def test_the_data_check_of_a_file_is_shown(workspace):
    path = workspace.places.folders[0] / "x.npz"
    np.savez(path, x=np.random.default_rng(0).normal(size=(20, 12, 3)).astype(np.float32))
    shown = choose.check_data(str(path), ())
    assert shown["contents"]["kind"] == "series"
    assert json.dumps(shown["findings"])


def test_a_process_that_was_started_anew_under_the_same_number_is_another(tmp_path):
    mine = Record(id="a", data="", method="", run="", pid=os.getpid(), born="1", began=0.0)
    assert birth(os.getpid()) and not mine.is_running
    mine.write(tmp_path)
    assert read_records(tmp_path) == {"a": mine}


def test_a_damaged_record_does_not_hide_the_others(tmp_path):
    Record(id="a", data="", method="", run="", pid=1, born="", began=0.0).write(tmp_path)
    (tmp_path / ".studio" / "b.json").write_text("{")
    assert list(read_records(tmp_path)) == ["a"]

"""The web server: who may connect, what it survives, and who steers."""

import json
import random
import shutil
import time
from contextlib import contextmanager
from dataclasses import asdict

import pytest

pytest.importorskip("starlette")
pytest.importorskip("httpx2")
from garbage import garbage
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from jostle.playground.server import Access, PlayServer
from jostle.playground.session import Session
from jostle.playground.setup import YOU, PlaySetup
from jostle.zoo.registry import agents

TOKEN = "s3cret"
ORIGIN = {"origin": "http://testserver"}
SETUP = PlaySetup(task="OneCube", agent="oracle")
PATIENCE = 30.0
"""Seconds until a test gives up; nothing takes as long."""


@contextmanager
def serving(folder, setup=SETUP):
    server = PlayServer(Access(TOKEN, ("testserver",)), folder)
    session = Session(setup, server.publish, folder)
    with TestClient(server.app(session)) as client:
        yield client, session


@contextmanager
def connected(client, headers=ORIGIN):
    with client.websocket_connect(f"/{TOKEN}/socket", headers=headers) as socket:
        yield Browser(socket)


class Browser:
    """Sends messages and waits for answers."""

    def __init__(self, socket):
        self.socket = socket

    def send(self, kind, **fields):
        self.socket.send_text(json.dumps({"type": kind, **fields}))

    def wait_for(self, kind, wanted=lambda message: True):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            received = self.socket.receive()
            if "text" in received and received["text"] is not None:
                message = json.loads(received["text"])
                if message["type"] == kind and wanted(message):
                    return message
            elif received["type"] == "websocket.close":
                raise WebSocketDisconnect(received["code"])
        raise AssertionError(f"no {kind} came")

    def image(self, kind):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            data = self.socket.receive().get("bytes")
            if data and data[0] == kind:
                return data[2:]
        raise AssertionError("no image came")


def test_pages_need_the_token_and_nothing_else_is_served(tmp_path):
    (tmp_path / "film.mp4").write_bytes(b"film")
    with serving(tmp_path) as (client, _):
        page = client.get(f"/{TOKEN}/")
        assert page.status_code == 200
        assert "jostle playground" in page.text
        assert page.headers["cache-control"] == "no-store"
        assert "default-src 'none'" in page.headers["content-security-policy"]
        for name in ("main.js", "map.js", "style.css"):
            assert client.get(f"/{TOKEN}/{name}").status_code == 200
        for path in ("/", "/wrong/", f"/{TOKEN}x/", f"/{TOKEN}", "/wrong/main.js", "/a/files/b"):
            answer = client.get(path)
            assert (answer.status_code, TOKEN in answer.text) == (403, False)
        for path in ("server.py", "..%2Fserver.py", "%2e%2e/server.py", "files/..%2Fx", "files/no"):
            assert client.get(f"/{TOKEN}/{path}").status_code in (403, 404)
        assert client.get(f"/{TOKEN}/files/film.mp4").content == b"film"


def test_pages_refuse_names_that_other_sites_could_point_here(tmp_path):
    with serving(tmp_path) as (client, _):
        answer = client.get(f"/{TOKEN}/", headers={"host": "evil.example"})
        assert answer.status_code == 403


REFUSED = [
    ("wrong", ORIGIN),
    ("", ORIGIN),
    (TOKEN, {"origin": "http://evil.example"}),
    (TOKEN, {"origin": "null"}),
    (TOKEN, {"origin": "http://testserver:81"}),
    (TOKEN, {"origin": "http://[::1"}),
    (TOKEN, {}),
    (TOKEN, {"origin": "http://evil.example", "host": "evil.example"}),
]


def test_websockets_refuse_wrong_tokens_and_other_origins(tmp_path):
    with serving(tmp_path) as (client, session):
        for path, headers in REFUSED:
            with (
                pytest.raises(WebSocketDisconnect),
                client.websocket_connect(f"/{path}/socket", headers=headers),
            ):
                pass
        assert session.simulation.step == 0
        with connected(client) as browser:
            browser.wait_for("state", lambda state: state["step"] > 0)


def test_a_browser_gets_everything_and_time_runs_only_while_one_watches(tmp_path):
    with serving(tmp_path) as (client, session):
        assert session.simulation.step == 0
        with connected(client) as browser:
            setup = browser.wait_for("setup")
            assert setup["setup"]["agent"] == "oracle"
            assert browser.wait_for("role") == {"type": "role", "steering": True, "clients": 1}
            assert browser.image(0)[:2] == b"\xff\xd8"  # a JPEG
            state = browser.wait_for("state", lambda state: state["step"] > 1)
            assert len(state["objects"]) == len(state["distances"]) == 1
        time.sleep(0.1)
        stopped = session.simulation.step
        time.sleep(0.8)
        assert session.simulation.step <= stopped + 1  # at most the action that was under way
        with connected(client) as browser:  # a reload
            browser.wait_for("state", lambda state: state["step"] > stopped + 1)


def test_a_goal_is_moved_refused_and_reached(tmp_path):
    with serving(tmp_path) as (client, _), connected(client) as browser:
        browser.send("speed", value=8.0)
        browser.send("goal", slot=0, x=0.05, y=-0.1, yaw=0.0, final=True)
        scene = browser.wait_for("scene", lambda s: s["objects"][0]["goal"] == [0.05, -0.1, 0.0])
        assert scene["objects"][0]["target"] == [0.05, -0.1, 0.0]
        assert browser.image(1)[:2] == b"\xff\xd8"
        browser.send("goal", slot=0, x=0.4, y=0.0, yaw=0.0, final=False)
        refusal = browser.wait_for("error")
        assert (refusal["slot"], refusal["final"]) == (0, False)
        assert "not lie on the table" in refusal["text"]
        browser.send("goal", slot=9, x=0.0, y=0.0, yaw=0.0)
        assert "number 10 is not among them" in browser.wait_for("error")["text"]
        last = browser.wait_for("state", lambda state: state["success"])
        assert abs(last["objects"][0][0] - 0.05) < 0.04
        assert abs(last["objects"][0][1] + 0.1) < 0.04


def test_five_hundred_messages_of_garbage_are_survived(tmp_path):
    source = random.Random(1)
    with serving(tmp_path) as (client, session), connected(client) as browser:
        for number in range(500):
            if number % 25 == 0:
                browser.socket.send_bytes(bytes(source.randbytes(40)))
            browser.socket.send_text(garbage(source))
            time.sleep(0.004)
        assert browser.wait_for("error")
        time.sleep(2.5)  # the limit on floods forgets
        browser.send("setup", **asdict(SETUP))
        browser.send("run", running=True)
        step = browser.wait_for("state")["step"]
        browser.wait_for("state", lambda state: state["step"] not in (step, step + 1))
    assert not session._thread.is_alive()


def test_a_flood_is_limited_and_then_disconnected(tmp_path):
    with serving(tmp_path) as (client, _), connected(client) as browser:
        for _ in range(400):
            browser.send("run", running=True)
        assert "Too many messages" in browser.wait_for("error")["text"]
        for _ in range(4000):
            browser.send("run", running=True)
        with pytest.raises(WebSocketDisconnect) as closed:
            browser.wait_for("never")
        assert closed.value.code == 1008
        with connected(client) as again:
            again.wait_for("state")


def test_one_browser_steers_and_the_others_watch(tmp_path):
    with serving(tmp_path) as (client, _), connected(client) as first:
        with connected(client) as second:
            assert second.wait_for("role")["steering"] is False
            second.send("run", running=False)
            assert "Another browser steers" in second.wait_for("error")["text"]
            second.wait_for("state")
            second.send("steer")
            assert second.wait_for("role")["steering"] is True
            assert first.wait_for("role", lambda role: role["clients"] == 2)
            first.wait_for("role", lambda role: not role["steering"])
            second.send("run", running=False)
            assert first.wait_for("mode", lambda mode: not mode["running"])
        first.wait_for("role", lambda role: role["steering"])  # the other has gone
        first.send("run", running=True)
        first.wait_for("mode", lambda mode: mode["running"])


def test_pause_step_replay_and_saved_files(tmp_path):
    with serving(tmp_path) as (client, session), connected(client) as browser:
        browser.wait_for("state", lambda state: state["step"] == 3)
        browser.send("run", running=False)
        browser.wait_for("mode", lambda mode: not mode["running"])
        time.sleep(0.6)
        step = session.simulation.step
        browser.send("step")
        browser.wait_for("state", lambda state: state["step"] == step + 1)
        browser.send("push", slot=0, x=0.1, y=0.15)  # paused: it is put there
        browser.wait_for("state", lambda state: state["objects"][0][:2] == [0.1, 0.15])
        browser.send("replay", on=True)
        past = browser.wait_for("state", lambda state: "replay" in state)
        assert past["step"] <= step
        browser.wait_for("replay", lambda replay: not replay["on"])
        for what in ("film", "episode", "moment"):
            browser.send("save", what=what)
            saved = browser.wait_for("saved")
            assert client.get(f"/{TOKEN}/files/{saved['name']}").status_code == 200
    moment = json.loads((tmp_path / "one-cube-oracle-moment-1.jsonl").read_text())
    assert moment["start"][0][:2] == pytest.approx([0.1, 0.15], abs=1e-4)
    assert not list(tmp_path.glob(".*"))


def test_objects_come_and_go_and_agents_change(tmp_path):
    with serving(tmp_path) as (client, session), connected(client) as browser:
        browser.send("add")
        browser.wait_for("scene", lambda scene: len(scene["objects"]) == 2)
        browser.send("color", slot=1, color="pink")
        browser.wait_for("scene", lambda scene: scene["objects"][1]["name"] == "pink")
        browser.send("remove", slot=0)
        browser.wait_for("scene", lambda scene: [o["name"] for o in scene["objects"]] == ["pink"])
        browser.send("setup", task="OneCube", agent=YOU, objects=1, vary="", seed=4)
        browser.wait_for("setup", lambda setup: setup["setup"]["agent"] == YOU)
        for _ in range(6):
            browser.send("drive", x=0.0, y=1.0, z=0.0)
            time.sleep(0.1)
        browser.wait_for("state", lambda state: state["gripper"][1] > 0.05)
        browser.send("setup", task="OneCube", agent="missing", objects=1, vary="", seed=4)
        assert "no agent called 'missing'" in browser.wait_for("error")["text"]
        assert session.simulation.setup.agent == YOU


def test_an_agent_that_is_deleted_while_it_plays_goes_on(tmp_path):
    pytest.importorskip("torch")
    weights = tmp_path / "mine.safetensors"
    shutil.copy(agents()["one-cube-state-td3"].weights, weights)
    setup = PlaySetup(task="OneCube", agent=str(weights))
    with serving(tmp_path, setup) as (client, _), connected(client) as browser:
        browser.wait_for("state")
        weights.unlink()
        browser.send("reset", seed=5)
        browser.wait_for("setup", lambda message: message["setup"]["seed"] == 5)
        browser.send("setup", **{**asdict(setup), "task": "TwoCubes"})
        assert "There is no agent" in browser.wait_for("error")["text"]
        step = browser.wait_for("state")["step"]
        browser.wait_for("state", lambda state: state["step"] > step)


def test_a_diverged_episode_starts_again_with_a_message(tmp_path):
    with serving(tmp_path) as (client, session), connected(client) as browser:
        browser.wait_for("state", lambda state: state["step"] > 1)
        session.simulation.env.physics.velocities[0, 0, :3] = 1e9
        assert "starts again" in browser.wait_for("error")["text"]
        browser.wait_for("state", lambda state: state["step"] <= 1)

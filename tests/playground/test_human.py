"""Environments with render_mode="human" are shown on the page."""

import json
import logging
import pickle
import re

import gymnasium as gym
import numpy as np
import pytest

import jostle  # noqa: F401 - registers the ids

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
connect = pytest.importorskip("websockets.sync.client").connect


def received(socket, kind):
    while True:
        data = socket.recv(timeout=30)
        if isinstance(data, str) and (message := json.loads(data))["type"] == kind:
            return message


def test_an_environment_is_watched_at_the_address_in_the_log(caplog):
    with caplog.at_level(logging.WARNING):
        env = gym.make("jostle/TwoCubes-v0", render_mode="human")
        env.reset(seed=0)
    address = re.search(r"http://127\.0\.0\.1:\d+/[\w-]+/", caplog.text).group(0)
    origin = re.match(r"http://[^/]+", address).group(0)
    with connect(address.replace("http", "ws") + "socket", origin=origin) as socket:
        assert received(socket, "setup")["watch_only"]
        assert len(received(socket, "scene")["objects"]) == 2
        assert received(socket, "state")["step"] == 0
        env.step(np.zeros(3))
        env.step(np.zeros(3))
        while received(socket, "state")["step"] < 2:
            pass
        assert env.render() is None
        socket.send(json.dumps({"type": "run", "running": False}))
        assert "cannot be steered" in received(socket, "error")["text"]
    env.close()
    env.close()
    with pytest.raises(OSError, match="refused"):
        connect(address.replace("http", "ws") + "socket", origin=origin)


def test_a_watched_environment_is_pickled_without_its_page():
    env = gym.make("jostle/OneCube-v0", render_mode="human").unwrapped
    env.reset(seed=0)
    restored = pickle.loads(pickle.dumps(env))
    env.close()
    assert restored.render_mode == "human"
    restored.step(np.zeros(3))
    restored.close()

"""The page of an environment with `render_mode="human"`: it is watched, not steered."""

import json
import logging
import socket
import time
from pathlib import Path
from typing import Any

from jostle.envs.goal_image import goal_image_request
from jostle.envs.vector import TabletopVectorEnv
from jostle.playground.describe import describe_scene
from jostle.playground.messages import Message, Reply, error
from jostle.playground.player import GOAL, LIVE, image_messages
from jostle.playground.serve import WebServer
from jostle.playground.snapshot import status_of, take_snapshot
from jostle.playground.views import Views
from jostle.tasks.episode import EpisodeSpec

_LOG = logging.getLogger(__name__)


class EnvironmentPage:
    """Shows every state of the first environment while a browser watches, in real time."""

    def __init__(self) -> None:
        """Serve the page, and say where."""
        self._web = WebServer("127.0.0.1", Path("playground"))
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._views = Views()
        self._watched, self._due = False, 0.0
        self._episode: EpisodeSpec | None = None
        self._thread = self._web.run_in_background(self, self._listening)
        self.address = self._web.address(self._listening)
        _LOG.warning("The environment is shown at %s", self.address)

    def show(self, env: TabletopVectorEnv, infos: dict[str, Any]) -> None:
        """Show the present state; without watchers only the first of each episode."""
        if not self._watched and env.episodes[0] is self._episode:
            return
        self._wait(1 / env.metadata["render_fps"])
        if env.episodes[0] is not self._episode:
            self._show_episode(env.episodes[0])
        snapshot = take_snapshot(env, {**status_of(env, infos), "step": int(env.elapsed[0])})
        state = {"type": "state", "time": 0.0, **snapshot.to_json()}
        self._web.server.publish("state", json.dumps(state))
        self._show_images(LIVE, self._views.render(snapshot.request))

    def close(self) -> None:
        """Stop serving, and free the renderer."""
        self._web.stop()
        self._thread.join()
        self._listening.close()
        self._views.close()

    # What the server calls

    def start(self) -> None:
        """Nothing to start: the environment is stepped by its owner."""

    def stop(self) -> None:
        """Nothing to stop."""

    def watch(self, watched: bool) -> None:
        """Say whether anybody watches."""
        self._watched = watched

    def submit(self, message: Message, reply: Reply) -> None:
        """Refuse to be steered."""
        reply(error("This page shows an environment that a program steps: it cannot be steered."))

    # Internals

    def _show_episode(self, episode: EpisodeSpec) -> None:
        self._episode = episode
        setup = {
            "type": "setup",
            "watch_only": True,
            "setup": {"task": episode.task, "agent": "", "objects": 0, "vary": "", "seed": 0},
            **{"tasks": [], "agents": [], "factors": [], "speeds": [], "colors": {}},
        }
        self._web.server.publish("setup", json.dumps(setup))
        self._web.server.publish("scene", json.dumps(describe_scene(episode)))
        self._show_images(GOAL, self._views.render(goal_image_request(episode)))

    def _show_images(self, kind: int, images: tuple[bytes, ...]) -> None:
        for key, data in image_messages(kind, images):
            self._web.server.publish(key, data)

    def _wait(self, seconds: float) -> None:
        """Keep real time while a browser watches."""
        if self._watched:
            time.sleep(max(0.0, self._due - time.monotonic()))
        self._due = max(self._due + seconds, time.monotonic())

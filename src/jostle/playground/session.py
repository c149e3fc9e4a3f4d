"""The thread that simulates: works through the messages of the steering browser."""

import json
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from jostle.core.errors import JostleError
from jostle.playground import messages as m
from jostle.playground.describe import describe_scene, describe_setup
from jostle.playground.edits import restart_at
from jostle.playground.messages import Reply, error, refusal
from jostle.playground.player import Moment, Player, Publish, frames_per_action
from jostle.playground.save import new_path, save_episode, save_film
from jostle.playground.setup import YOU, PlaySetup
from jostle.playground.simulation import EpisodeCrashedError, Simulation
from jostle.scene.controller import ACTION_SECONDS

_DRIVE_SECONDS = 0.5
"""How long an action by hand holds without a new one: a lost key-up must not drive on."""
_MAX_COMMANDS = 256
"""Messages that wait at most."""
_LOG = logging.getLogger(__name__)


class Session:
    """A simulation on a thread of its own. It works only while a browser watches."""

    def __init__(
        self, setup: PlaySetup, publish: Publish, out: Path, runs: Path | None = None
    ) -> None:
        """Build the simulation, which refuses impossible setups; `start` starts it."""
        self.simulation = Simulation(setup)
        self._publish, self._out, self._runs = publish, out, runs
        self._commands: deque[tuple[m.Message, Reply]] = deque()
        self._wake = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="simulation", daemon=True)
        self.player = Player(publish, self._notify)
        self._running, self._stopping, self._watched = True, False, False
        self._speed, self._single, self._driven_until = 1.0, False, 0.0
        self._number = 0
        self._handlers: dict[type, Callable[[Any, Reply], None]] = {
            m.Run: self._on_run, m.StepOnce: self._on_step, m.Reset: self._on_reset,
            m.Speed: self._on_speed, m.Replay: self._on_replay, m.MoveGoal: self._on_goal,
            m.Push: self._on_push, m.Release: self._on_release, m.Color: self._on_color,
            m.Add: self._on_add, m.Remove: self._on_remove, m.Drive: self._on_drive,
            m.Setup: self._on_setup, m.Save: self._on_save,
        }  # fmt: skip

    # From other threads

    def start(self) -> None:
        """Start the threads."""
        self._tell_all()
        self.player.start()
        self._thread.start()

    def stop(self) -> None:
        """End the threads and free everything."""
        with self._wake:
            self._stopping = True
            self._wake.notify_all()
        self._thread.join()
        self.player.stop()
        self.simulation.close()

    def watch(self, watched: bool) -> None:
        """Say whether anybody watches; without watchers time stands still."""
        with self._wake:
            self._watched = watched
            self._wake.notify_all()

    def submit(self, message: m.Message, reply: Reply) -> None:
        """Queue a message; of several drags of one thing only the last counts."""
        with self._wake:
            if self._commands and _supersedes(message, self._commands[-1][0]):
                self._commands.pop()
            if len(self._commands) >= _MAX_COMMANDS:
                reply(error("Too many messages wait already; this one was left out."))
                return
            self._commands.append((message, reply))
            self._wake.notify_all()

    # The thread

    def _run(self) -> None:
        while True:
            with self._wake:
                while not (self._stopping or self._commands or self._should_simulate()):
                    self._wake.wait()
                if self._stopping:
                    return
                command = self._commands.popleft() if self._commands else None
            if command is not None:
                self._handle(*command)
            else:
                self._advance()

    def _should_simulate(self) -> bool:
        """Whether there is time to simulate: at most one action ahead of what is shown."""
        if not self._watched or self.player.replaying:
            return False
        ahead = self.player.waiting
        return self._single or (self._running and ahead < frames_per_action(self._speed))

    def _advance(self) -> None:
        frames = frames_per_action(self._speed)
        self._single = False
        if time.monotonic() > self._driven_until:
            self.simulation.driven = None
        try:
            snapshots = self.simulation.advance(frames)
        except EpisodeCrashedError as failure:
            self._recover(failure)
            return
        interval = ACTION_SECONDS / self._speed / frames
        episode = self.simulation.episode
        self.player.show([Moment(s, interval, episode, self._number) for s in snapshots])

    def _recover(self, failure: Exception) -> None:
        """Start the episode again after a crash; without the agent, if it fails again at once."""
        _LOG.warning("The episode restarts: %s", failure)
        self._event(error(f"{failure} The episode starts again."))
        again = self.simulation.step == 0
        try:
            self.simulation.reset()
            if again:
                self.simulation.change(replace(self.simulation.setup, agent=YOU))
                self._event(error("The agent failed at once: you drive now."))
        except JostleError as problem:
            self._running = False
            self._event(error(f"It cannot start again: {problem}"))
        self._number += 1
        self._tell_all()

    def _handle(self, message: m.Message, reply: Reply) -> None:
        try:
            self._handlers[type(message)](message, reply)
        except (JostleError, ImportError, OSError) as problem:
            reply(refusal(message, str(problem)))
        except Exception as problem:
            _LOG.exception("A message could not be worked off: %s", message)
            reply(refusal(message, f"That failed: {type(problem).__name__}: {problem}"))

    def _notify(self) -> None:
        with self._wake:
            self._wake.notify_all()

    # Messages

    def _on_run(self, message: m.Run, reply: Reply) -> None:
        self._running = message.running
        self._tell_mode()

    def _on_step(self, message: m.StepOnce, reply: Reply) -> None:
        self._running, self._single = False, True
        self._tell_mode()

    def _on_reset(self, message: m.Reset, reply: Reply) -> None:
        self.player.clear()
        self.simulation.reset(message.seed)
        self._number += 1
        self._tell_all()

    def _on_speed(self, message: m.Speed, reply: Reply) -> None:
        self._speed = message.value
        self._tell_mode()

    def _on_replay(self, message: m.Replay, reply: Reply) -> None:
        if not self.player.replay(message.on):
            reply(error("There is nothing to replay yet."))
            return
        self._event({"type": "replay", "on": message.on})
        if not message.on:
            self._show_now()

    def _on_goal(self, message: m.MoveGoal, reply: Reply) -> None:
        self.simulation.move_goal(message.slot, message.x, message.y, message.yaw)
        self._tell_scene()

    def _on_push(self, message: m.Push, reply: Reply) -> None:
        if self._running:
            self.simulation.drag(message.slot, message.x, message.y)
        else:
            self.simulation.place(message.slot, message.x, message.y)
            self._show_now()

    def _on_release(self, message: m.Release, reply: Reply) -> None:
        self.simulation.release()

    def _on_color(self, message: m.Color, reply: Reply) -> None:
        self.simulation.recolor(message.slot, message.color)
        self._tell_scene()

    def _on_add(self, message: m.Add, reply: Reply) -> None:
        self.player.clear()
        self.simulation.add_object()
        self._tell_all()

    def _on_remove(self, message: m.Remove, reply: Reply) -> None:
        self.player.clear()
        self.simulation.remove_object(message.slot)
        self._tell_all()

    def _on_drive(self, message: m.Drive, reply: Reply) -> None:
        action = np.array((message.x, message.y, message.z), np.float32)
        self.simulation.driven = np.clip(action, -1, 1)
        self._driven_until = time.monotonic() + _DRIVE_SECONDS

    def _on_setup(self, message: m.Setup, reply: Reply) -> None:
        setup = PlaySetup(**asdict(message))
        self.player.clear()
        self._event({"type": "busy", "text": f"Loading {setup.agent} …"})
        try:
            self.simulation.change(setup)
            self._number += 1
        finally:
            self._event({"type": "busy", "text": ""})
            self._tell_all()

    def _on_save(self, message: m.Save, reply: Reply) -> None:
        setup, episode = self.simulation.setup, self.simulation.episode
        path = new_path(self._out, setup.task, setup.agent, message.what)
        if message.what == "moment":
            episode = restart_at(episode, self.simulation.present_poses)
        if message.what != "film":
            _write(partial(save_episode, episode, path), reply)
            return
        cameras = [camera.name for camera in episode.appearance.cameras]
        film = partial(save_film, self.player.history.of_episode(self._number), cameras, path)
        threading.Thread(target=_write, args=(film, reply), name="film").start()

    # What the page is sent

    def _tell_all(self) -> None:
        """Everything, after a change of task, agent, objects or episode."""
        setup = describe_setup(self.simulation.setup, self._runs)
        self._publish("setup", json.dumps(setup))
        self._tell_mode()
        self._tell_scene()

    def _tell_mode(self) -> None:
        mode = {"type": "mode", "running": self._running, "speed": self._speed}
        self._publish("mode", json.dumps(mode))

    def _tell_scene(self) -> None:
        self._publish("scene", json.dumps(describe_scene(self.simulation.episode)))
        self._show_now()

    def _show_now(self) -> None:
        """Show the present state, unless the next action does so soon."""
        if self._running and self._watched and not self.player.replaying:
            return
        moment = Moment(
            self.simulation.snapshot(), 0.0, self.simulation.episode, self._number, live=False
        )
        self.player.show([moment])

    def _event(self, content: dict[str, Any]) -> None:
        self._publish("", json.dumps(content))


def _write(write: Callable[[], Path], reply: Reply) -> None:
    """Write a file, and say where it is or why it is not."""
    try:
        path = write()
    except (JostleError, ImportError, OSError, RuntimeError) as problem:
        reply(error(f"That could not be saved: {problem}"))
        return
    reply({"type": "saved", "name": path.name, "path": str(path)})


def _supersedes(new: m.Message, old: m.Message) -> bool:
    """Whether a message makes an older one pointless."""
    if isinstance(new, m.Drive):
        return isinstance(old, m.Drive)
    if isinstance(new, m.MoveGoal):
        return isinstance(old, m.MoveGoal) and new.slot == old.slot
    return isinstance(new, m.Push) and isinstance(old, m.Push) and new.slot == old.slot

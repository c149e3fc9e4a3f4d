"""Shows moments of the simulation at an even pace: renders them, and sends them out."""

import json
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from jostle.envs.goal_image import goal_image_request
from jostle.playground.history import REPLAY_SECONDS, History, ShownFrame
from jostle.playground.snapshot import Snapshot
from jostle.playground.views import Views
from jostle.scene.build import SUBSTEPS
from jostle.scene.controller import ACTION_SECONDS
from jostle.tasks.episode import EpisodeSpec

Publish = Callable[[str, str | bytes], None]
"""Sends data out under a key; newer data replaces older of the same key that was not sent yet."""
MAX_FPS = 25.0
"""Frames per second that are shown at most."""
LIVE, GOAL = 0, 1
"""First byte of an image: a camera view or a goal image. The second byte is the view's number."""
_LATE = 2.0
"""Frames of delay from which on images are left out."""


def frames_per_action(speed: float) -> int:
    """Moments of an action that are shown: as many as `MAX_FPS` allows, at most half of all."""
    allowed = MAX_FPS * ACTION_SECONDS / speed
    divisors = [n for n in range(1, SUBSTEPS // 2 + 1) if SUBSTEPS % n == 0 and n <= allowed]
    return max(divisors, default=1)


@dataclass(frozen=True)
class Moment:
    """A moment that waits to be shown."""

    snapshot: Snapshot
    interval: float
    """Seconds after the moment before."""
    episode: EpisodeSpec
    """The episode as it was edited then: its goal is shown, too."""
    number: int
    """Number of the episode."""
    live: bool = True
    """Whether time passed: moments of a pause are not recorded."""


class Player:
    """A thread that shows moments one after the other; the newest state is never left out."""

    def __init__(self, publish: Publish, on_shown: Callable[[], None]) -> None:
        """Send frames by `publish`; call `on_shown` after each, so that more can be simulated."""
        self._publish, self._on_shown = publish, on_shown
        self._waiting: deque[Moment] = deque()
        self._replaying: deque[ShownFrame] = deque()
        self._changed = threading.Condition()
        self._stopping = False
        self._views, self._goal_views = Views(), Views(256)
        self._goal: EpisodeSpec | None = None
        self._thread = threading.Thread(target=self._run, name="player", daemon=True)
        self.history = History()
        self._clock = 0.0
        self.shown = 0
        """Frames with images so far."""

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread and free the renderers."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        self._thread.join()

    @property
    def waiting(self) -> int:
        """Moments that are not shown yet."""
        return len(self._waiting)

    @property
    def replaying(self) -> bool:
        """Whether the past is shown."""
        return bool(self._replaying)

    def show(self, moments: Sequence[Moment]) -> None:
        """Queue moments."""
        with self._changed:
            self._waiting.extend(moments)
            self._changed.notify_all()

    def clear(self) -> None:
        """Forget moments that are not shown yet."""
        with self._changed:
            self._waiting.clear()
            self._changed.notify_all()

    def replay(self, on: bool) -> bool:
        """Show the last seconds again, or stop that; returns whether there is anything to show."""
        with self._changed:
            self._replaying = deque(self.history.last(REPLAY_SECONDS) if on else ())
            self._changed.notify_all()
            return bool(self._replaying) or not on

    def _run(self) -> None:
        due = time.monotonic()
        previous: float | None = None
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._stopping or self._waiting or self._replaying)
                if self._stopping:
                    break
                frame = self._replaying[0] if self._replaying else None
                moment = self._waiting[0] if frame is None else None
                if frame is not None:
                    interval = 0.05 if previous is None else frame.time - previous
                else:
                    assert moment is not None
                    interval = moment.interval
                due = max(due + interval, time.monotonic() - _LATE * interval)
                changed = self._wait_until(due, frame or moment)
            if changed:
                continue
            if frame is not None:
                previous = frame.time
                self._show_again(frame)
            elif moment is not None:
                previous = None
                late = time.monotonic() - due > _LATE * max(moment.interval, 0.02)
                self._show(moment, late and len(self._waiting) > 1)
            self._done(frame, moment)
        self._views.close()
        self._goal_views.close()

    def _wait_until(self, due: float, item: Any) -> bool:
        """Wait for the time to show an item; returns whether it was taken away meanwhile."""

        def gone() -> bool:
            queue: deque[Any] = self._replaying if self._replaying else self._waiting
            return self._stopping or not queue or queue[0] is not item

        while (left := due - time.monotonic()) > 0:
            self._changed.wait(left)
            if gone():
                return True
        return gone()

    def _done(self, frame: ShownFrame | None, moment: Moment | None) -> None:
        """Remove what was shown from its queue, unless that was cleared meanwhile."""
        with self._changed:
            queue: deque[Any] = self._waiting if frame is None else self._replaying
            if queue and queue[0] is (frame or moment):
                queue.popleft()
            ended = frame is not None and not queue
        if ended:
            self._publish("replay", json.dumps({"type": "replay", "on": False}))
        self._on_shown()

    def _show(self, moment: Moment, without_images: bool) -> None:
        """Show the present."""
        views: tuple[bytes, ...] = ()
        if not without_images:
            views = self._views.render(moment.snapshot.request)
            self.shown += 1
        self._clock += moment.interval if moment.live else 0.0
        content = {"type": "state", "time": round(self._clock, 3), **moment.snapshot.to_json()}
        state = json.dumps(content)
        if views and moment.live:
            self.history.append(ShownFrame(self._clock, state, views, moment.number))
        self._send(state, views)
        if moment.episode is not self._goal:
            self._goal = moment.episode
            images = self._goal_views.render(goal_image_request(moment.episode))
            self._send_images(GOAL, images)

    def _show_again(self, frame: ShownFrame) -> None:
        """Show a frame of the past."""
        left = self._replaying[-1].time - frame.time if self._replaying else 0.0
        state = {**json.loads(frame.state), "replay": round(left, 1)}
        self._send(json.dumps(state), frame.views)

    def _send(self, state: str, views: tuple[bytes, ...]) -> None:
        self._publish("state", state)
        self._send_images(LIVE, views)

    def _send_images(self, kind: int, images: tuple[bytes, ...]) -> None:
        for key, data in image_messages(kind, images):
            self._publish(key, data)


def image_messages(kind: int, images: tuple[bytes, ...]) -> list[tuple[str, bytes]]:
    """Keys and data of the images of all views."""
    return [
        (f"image {kind} {number}", struct.pack("BB", kind, number) + jpeg)
        for number, jpeg in enumerate(images)
    ]

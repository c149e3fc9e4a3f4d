"""From frames to entities by a frozen encoder: what an agent sees that sees for itself.

Nothing but the cameras' frames is ever read here; coordinates pass by untouched on their way to
the reward of training.
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from jostle.core.clock import CLOCK
from jostle.core.errors import BadValueError
from jostle.core.protocols import Observation
from jostle.particles.catalog import Encoder
from jostle.replay.sampler import GoalForm
from jostle.rollout.grounding import GROUND, Grounding
from jostle.rollout.observer import Sets

_AT_ONCE = 8
"""Scenes that are encoded in one go: larger batches fall out of the caches."""
GOAL = "goal_"
"""What the name of a goal's frame begins with."""


class PixelObserver:
    """Frames of all cameras to entities, and the goal's frames once per episode.

    A camera that is missing shows nothing: its view is an empty set, and the agent goes on with the
    others.
    """

    rng = None
    code_width = 0

    def __init__(
        self,
        encoder: Encoder,
        cameras: Sequence[str],
        copies: int,
        ground: Grounding | None = None,
    ) -> None:
        """See with `encoder` through `cameras`, in the order it was trained with.

        With `ground`, entities are also told where on the table they would lie.
        """
        self._encoder, self._cameras, self._ground = encoder, tuple(cameras), ground
        self.codes = np.zeros((copies, 0), np.int64)
        self._photo: NDArray[np.uint8] | None = None
        self._aim: Sets | None = None

    @property
    def state_shape(self) -> tuple[int, int, int]:
        """Views, entities and features of a state."""
        return len(self._cameras), self._encoder.shape[0], self.features

    @property
    def goal_shape(self) -> tuple[int, int, int]:
        """A goal is seen as a state is."""
        return self.state_shape

    @property
    def features(self) -> int:
        """Width of an entity."""
        return self._encoder.shape[1] + (0 if self._ground is None else GROUND)

    def goal_form(self) -> GoalForm:
        """Hindsight takes whole sets: nobody knows who is who."""
        every = np.ones(self.features, np.float32)
        return GoalForm(0, every, every)

    def begin(self, copies: NDArray[np.int64]) -> None:
        """Nothing to draw: objects are told apart by what they look like."""
        del copies

    def state(self, observation: Observation) -> Sets:
        """What the cameras show."""
        there, frames = self._frames(observation, "")
        return self._in_place(self._see(frames), there)

    def goal(self, observation: Observation) -> Sets:
        """What the goal's pictures show; only pictures that changed are looked at again."""
        there, frames = self._frames(observation, GOAL)
        if self._photo is None or self._aim is None or self._photo.shape != frames.shape:
            self._photo, self._aim = frames.copy(), self._see(frames)
            return self._in_place(self._aim, there)
        fresh = (frames != self._photo).reshape(len(frames), -1).any(1)  # (B,)
        if fresh.any():
            seen = self._see(frames[fresh])
            values, visible = self._aim.values.copy(), self._aim.visible.copy()
            values[fresh], visible[fresh] = seen.values, seen.visible
            self._photo[fresh], self._aim = frames[fresh], Sets(values, visible)
        return self._in_place(self._aim, there)

    def coordinates(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Task coordinates (B, N, w) that the reward of training is about: all of them."""
        return rows

    def _frames(self, observation: Observation, head: str) -> tuple[list[int], NDArray[np.uint8]]:
        """Which views there are, and their frames (B, v, H, W, 3)."""
        there = [view for view, name in enumerate(self._cameras) if head + name in observation]
        if not there:
            raise BadValueError(
                f"This agent looks through {', '.join(self._cameras)}, but there are no frames "
                f"'{head}{self._cameras[0]}' or of its other cameras. Build the environment with "
                "obs_type='both' and these cameras."
            )
        return there, np.stack([observation[head + self._cameras[view]] for view in there], axis=1)

    def _in_place(self, seen: Sets, there: list[int]) -> Sets:
        """Sets of all views: what is seen where there is a view, nothing elsewhere."""
        if len(there) < len(self._cameras):
            shape = (len(seen.values), len(self._cameras), *self._encoder.shape)
            values, visible = np.zeros(shape, np.float32), np.zeros(shape[:-1], bool)
            values[:, there], visible[:, there] = seen.values, seen.visible
            seen = Sets(values, visible)
        return seen if self._ground is None else self._ground(seen)

    def _see(self, frames: NDArray[np.uint8]) -> Sets:
        with CLOCK("encoding"):
            parts = [
                self._encoder.encode(torch.from_numpy(frames[start : start + _AT_ONCE]))
                for start in range(0, len(frames), _AT_ONCE)
            ]
            values, visible = (torch.cat(column).numpy() for column in zip(*parts, strict=True))
        return Sets(values * visible[..., None], visible)

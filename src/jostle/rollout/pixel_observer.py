"""From frames to entities by a frozen encoder: what an agent sees that sees for itself.

Nothing but the cameras' frames is ever read here; coordinates pass by untouched on their way to
the reward of training.
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from jostle.core.errors import BadValueError
from jostle.core.protocols import Observation
from jostle.particles.catalog import Encoder
from jostle.replay.sampler import GoalForm
from jostle.rollout.observer import Sets

_AT_ONCE = 8
"""Scenes that are encoded in one go: larger batches fall out of the caches."""
GOAL = "goal_"
"""What the name of a goal's frame begins with."""


class PixelObserver:
    """Frames of all cameras to entities, and the goal's frames once per episode."""

    rng = None
    code_width = 0

    def __init__(self, encoder: Encoder, cameras: Sequence[str], copies: int) -> None:
        """See with `encoder` through `cameras`, in the order it was trained with."""
        self._encoder, self._cameras = encoder, tuple(cameras)
        self.codes = np.zeros((copies, 0), np.int64)
        self._photo: NDArray[np.uint8] | None = None
        self._aim: Sets | None = None

    @property
    def state_shape(self) -> tuple[int, int, int]:
        """Views, entities and features of a state."""
        return (len(self._cameras), *self._encoder.shape)

    @property
    def goal_shape(self) -> tuple[int, int, int]:
        """A goal is seen as a state is."""
        return self.state_shape

    @property
    def features(self) -> int:
        """Width of an entity."""
        return self._encoder.shape[1]

    def goal_form(self) -> GoalForm:
        """Hindsight takes whole sets: nobody knows who is who."""
        every = np.ones(self.features, np.float32)
        return GoalForm(0, every, every)

    def begin(self, copies: NDArray[np.int64]) -> None:
        """Nothing to draw: objects are told apart by what they look like."""
        del copies

    def state(self, observation: Observation) -> Sets:
        """What the cameras show."""
        return self._see(self._frames(observation, ""))

    def goal(self, observation: Observation) -> Sets:
        """What the goal's pictures show; only pictures that changed are looked at again."""
        frames = self._frames(observation, GOAL)
        if self._photo is None or self._aim is None or self._photo.shape != frames.shape:
            self._photo, self._aim = frames.copy(), self._see(frames)
            return self._aim
        fresh = (frames != self._photo).reshape(len(frames), -1).any(1)  # (B,)
        if fresh.any():
            seen = self._see(frames[fresh])
            values, visible = self._aim.values.copy(), self._aim.visible.copy()
            values[fresh], visible[fresh] = seen.values, seen.visible
            self._photo[fresh], self._aim = frames[fresh], Sets(values, visible)
        return self._aim

    def coordinates(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Task coordinates (B, N, w) that the reward of training is about: all of them."""
        return rows

    def _frames(self, observation: Observation, head: str) -> NDArray[np.uint8]:
        """Stack the frames of all cameras, (B, V, H, W, 3)."""
        missing = [name for name in self._cameras if head + name not in observation]
        if missing:
            raise BadValueError(
                f"This agent looks through {', '.join(self._cameras)}, but there are no frames "
                f"'{head}{missing[0]}'. Build the environment with obs_type='both' and these "
                "cameras."
            )
        return np.stack([observation[head + name] for name in self._cameras], axis=1)

    def _see(self, frames: NDArray[np.uint8]) -> Sets:
        parts = [
            self._encoder.encode(torch.from_numpy(frames[start : start + _AT_ONCE]))
            for start in range(0, len(frames), _AT_ONCE)
        ]
        values, visible = (torch.cat(column).numpy() for column in zip(*parts, strict=True))
        return Sets(values * visible[..., None], visible)

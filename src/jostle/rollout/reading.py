"""A state agent fed with places that were read off frames: what perception alone costs.

Objects and goals are where the frames say. The gripper is where the robot's own joints say it is,
and objects stand as high as they did when the reader was calibrated. True places of objects and
goals never reach the agent.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from jostle.core.errors import require
from jostle.core.protocols import Observation, Policy
from jostle.envs.vector import TabletopVectorEnv
from jostle.rollout.pixel_observer import GOAL

Places = NDArray[np.float64]


class Reads(Protocol):
    """Whatever tells places on the table from frames."""

    @property
    def middle(self) -> Places:
        """What is told of an object that was never seen, (2,)."""
        ...

    @property
    def height(self) -> float:
        """Height of objects on the table, in meters."""
        ...

    def read(self, frames: NDArray[np.uint8], colors: NDArray[np.float32]) -> Places:
        """Places (B, N, 2) of the objects of colors (B, N, 3); NaN where nothing is found."""
        ...


class ReadingPolicy:
    """Lets a policy for true state act on what a reader tells it; episodes begin by `restart`."""

    def __init__(self, policy: Policy, reader: Reads, env: TabletopVectorEnv) -> None:
        """Read in the frames of `env`, whose colors say which object is which."""
        name = env.recipe.task.name
        require(
            env.measure.kind == "position",
            f"{name} asks for headings, and only places can be read off frames.",
        )
        require(
            not env.measure.padded,
            "Reading needs to know how many objects there are: ask for one number of them.",
        )
        self._policy, self._reader, self._env = policy, reader, env
        self._cameras = [camera.name for camera in env.recipe.look.cameras]
        self.restart()

    def restart(self) -> None:
        """Forget the last episode."""
        shape = (self._env.num_envs, self._env.recipe.most, 2)
        self._last: Places = np.broadcast_to(self._reader.middle, shape)
        self._goal: Places | None = None
        self.found = np.zeros(shape[:2], bool)
        """Which objects were seen in the last moment, (B, N)."""
        if hasattr(self._policy, "restart"):
            self._policy.restart()

    def act(self, observation: Observation) -> NDArray[np.float32]:
        """Choose actions, (B, A)."""
        return self.decide(self.told(observation))

    def decide(self, told: Observation) -> NDArray[np.float32]:
        """Choose actions (B, A) for what `told` gave."""
        return self._policy.act(told)

    def told(self, observation: Observation) -> Observation:
        """What the agent gets to know: an object that is hidden stays where it was last seen."""
        seen = self._read(observation, "")
        self.found = ~np.isnan(seen[..., 0])
        self._last = np.where(self.found[..., None], seen, self._last)
        if self._goal is None:
            goal = self._read(observation, GOAL)
            self._goal = np.where(np.isnan(goal), self._reader.middle, goal)
        gripper = observation["observation"][:, :1]  # (B, 1, 3)
        height = np.full((*self._last.shape[:2], 1), self._reader.height)
        objects = np.concatenate((self._last, height), axis=-1)  # (B, N, 3)
        return {
            "observation": np.concatenate((gripper, objects), axis=1).astype(np.float32),
            "achieved_goal": self._last.astype(np.float32),
            "desired_goal": self._goal.astype(np.float32),
        }

    def _read(self, observation: Observation, head: str) -> Places:
        frames = np.stack([observation[head + name] for name in self._cameras], axis=1)
        count = self._env.recipe.most
        colors = [episode.look.colors[:count] for episode in self._env.episodes]
        return self._reader.read(frames, np.array(colors, np.float32))

"""State agents on state estimated from frames, to measure the cost of perception alone.

Positions of objects and goals are estimated from frames. The position of the gripper is known from
the robot's joints, and the height of objects is the one in the frames that the estimator was fitted
on. True positions of objects and goals never reach the agent.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from jostle.core.errors import require
from jostle.core.protocols import Observation, Policy
from jostle.envs.vector import TabletopVectorEnv
from jostle.rollout.pixel_observer import GOAL

Positions = NDArray[np.float64]


class PositionEstimator(Protocol):
    """Estimates positions of objects on the table from frames."""

    @property
    def mean_position(self) -> Positions:
        """Position assumed for an object that was never detected, (2,)."""
        ...

    @property
    def height(self) -> float:
        """Height of objects on the table, in meters."""
        ...

    def estimate(self, frames: NDArray[np.uint8], colors: NDArray[np.float32]) -> Positions:
        """Positions (B, N, 2) of objects by their colors (B, N, 3); NaN if not detected."""
        ...


class EstimatedStatePolicy:
    """Runs a state policy on estimated instead of true state."""

    def __init__(
        self, policy: Policy, estimator: PositionEstimator, env: TabletopVectorEnv
    ) -> None:
        """Estimate state from the frames of `env`; objects are identified by their colors."""
        task = env.episode_sampler.task.name
        require(
            env.goal_metric.goal_type == "position",
            f"{task} has yaw goals, but only positions can be estimated from frames.",
        )
        require(
            not env.goal_metric.padded,
            "State estimation needs a fixed number of objects, not a range.",
        )
        self._policy, self._estimator, self._env = policy, estimator, env
        self._cameras = [camera.name for camera in env.episode_sampler.appearance.cameras]
        self.reset()

    def reset(self) -> None:
        """Start a new episode."""
        shape = (self._env.num_envs, self._env.episode_sampler.max_objects, 2)
        self._last: Positions = np.broadcast_to(self._estimator.mean_position, shape)
        self._goal: Positions | None = None
        self.detected = np.zeros(shape[:2], bool)
        """Which objects were detected in the last step, (B, N)."""
        if hasattr(self._policy, "reset"):
            self._policy.reset()

    def act(self, observation: Observation) -> NDArray[np.float32]:
        """Choose actions, (B, A)."""
        return self.act_on(self.estimate_state(observation))

    def act_on(self, estimate: Observation) -> NDArray[np.float32]:
        """Choose actions (B, A) for a result of `estimate_state`."""
        return self._policy.act(estimate)

    def estimate_state(self, observation: Observation) -> Observation:
        """Observation with estimated positions; an undetected object stays at its last position."""
        positions = self._estimate(observation, "")
        self.detected = ~np.isnan(positions[..., 0])
        self._last = np.where(self.detected[..., None], positions, self._last)
        if self._goal is None:
            goal = self._estimate(observation, GOAL)
            self._goal = np.where(np.isnan(goal), self._estimator.mean_position, goal)
        gripper = observation["observation"][:, :1]  # (B, 1, 3)
        height = np.full((*self._last.shape[:2], 1), self._estimator.height)
        objects = np.concatenate((self._last, height), axis=-1)  # (B, N, 3)
        return {
            "observation": np.concatenate((gripper, objects), axis=1).astype(np.float32),
            "achieved_goal": self._last.astype(np.float32),
            "desired_goal": self._goal.astype(np.float32),
        }

    def _estimate(self, observation: Observation, prefix: str) -> Positions:
        frames = np.stack([observation[prefix + name] for name in self._cameras], axis=1)
        count = self._env.episode_sampler.max_objects
        colors = [episode.appearance.colors[:count] for episode in self._env.episodes]
        return self._estimator.estimate(frames, np.array(colors, np.float32))

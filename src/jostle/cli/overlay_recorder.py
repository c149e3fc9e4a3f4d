"""Overlays for `jostle video`: what a pixel agent's encoder, or the agent, finds in each step."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from jostle.core.protocols import Encoder, Policy
from jostle.reports.overlays import (
    FrameDetections,
    detect,
    detections_column,
    project_objects,
)
from jostle.reports.video import Frame
from jostle.rollout.pixel_observer import GOAL
from jostle.rollout.policies import AgentPolicy
from jostle.rollout.rollout import Step
from jostle.scene.cameras import resolve_cameras


class OverlayRecorder:
    """Records, step by step, the agent's own frames with the entities that it detects in them."""

    def __init__(
        self, policy: Policy, encoder: Encoder, cameras: Sequence[str], overlay: str, height: int
    ) -> None:
        """Record what the overlay shows, in the views of `cameras`, in columns of `height`."""
        self._policy, self._encoder, self._cameras = policy, encoder, tuple(cameras)
        self._overlay, self._height = overlay, height
        self.columns: list[Frame] = []
        """An image for each step: the agent's frames below each other."""

    def record(self, step: Step) -> None:
        """Record one step; the goal image stays the same throughout."""
        if self._overlay == "goal" and self.columns:
            self.columns.append(self.columns[0])
            return
        frames, weights = self._frames(step), None
        if self._overlay == "attention":
            assert isinstance(self._policy, AgentPolicy)
            weights = self._policy.attention(step.observation)[0]
        detected = self._detected(step, frames, weights)
        kind = "goal" if self._overlay == "goal" else "observed"
        names = [f"{kind}: {name}" for name in self._cameras]
        self.columns.append(detections_column(frames, detected, self._height, names))

    def _detected(
        self, step: Step, frames: NDArray[np.uint8], weights: NDArray[np.float32] | None
    ) -> FrameDetections:
        """The encoder's entities, or the objects that the agent has found."""
        policy = self._policy
        if not isinstance(policy, AgentPolicy) or not policy.agent.sensor.finds_objects:
            return detect(self._encoder, frames, weights)
        policy.observe(step.observation)
        assert policy.seen is not None
        objects, cameras = policy.seen[self._overlay == "goal"], resolve_cameras(self._cameras)
        return project_objects(objects, policy.layout, cameras, frames.shape[1], weights)

    def _frames(self, step: Step) -> NDArray[np.uint8]:
        prefix = GOAL if self._overlay == "goal" else ""
        return np.stack([step.observation[prefix + name][0] for name in self._cameras])

"""Overlays for `jostle video`: what a pixel agent's encoder detects in each step."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from jostle.core.protocols import Encoder, Policy
from jostle.reports.overlays import FrameDetections, detect, goal_layout, state_layout
from jostle.reports.video import Frame
from jostle.rollout.pixel_observer import GOAL
from jostle.rollout.policies import AgentPolicy
from jostle.rollout.recording import Recording
from jostle.rollout.rollout import Step


class OverlayRecorder:
    """Records, step by step, the entities that the agent's encoder detects."""

    def __init__(
        self, policy: Policy, encoder: Encoder, cameras: Sequence[str], overlay: str
    ) -> None:
        """Record what the overlay shows, in the views of `cameras`."""
        self._policy, self._encoder, self._cameras = policy, encoder, tuple(cameras)
        self._overlay = overlay
        self._detections: list[FrameDetections] = []

    def record(self, step: Step) -> None:
        """Record one step; the goal image stays the same throughout."""
        if self._overlay == "goal":
            self._detections = self._detections or [detect(self._encoder, self._frames(step, GOAL))]
            return
        weights = None
        if self._overlay == "attention":
            assert isinstance(self._policy, AgentPolicy)
            weights = self._policy.attention(step.observation)[0]
        self._detections.append(detect(self._encoder, self._frames(step, ""), weights))

    def frames(self, recording: Recording, captions: Sequence[str]) -> list[Frame]:
        """Lay out the frames of the video, each with a caption."""
        layout = goal_layout if self._overlay == "goal" else state_layout
        detections = self._detections * (len(captions) if self._overlay == "goal" else 1)
        return [
            layout(
                {name: view[index] for name, view in recording.views.items()},
                recording.goals,
                detected,
                caption,
            )
            for index, (detected, caption) in enumerate(zip(detections, captions, strict=True))
        ]

    def _frames(self, step: Step, prefix: str) -> NDArray[np.uint8]:
        return np.stack([step.observation[prefix + name][0] for name in self._cameras])

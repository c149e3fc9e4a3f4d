"""What `film` keeps of an agent that sees, to draw it over the frames."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from jostle.core.protocols import Policy
from jostle.particles.catalog import Model
from jostle.reports.films import Frame
from jostle.reports.overlays import Found, find, with_goal, with_state
from jostle.rollout.driver import Step
from jostle.rollout.footage import Footage
from jostle.rollout.learned import LearnedPolicy
from jostle.rollout.pixel_observer import GOAL


class Witness:
    """Looks, moment by moment, at what the agent is shown, with the agent's eyes."""

    def __init__(self, policy: Policy, eyes: Model, cameras: Sequence[str], overlay: str) -> None:
        """Look through `cameras` for what an overlay shows."""
        self._policy, self._eyes, self._cameras = policy, eyes, tuple(cameras)
        self._overlay = overlay
        self._found: list[Found] = []

    def watch(self, step: Step) -> None:
        """Keep what is found in one moment; the goal's picture stays the same."""
        if self._overlay == "goal":
            self._found = self._found or [find(self._eyes, self._frames(step, GOAL))]
            return
        weights = None
        if self._overlay == "attention":
            assert isinstance(self._policy, LearnedPolicy)
            weights = self._policy.attention(step.observation)[0]
        self._found.append(find(self._eyes, self._frames(step, ""), weights))

    def frames(self, footage: Footage, captions: Sequence[str]) -> list[Frame]:
        """Lay out a film, with a line of text under every frame."""
        draw = with_goal if self._overlay == "goal" else with_state
        moments = self._found * (len(captions) if self._overlay == "goal" else 1)
        return [
            draw({name: view[at] for name, view in footage.views.items()}, footage.goals, *told)
            for at, told in enumerate(zip(moments, captions, strict=True))
        ]

    def _frames(self, step: Step, head: str) -> NDArray[np.uint8]:
        return np.stack([step.observation[head + name][0] for name in self._cameras])

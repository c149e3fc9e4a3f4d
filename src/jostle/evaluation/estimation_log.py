"""Errors of a state estimator while an agent acts on its estimates."""

import numpy as np
from numpy.typing import NDArray

from jostle.core.protocols import Observation
from jostle.rollout.state_estimation import EstimatedStatePolicy

Positions = NDArray[np.float32]


class EstimationLog:
    """Wraps a policy on estimated state, and logs estimated beside true positions."""

    def __init__(self, policy: EstimatedStatePolicy) -> None:
        """Log the estimates that `policy` acts on."""
        self._policy = policy
        self._objects: list[tuple[Positions, Positions]] = []
        self._goals: list[tuple[Positions, Positions]] = []
        self._detected: list[NDArray[np.bool_]] = []
        self._first_step = True

    def reset(self) -> None:
        """Start a new episode."""
        self._policy.reset()
        self._first_step = True

    def act(self, observation: Observation) -> NDArray[np.float32]:
        """Choose actions, (B, A)."""
        estimate = self._policy.estimate_state(observation)
        self._objects.append((estimate["achieved_goal"], observation["achieved_goal"]))
        self._detected.append(self._policy.detected)
        if self._first_step:
            self._goals.append((estimate["desired_goal"], observation["desired_goal"]))
            self._first_step = False
        return self._policy.act_on(estimate)

    @property
    def objects(self) -> tuple[Positions, Positions]:
        """Estimated and true positions of objects in all steps, (M, N, 2) each."""
        return _concatenate(self._objects)

    @property
    def goals(self) -> tuple[Positions, Positions]:
        """Estimated and true positions of goals in all episodes, (E, N, 2) each."""
        return _concatenate(self._goals)

    @property
    def detection_rate(self) -> float:
        """Fraction of objects, over all steps, that were detected in any view."""
        return float(np.mean(self._detected))


def _concatenate(pairs: list[tuple[Positions, Positions]]) -> tuple[Positions, Positions]:
    estimated, true = zip(*pairs, strict=True)
    return np.concatenate(estimated), np.concatenate(true)

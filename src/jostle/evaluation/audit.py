"""How far what an agent is told is from the truth. The agent never learns of it."""

import numpy as np
from numpy.typing import NDArray

from jostle.core.protocols import Observation
from jostle.rollout.reading import ReadingPolicy

Rows = NDArray[np.float32]


class Audit:
    """Lets a policy that reads act, and notes beside what it was told what was true."""

    def __init__(self, policy: ReadingPolicy) -> None:
        """Watch over `policy`."""
        self._policy = policy
        self._objects: list[tuple[Rows, Rows]] = []
        self._goals: list[tuple[Rows, Rows]] = []
        self._found: list[NDArray[np.bool_]] = []
        self._fresh = True

    def restart(self) -> None:
        """Begin an episode."""
        self._policy.restart()
        self._fresh = True

    def act(self, observation: Observation) -> NDArray[np.float32]:
        """Choose actions, (B, A)."""
        told = self._policy.told(observation)
        self._objects.append((told["achieved_goal"], observation["achieved_goal"]))
        self._found.append(self._policy.found)
        if self._fresh:
            self._goals.append((told["desired_goal"], observation["desired_goal"]))
            self._fresh = False
        return self._policy.decide(told)

    @property
    def objects(self) -> tuple[Rows, Rows]:
        """Places of objects as told and in truth, (M, N, 2) each, of all moments."""
        return _joined(self._objects)

    @property
    def goals(self) -> tuple[Rows, Rows]:
        """Places of goals as told and in truth, (E, N, 2) each, of all episodes."""
        return _joined(self._goals)

    @property
    def found(self) -> float:
        """Share of objects, over all moments, that were seen by any camera."""
        return float(np.mean(self._found))


def _joined(pairs: list[tuple[Rows, Rows]]) -> tuple[Rows, Rows]:
    told, true = zip(*pairs, strict=True)
    return np.concatenate(told), np.concatenate(true)

"""Finished episodes as arrays, nested by who observed them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.core.entities import Entities


@dataclass(frozen=True)
class Trajectory:
    """What one observer saw of E episodes of T steps."""

    states: Entities
    """Entities at every step, (E, T+1, V, K, D)."""
    goal: Entities
    """Goal entities, (E, V, G, D)."""


@dataclass(frozen=True)
class Episodes:
    """E finished episodes of T steps."""

    actor: Trajectory
    """What the actor observed."""
    achieved: NDArray[np.float32]
    """Task coordinates of the objects, (E, T+1, N, w)."""
    desired: NDArray[np.float32]
    """Task coordinates of the goals, (E, N, w)."""
    actions: NDArray[np.float32]
    """Actions taken, or the teacher's labels in DAgger, (E, T, A)."""
    critic: Trajectory | None = None
    """What privileged critics observed: true state."""
    rendered_goals: Entities | None = None
    """Entities of images with the arm retracted, taken at equal intervals, (E, M, V, K, D)."""
    state_obs: NDArray[np.float32] | None = None
    """True state as the environment gives it, for teachers asked again, (E, T+1, 1+N, F)."""
    color_ids: NDArray[np.int64] | None = None
    """Which known color each object has, -1 for an absent one, (E, N)."""
    imitation_error: NDArray[np.float32] | None = None
    """Last known distance of the student's action to the teacher's, (E, T)."""
    objects: Trajectory | None = None
    """Objects found in images, for rewards that read them: (E, T+1, 1, M, W), goals (E, 1, M, W).
    """
    goal_steps: NDArray[np.bool_] | None = None
    """Which steps may become goals of hindsight by images, (E, T+1); None: by coordinates."""

    def __len__(self) -> int:
        """Number of episodes."""
        return len(self.actions)

    @property
    def steps(self) -> int:
        """Number of actions of an episode."""
        return self.actions.shape[1]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All arrays by dotted name, without those that are absent."""
        found: dict[str, NDArray[Any]] = {}
        for name, part in vars(self).items():
            if isinstance(part, Trajectory):
                found |= _entity_arrays(f"{name}.states", part.states)
                found |= _entity_arrays(f"{name}.goal", part.goal)
            elif isinstance(part, Entities):
                found |= _entity_arrays(name, part)
            elif part is not None:
                found[name] = part
        return found

    @staticmethod
    def from_arrays(arrays: dict[str, NDArray[Any]]) -> "Episodes":
        """Undo `arrays`."""
        fields: dict[str, Any] = {}
        for name in Episodes.__dataclass_fields__:
            if f"{name}.states.values" in arrays:
                states, goal = (_entities(arrays, f"{name}.{part}") for part in ("states", "goal"))
                fields[name] = Trajectory(states, goal)
            elif f"{name}.values" in arrays:
                fields[name] = _entities(arrays, name)
            elif name in arrays:
                fields[name] = arrays[name]
        return Episodes(**fields)


def _entity_arrays(name: str, entities: Entities) -> dict[str, NDArray[Any]]:
    return {f"{name}.values": entities.values, f"{name}.visible": entities.visible}


def _entities(arrays: dict[str, NDArray[Any]], name: str) -> Entities:
    return Entities(arrays[f"{name}.values"], arrays[f"{name}.visible"])

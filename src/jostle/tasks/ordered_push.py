"""Two cubes into a corridor with one open end: the rear one must go first."""

from dataclasses import dataclass

import numpy as np

from jostle.scene.spec import SceneSpec
from jostle.tasks.episode import Planar
from jostle.tasks.task import Task

_REAR, _FRONT = 0.2225, 0.135
# The original lets cubes start up to x = 0.1125, where they overlap the walls by a centimeter.
_START = ((-0.1, -0.15), (0.1, 0.15))


@dataclass(frozen=True, kw_only=True)
class OrderedPush(Task):
    """A coin decides which cube belongs at the closed end of the corridor."""

    def start(self, scene: SceneSpec, rng: np.random.Generator) -> Planar:
        """Draw starts in front of the corridor."""
        return self.scattered(scene, _START, rng)

    def goal(self, scene: SceneSpec, rng: np.random.Generator) -> tuple[Planar, Planar]:
        """Put one cube at the rear and the other at the front."""
        goal = np.zeros((len(scene.objects), 3))
        places = (_REAR, _FRONT) if rng.integers(2) else (_FRONT, _REAR)
        goal[:, 0] = places
        return goal, goal

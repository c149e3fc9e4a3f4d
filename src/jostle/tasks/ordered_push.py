"""Two cubes to be pushed into a corridor with one open end: the rear one must go first."""

from dataclasses import dataclass

import numpy as np

from jostle.scene.spec import SceneSpec
from jostle.tasks.episode import PlanarPoses
from jostle.tasks.task import Task

_REAR_X, _FRONT_X = 0.2225, 0.135
# The original lets cubes start up to x = 0.1125, where they overlap the walls by a centimeter.
_START_REGION = ((-0.1, -0.15), (0.1, 0.15))


@dataclass(frozen=True, kw_only=True)
class OrderedPush(Task):
    """Which cube belongs at the closed end of the corridor is random."""

    def sample_start(self, scene: SceneSpec, rng: np.random.Generator) -> PlanarPoses:
        """Sample start poses in front of the corridor."""
        return self.sample_poses(scene, _START_REGION, rng)

    def sample_goal(
        self, scene: SceneSpec, rng: np.random.Generator
    ) -> tuple[PlanarPoses, PlanarPoses]:
        """Assign the rear of the corridor to one cube and the front to the other."""
        goal = np.zeros((len(scene.objects), 3))
        goal[:, 0] = (_REAR_X, _FRONT_X) if rng.integers(2) else (_FRONT_X, _REAR_X)
        return goal, goal

"""T-blocks to be turned. Scored by heading alone: where a block lies does not count."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jostle.scene.spec import SceneSpec
from jostle.tasks.episode import Planar
from jostle.tasks.task import Task, region


@dataclass(frozen=True, kw_only=True)
class PushT(Task):
    """One T in the goal picture gives the heading that every block shall have."""

    def goal(self, scene: SceneSpec, rng: np.random.Generator) -> tuple[Planar, Planar]:
        """Draw one block for the picture; all blocks shall have its heading."""
        photo = self.scattered(scene, region(scene.table), rng)
        photo[1:] = np.nan
        goal = np.repeat(photo[:1], len(scene.objects), axis=0)
        return goal, photo

    def turns(self, count: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw any heading."""
        return rng.uniform(-np.pi, np.pi, count)

    def sort_of(self, slot: int, count: int) -> int:
        """All blocks are of one color."""
        del slot, count
        return 0

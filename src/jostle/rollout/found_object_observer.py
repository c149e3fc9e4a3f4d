"""Objects found in images as the entities of an agent, in the form of true state.

Particles of all views become objects on the table, followed through the episode and identified with
those of the goal picture by their looks. Read are images, the cameras' calibration, and where the
robot's own gripper is: nothing of the simulator's state. Shapes: B environments, N objects of the
goal, M followed objects, W columns of one.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from jostle.core.checkpoint import pack_rng, unpack_rng
from jostle.core.entities import (
    FEATURES,
    GRIPPER,
    HEIGHT,
    OBJECT_ID,
    POSITION,
    TABLE_XY,
    Entities,
    EntityLayout,
)
from jostle.core.errors import require
from jostle.core.found_objects import SEEN, VIEWS
from jostle.core.object_classifier import ObjectClassifier
from jostle.core.profiler import PROFILER
from jostle.core.protocols import Agent, GoalSpec, Observation
from jostle.rollout.goal_identities import GoalIdentities
from jostle.rollout.hidden_objects import FALLEN_HEIGHT, must_be_gone, nearest, pushed
from jostle.rollout.object_tracks import ObjectTracker
from jostle.rollout.pixel_observer import PixelObserver
from jostle.rollout.policies import AgentPolicy
from jostle.rollout.table_projection import UNIT
from jostle.scene.spec import CUBE_SIDE, MAX_OBJECTS

FOUND_LAYOUT = EntityLayout(((POSITION, 2), (HEIGHT, 1), (GRIPPER, 1), (OBJECT_ID, MAX_OBJECTS)))
"""Columns of entities: those of true state."""
_UNSEEN = 10.0
"""Meters by which a track that is not seen now counts as farther away."""


@dataclass
class _Followed:
    """What is known of running episodes."""

    particles: Entities
    """Particles of the goal, (B, V, K, D)."""
    goal: Entities
    """The goal's entities, (B, 1, N, D)."""
    rows: NDArray[np.int64]
    """Rows of the found objects that the goal's entities are, (B, N)."""
    places: NDArray[np.float32]
    """Where each object was last, (B, N, 2)."""
    known: NDArray[np.bool_]
    """Which objects have been seen in the episode, (B, N)."""
    seen: NDArray[np.bool_]
    """Which objects some view shows now, (B, N)."""
    hidden_for: NDArray[np.int64]
    """Steps since each object was seen, (B, N)."""
    fallen: NDArray[np.bool_]
    """Which objects are taken to have fallen off the table, (B, N)."""
    gripper: NDArray[np.float32]
    """Where the gripper was at the last step, (B, 3); NaN before the first."""


class FoundObjectObserver:
    """Entities of the gripper and of objects found in images; row by row, goals are theirs.

    An episode begins with `reset`, or where the goal picture changes.
    """

    layout = FOUND_LAYOUT

    def __init__(
        self,
        particles: PixelObserver,
        classifier: ObjectClassifier,
        envs_and_objects: tuple[int, int],
        rng: np.random.Generator | None = None,
    ) -> None:
        """Find objects among particles.

        Args:
            particles: Encodes images, with positions on the table.
            classifier: Which particles show objects.
            envs_and_objects: Environments, and most objects of a goal.
            rng: Shuffles object ids in each episode; without, they are 0, 1, 2, ...
        """
        self._particles, self._classifier, self.rng = particles, classifier, rng
        self._tracker = ObjectTracker(classifier, particles.layout, particles.state_shape[0])
        self._identities = GoalIdentities(self._tracker.layout, classifier.same_color)
        num_envs, self._objects = envs_and_objects
        self.object_ids = np.tile(np.arange(self._objects), (num_envs, 1))  # (B, N)
        self._followed: _Followed | None = None
        self._last: tuple[Entities, Entities] | None = None

    @property
    def state_shape(self) -> tuple[int, int, int]:
        """Views, entities and features of a state."""
        return 1, 1 + self._objects, self.layout.width

    @property
    def goal_shape(self) -> tuple[int, int, int]:
        """Views, entities and features of a goal."""
        return 1, self._objects, self.layout.width

    @property
    def seen(self) -> NDArray[np.bool_]:
        """Which objects of the goal some view shows now, (B, N)."""
        assert self._followed is not None
        return self._followed.seen

    def goal_spec(self) -> GoalSpec:
        """Hindsight takes whole moments: every object where it was found, but no gripper."""
        coordinates = np.zeros(self.layout.width, np.float32)
        coordinates[self.layout[POSITION]] = 1.0
        columns = coordinates.copy()
        columns[self.layout[OBJECT_ID]] = 1.0
        return GoalSpec(1, columns, coordinates, whole_sets=True)

    def forget(self) -> None:
        """Forget all objects: episodes start together."""
        self._followed = self._last = None
        self._tracker.reset()

    def reset(self, envs: NDArray[np.int64]) -> None:
        """Forget all objects, and draw new object ids."""
        self.forget()
        if self.rng is None:
            return
        for env in envs:
            self.object_ids[env] = self.rng.permutation(MAX_OBJECTS)[: self._objects]

    def state(self, observation: Observation) -> Entities:
        """The gripper, and the objects where they were seen last."""
        self.goal(observation)
        particles = self._particles.state(observation)
        if self._last is None or not _equal(self._last[0], particles):
            with PROFILER("objects"):
                self._follow(particles, observation["observation"][:, 0, :3])
            self._last = particles, self._entities()
        return self._last[1]

    def goal(self, observation: Observation) -> Entities:
        """The objects where the goal picture shows them."""
        particles = self._particles.goal(observation)
        made, given = len(self.object_ids), len(particles.values)
        require(
            made == given,
            f"This policy was made for {made} environments, but here are {given}: make one for "
            "these, or use act of a loaded agent, which takes any number.",
        )
        followed = self._followed
        if followed is None or followed.particles.values.shape != particles.values.shape:
            self._start(particles)
        else:
            changed = (followed.particles.values != particles.values).any((1, 2, 3))
            if changed.any():
                self._start(particles, changed)
        assert self._followed is not None
        return self._followed.goal

    def coordinates(self, goals: NDArray[np.float32]) -> NDArray[np.float32]:
        """Task coordinates, which no reward of found objects reads."""
        return goals

    def state_dict(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Nothing of an episode, which is over when it is saved; the generator of ids."""
        return {}, {} if self.rng is None else {"rng": pack_rng(self.rng)}

    def load_state_dict(self, tensors: dict[str, Tensor], meta: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        del tensors
        if self.rng is not None:
            unpack_rng(self.rng, meta["rng"])

    def _start(self, particles: Entities, envs: NDArray[np.bool_] | None = None) -> None:
        """Find the objects of goals, and forget what was followed in these environments."""
        with PROFILER("objects"):
            found = self._tracker.objects(particles)
        layout = self._tracker.layout

        # Those known in most views first, if there are more than the task has
        views = found.values[:, 0, :, layout[VIEWS]].sum(-1)  # (B, M)
        order = np.where(found.visible[:, 0], -views, 1).argsort(-1, kind="stable")
        rows = order[:, : self._objects]  # (B, N)
        visible = np.take_along_axis(found.visible[:, 0], rows, 1)
        places = found.values[:, 0, :, layout[POSITION]]
        values = self._rows(np.take_along_axis(places, rows[..., None], 1), visible)

        self._tracker.reset(envs)
        self._identities.start(found, envs)
        fresh = _Followed(
            particles, Entities(values[:, None], visible[:, None]), rows,
            places=np.zeros((*rows.shape, 2), np.float32), known=np.zeros_like(visible),
            seen=np.zeros_like(visible), hidden_for=np.zeros_like(rows),
            fallen=np.zeros_like(visible), gripper=np.full((len(rows), 3), np.nan, np.float32),
        )  # fmt: skip
        if envs is not None and self._followed is not None:  # the others go on
            for name in ("places", "known", "seen", "hidden_for", "fallen", "gripper"):
                getattr(fresh, name)[~envs] = getattr(self._followed, name)[~envs]
        self._followed, self._last = fresh, None

    def _follow(self, particles: Entities, gripper: NDArray[np.float32]) -> None:
        """Go on to the next step."""
        followed = self._followed
        assert followed is not None
        tracks, layout = self._tracker.track(particles), self._tracker.layout
        goal_of = self._identities.update(tracks)  # (B, M)
        places = tracks.values[:, 0, :, layout[POSITION]]  # (B, M, 2)
        seen = tracks.values[:, 0, :, layout[SEEN]][..., 0] > 0  # (B, M)

        # Of several tracks of one object, the one that is seen and nearest to where it was
        same = (goal_of[:, None] == followed.rows[..., None]) & tracks.visible  # (B, N, M)
        gap = np.linalg.norm(places[:, None] - followed.places[:, :, None], axis=-1)
        gap = np.where(followed.known[..., None], gap, 0.0) + _UNSEEN * ~seen[:, None]
        best = np.where(same, gap, np.inf).argmin(-1)  # (B, N)
        found = same.any(-1) & followed.goal.visible[:, 0]
        followed.seen = found & np.take_along_axis(seen, best, 1)

        # Those that no view shows are pushed by the gripper
        hidden = followed.known & ~followed.seen
        place = np.take_along_axis(places, best[..., None], 1)  # (B, N, 2)
        if hidden.any():
            moved = self._hidden(particles, followed.places, followed.gripper, gripper)
            place = np.where(hidden[..., None], moved, place)
        followed.known = followed.known | found
        followed.places = np.where(followed.known[..., None], place, 0).astype(np.float32)
        followed.gripper = gripper.copy()

        # What neither the arm nor another object hides would be seen if it were there
        followed.hidden_for = np.where(followed.seen, 0, followed.hidden_for + 1)
        gone = must_be_gone(followed.places, followed.known, followed.hidden_for, gripper)
        followed.fallen = (followed.fallen | gone) & ~followed.seen

    def _hidden(
        self,
        particles: Entities,
        places: NDArray[np.float32],
        before: NDArray[np.float32],
        gripper: NDArray[np.float32],
    ) -> NDArray[np.float32]:
        """Where objects at `places` (B, N, 2) are if no particle shows them alone."""
        batch, layout = len(places), self._particles.layout
        arm = particles.visible & ~self._classifier(particles.values[..., layout[FEATURES]])
        shown = particles.values[..., layout[TABLE_XY]] * np.float32(UNIT)  # (B, V, K, 2)
        moved = pushed(places, np.where(np.isnan(before), gripper, before), gripper)
        moved = nearest(moved, shown.reshape(batch, -1, 2), arm.reshape(batch, -1))
        return pushed(moved, gripper, gripper)

    def _entities(self) -> Entities:
        """The gripper and the objects as they are known now."""
        assert self._followed is not None
        gripper = self._followed.gripper
        objects = self._rows(self._followed.places, self._followed.known)
        height = np.where(self._followed.fallen, FALLEN_HEIGHT, CUBE_SIDE / 2)
        objects[..., self.layout[HEIGHT]] = (height * self._followed.known)[..., None]
        first = np.zeros((len(gripper), 1, self.layout.width), np.float32)
        first[:, 0, :3], first[:, 0, self.layout[GRIPPER]] = gripper, 1.0
        values = np.concatenate((first, objects), axis=1)
        known = np.concatenate((np.ones_like(self.seen[:, :1]), self._followed.known), axis=1)
        return Entities(values[:, None], known[:, None])

    def _rows(self, places: NDArray[np.float32], visible: NDArray[np.bool_]) -> Any:
        """Entities (B, N, D) of objects at these places, with their ids; hidden ones are 0."""
        values = np.zeros((*visible.shape, self.layout.width), np.float32)
        values[..., self.layout[POSITION]] = places
        values[..., self.layout[OBJECT_ID]] = np.eye(MAX_OBJECTS, dtype=np.float32)[self.object_ids]
        return values * visible[..., None]


class FoundObjectPolicy(AgentPolicy):
    """An agent that observes found objects: it remembers them until episodes start."""

    def __init__(self, agent: Agent, observer: FoundObjectObserver, eval_noise_std: float) -> None:
        """Let `agent` act on what `observer` finds."""
        super().__init__(agent, observer, eval_noise_std)
        self._found = observer

    def reset(self) -> None:
        """Start new episodes."""
        super().reset()
        self._found.forget()


def _equal(first: Entities, second: Entities) -> bool:
    return first.values.shape == second.values.shape and np.array_equal(first.values, second.values)

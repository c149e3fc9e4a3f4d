"""Objects on the table, from the particles of all views alone, and where each was last seen.

Particles that look alike and project to one place on the table are one object. Within an episode an
object keeps its row; while no view shows it, it stays where it was seen last. Only steps up to the
present one are read. Shapes: B environments, P particles, M rows, W columns.
"""

import numpy as np
from numpy.typing import NDArray

from jostle.core.entities import FEATURES, POSITION, TABLE_XY, Entities, EntityLayout
from jostle.core.errors import require
from jostle.core.found_objects import SEEN, VIEWS, feature_gaps, found_layout, seen_now
from jostle.core.object_classifier import ObjectClassifier
from jostle.rollout.table_projection import UNIT
from jostle.scene.spec import CUBE_SIDE

MAX_OBJECTS = 16
"""Rows for objects; the tasks have at most 12."""
_SAME_PLACE = CUBE_SIDE / 2
"""Meters within which particles of one color are one object."""
_HALF_HIDDEN = 0.8 * CUBE_SIDE
"""Meters within which something that looks different is a known object, not one beside it."""
_TWO_PLACES = 0.5 * CUBE_SIDE
"""Meters beyond which two places in one view are two objects."""
_FEATURE_RATE = 0.2
"""How fast the remembered looks of an object follow the seen ones."""

Floats = NDArray[np.float32]


class ObjectTracker:
    """Follows the objects of B environments through an episode."""

    def __init__(self, classifier: ObjectClassifier, particles: EntityLayout, views: int) -> None:
        """Read particles with these columns, positions on the table included."""
        require(
            TABLE_XY in particles,
            "Objects are followed on the table: particles need their position on it. Train with "
            "--table-xy and an encoder with particles.",
        )
        self._classifier, self._particles, self._views = classifier, particles, views
        columns = particles[FEATURES]
        self.layout = found_layout(columns.stop - columns.start, views)
        self._objects: Entities | None = None

    def reset(self, envs: NDArray[np.bool_] | None = None) -> None:
        """Forget all objects, or those of some environments: episodes begin."""
        if envs is None or self._objects is None:
            self._objects = None
            return
        values, visible = self._objects
        self._objects = Entities(values, visible & ~envs[:, None, None])

    def objects(self, particles: Entities) -> Entities:
        """Objects of single images, such as goals: (B, 1, M, W); nothing is remembered."""
        return self._follow(particles, None)

    def track(self, particles: Entities) -> Entities:
        """Objects after the next step, (B, 1, M, W): seen ones, and those seen before."""
        self._objects = self._follow(particles, self._objects)
        return self._objects

    def ties(self, particles: Entities, objects: Entities) -> NDArray[np.int8]:
        """Which row of objects that are seen in the same images each particle shows, (B, V, K).

        -1 for particles that show none: those of the arm, and those beside all objects.
        """
        features = particles.values[..., self._particles[FEATURES]]  # (B, V, K, F)
        places = particles.values[..., self._particles[TABLE_XY]] * np.float32(UNIT)
        kept = particles.visible & self._classifier(features)
        found = seen_now(objects)
        position = found.values[:, :, None, :, self.layout[POSITION]]  # (B, 1, 1, M, 2)
        distance = np.linalg.norm(places[..., None, :] - position, axis=-1)  # (B, V, K, M)
        shown = found.visible[:, :, None] & (distance < _HALF_HIDDEN) & kept[..., None]
        alike = self._looks_like(features, found) < self._classifier.same_color
        cost = np.where(shown & alike, distance, np.inf)
        nearest = cost.argmin(-1)
        return np.where(np.isfinite(cost.min(-1)), nearest, -1).astype(np.int8)

    def _looks_like(self, features: Floats, objects: Entities) -> Floats:
        """Least squared distance of particles (B, V, K, F) to looks of objects, (B, V, K, M)."""
        looks = objects.values[..., self.layout[FEATURES]]
        looks = looks.reshape(*looks.shape[:3], self._views, -1)  # (B, 1, M, V, F)
        known = objects.values[..., self.layout[VIEWS]] > 0  # (B, 1, M, V)
        gap = ((features[..., None, None, :] - looks[:, :, None]) ** 2).sum(-1)  # (B, V, K, M, V)
        least: Floats = np.where(known[:, :, None], gap, np.inf).min(-1)
        return least

    def _follow(self, particles: Entities, before: Entities | None) -> Entities:
        batch = len(particles.values)
        values = np.zeros((batch, 1, MAX_OBJECTS, self.layout.width), np.float32)
        visible = np.zeros((batch, 1, MAX_OBJECTS), bool)
        if before is not None:
            values[:], visible[:] = before
        values[..., self.layout[SEEN]] = 0
        features = particles.values[..., self._particles[FEATURES]]  # (B, V, K, F)
        places = particles.values[..., self._particles[TABLE_XY]] * np.float32(UNIT)
        kept = particles.visible & self._classifier(features)  # (B, V, K)
        for index in range(batch):
            view = np.nonzero(kept[index])[0]  # (P,)
            groups = self._groups(features[index][kept[index]], places[index][kept[index]], view)
            self._update(values[index, 0], visible[index, 0], groups)
        return Entities(values, visible)

    def _groups(self, features: Floats, places: Floats, view: NDArray[np.int64]) -> Floats:
        """Objects (M', W) among particles of all views: features (P, F), places (P, 2)."""
        groups = []
        for members in group_particles(features, places, self._classifier.same_color):
            looks = np.zeros((self._views, features.shape[1]), np.float32)
            known = np.zeros(self._views, np.float32)
            for number in np.unique(view[members]):
                looks[number] = features[members & (view == number)].mean(0)
                known[number] = 1
            place = np.median(places[members], axis=0)
            groups.append(np.concatenate((place, looks.ravel(), known, [1.0])))
        return np.array(groups, np.float32).reshape(-1, self.layout.width)

    def _update(self, tracks: Floats, used: NDArray[np.bool_], groups: Floats) -> None:
        """Move the tracks (M, W) of one environment to the groups (M', W) of a step, in place."""
        position = self.layout[POSITION]
        gap = groups[:, None, position] - tracks[None, :, position]
        distance = np.where(used, np.linalg.norm(gap, axis=-1), np.inf)  # (M', M)
        alike = used & (feature_gaps(groups, tracks, self.layout) < self._classifier.same_color)

        # Pairs that look alike, the nearest on the table first
        taken = np.zeros((len(tracks), len(groups)), bool)  # groups of each track
        cost = np.where(alike, distance, np.inf)
        while len(groups) and np.isfinite(cost).any():
            group, best = divmod(int(cost.argmin()), cost.shape[1])
            self._move(tracks[best], groups[group])
            taken[best, group], cost[group], cost[:, best] = True, np.inf, np.inf

        # Others are known objects that look different when half hidden, or new ones
        others = np.flatnonzero(~taken.any(0) & ~alike.any(1))
        if len(others):
            self._place_others(tracks, used, groups, others, taken)

    def _place_others(
        self,
        tracks: Floats,
        used: NDArray[np.bool_],
        groups: Floats,
        others: NDArray[np.int64],
        taken: NDArray[np.bool_],
    ) -> None:
        """Give groups that look like no track the nearest one, or one of their own, in place.

        One view does not show an object in two places: such groups are not of one object.
        """
        position, seen, views = self.layout[POSITION], self.layout[SEEN], self.layout[VIEWS]
        apart = np.linalg.norm(groups[:, None, position] - groups[None, :, position], axis=-1)
        shared = (groups[:, None, views] * groups[None, :, views]).any(-1)
        different = shared & (apart > _TWO_PLACES)  # (M', M')
        left = sorted(others, key=lambda group: -groups[group, views].sum())
        while left:
            gap = groups[left][:, None, position] - tracks[None, :, position]
            distance = np.where(used, np.linalg.norm(gap, axis=-1), np.inf)  # (L, M)
            distance[(different[left] @ taken.T) > 0] = np.inf
            index, slot = divmod(int(distance.argmin()), distance.shape[1])
            if distance[index, slot] < _HALF_HIDDEN:
                group = left.pop(index)
                self._add_looks(tracks[slot], groups[group])
                if not tracks[slot, seen]:
                    tracks[slot, position], tracks[slot, seen] = groups[group, position], 1
            else:
                group = left.pop(0)
                if used.all():
                    continue
                slot = int((~used).argmax())
                tracks[slot], used[slot] = groups[group], True
            taken[slot, group] = True

    def _move(self, track: Floats, group: Floats) -> None:
        """Let a track be where a group is, and look more like it, in place."""
        known = self._add_looks(track, group)
        track[self.layout[POSITION]], track[self.layout[SEEN]] = group[self.layout[POSITION]], 1
        old = track[self.layout[FEATURES]].reshape(self._views, -1)  # (V, F)
        new = group[self.layout[FEATURES]].reshape(self._views, -1)
        old += np.float32(_FEATURE_RATE) * (new - old) * known[:, None]

    def _add_looks(self, track: Floats, group: Floats) -> Floats:
        """Take over looks of views that a track lacks, in place; which views both know, (V,)."""
        old, new = track[self.layout[VIEWS]], group[self.layout[VIEWS]]
        both, missing = old * new, (old == 0) & (new > 0)
        looks = track[self.layout[FEATURES]].reshape(self._views, -1)
        looks[missing] = group[self.layout[FEATURES]].reshape(self._views, -1)[missing]
        old[missing] = 1
        return both


def group_particles(features: Floats, places: Floats, same_color: float) -> list[NDArray[np.bool_]]:
    """Which particles, features (P, F) at places (P, 2) in meters, are one object: (P,) each."""
    if not len(features):
        return []
    gaps = ((features[:, None] - features[None]) ** 2).sum(-1)  # (P, P)
    distance = np.linalg.norm(places[:, None] - places[None], axis=-1)
    joined = (gaps < same_color) & (distance < _SAME_PLACE)
    for _ in range(4):  # neighbors of neighbors
        joined = joined.astype(np.float32) @ joined.astype(np.float32) > 0
    first = joined.argmax(1)  # the first member of each particle's group
    return [first == leader for leader in np.unique(first)]

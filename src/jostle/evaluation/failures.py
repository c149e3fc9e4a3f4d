"""Why an episode failed: rules over the true trajectory and over what the agent saw.

The first rule that applies to an object that is not at its goal names the cause of the episode.
docs/concepts/failures.md explains the rules.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jostle.core.catalog import Catalog
from jostle.scene.spec import CUBE_SIDE

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_RECENT = 40
"""Steps at the end of an episode that decide what went wrong."""
_MOSTLY = 0.5
"""Fraction of the recent steps in which something must hold."""
_OFTEN = 0.3
"""The same for contacts, which come and go."""
_PROGRESS = 0.01
"""Meters by which an object must have come nearer to its goal to count as progress."""
_TOUCH = 1.45 * CUBE_SIDE
"""Largest distance of the centers of two cubes that touch: nearly that of their diagonals."""
_AHEAD = np.cos(np.pi / 4)
"""Cosine of the largest angle to the goal's direction at which an obstacle is in the way."""


@dataclass(frozen=True)
class Seen:
    """What the encoder of a pixel agent made of each object, (T, N) each."""

    detected: Flags
    """Some visible entity lies at the object, in any view."""
    confused: Flags
    """In every view that shows it, the object shares its entity with another object, or its
    entity looks like that of another object."""
    goal_confused: Flags
    """(N,): in the goal images, the object's goal looks like another object."""


@dataclass(frozen=True)
class Trajectory:
    """One episode as it was, N objects in T steps."""

    objects: Floats
    """Positions (T, N, 3)."""
    goals: Floats
    """Goals (N, 2)."""
    at_goal: Flags
    """Which objects were at their goals in the end, (N,)."""
    fallen: Flags
    """Which objects left the table, (N,)."""
    radius: float
    """Distance below which an object is at its goal."""
    seen: Seen | None = None
    """What the agent saw; None for agents of true state."""

    @property
    def recent(self) -> slice:
        """The steps that decide."""
        return slice(max(len(self.objects) - _RECENT, 0), None)

    @property
    def distances(self) -> Floats:
        """Distances of objects to their goals, (T, N)."""
        return np.linalg.norm(self.objects[..., :2] - self.goals, axis=-1)


Rule = Callable[[Trajectory, int], bool]
"""Whether a cause applies to an object that is not at its goal."""


def fell_off(episode: Trajectory, index: int) -> bool:
    """It left the table."""
    return bool(episode.fallen[index])


def hidden(episode: Trajectory, index: int) -> bool:
    """In most of the recent steps no entity of any view lay at it."""
    if episode.seen is None:
        return False
    return bool(np.mean(~episode.seen.detected[episode.recent, index]) >= _MOSTLY)


def confused_particle(episode: Trajectory, index: int) -> bool:
    """In most of the recent steps its particle was merged with, or looked like, another one."""
    if episode.seen is None:
        return False
    return bool(np.mean(episode.seen.confused[episode.recent, index]) >= _MOSTLY)


def wrong_color(episode: Trajectory, index: int) -> bool:
    """It was brought to the goal of another object, or its goal looks like another object."""
    if episode.seen is not None and episode.seen.goal_confused[index]:
        return True
    to_goals = np.linalg.norm(
        episode.objects[:, index, None, :2] - episode.goals, axis=-1
    )  # (T, N)
    others = np.arange(len(episode.goals)) != index
    apart = np.linalg.norm(episode.goals - episode.goals[index], axis=-1) > episode.radius
    brought = (to_goals[-1] < episode.radius) & (to_goals[0] >= episode.radius)
    return bool((brought & others & apart).any())


def blocked(episode: Trajectory, index: int) -> bool:
    """Another object stands on its goal, or often touches it on the side of the goal."""
    xy = episode.objects[episode.recent, :, :2]  # (R, N, 2)
    others = np.arange(xy.shape[1]) != index
    to_goal = episode.goals[index] - xy[:, index]  # (R, 2)

    # On the goal, and not about to leave
    on_goal = np.linalg.norm(xy[-1] - episode.goals[index], axis=-1) < CUBE_SIDE
    if (on_goal & others & episode.at_goal).any():
        return True

    # In the way
    to_others = xy - xy[:, [index]]  # (R, N, 2)
    gap = np.linalg.norm(to_others, axis=-1)
    ahead = (to_others * to_goal[:, None]).sum(-1)
    ahead = ahead >= _AHEAD * gap * np.linalg.norm(to_goal, axis=-1)[:, None]
    in_the_way = ((gap < _TOUCH) & ahead & others).any(-1)
    return bool(np.mean(in_the_way) >= _OFTEN)


def dithering(episode: Trajectory, index: int) -> bool:
    """In the second half of the recent steps no missing object came nearer than in the first."""
    del index
    distances = episode.distances[episode.recent][:, ~episode.at_goal]  # (R, failed)
    if len(distances) < _RECENT:
        return False
    earlier, later = np.split(distances, 2)
    return bool((earlier.min(0) - later.min(0) < _PROGRESS).all())


def out_of_time(episode: Trajectory, index: int) -> bool:
    """None of the other causes: objects were still coming nearer."""
    del episode, index
    return True


CAUSES: Catalog[Rule] = Catalog(
    "cause",
    {
        "fell off": fell_off,
        "object hidden": hidden,
        "particle swapped or merged": confused_particle,
        "wrong color matched": wrong_color,
        "blocked by another object": blocked,
        "dithering": dithering,
        "ran out of time": out_of_time,
    },
)
"""Causes in the order in which they are tried."""


def cause_of(episode: Trajectory) -> str:
    """Cause of a failed episode; empty if all objects are at their goals."""
    failed = np.flatnonzero(~episode.at_goal)
    for cause, rule in CAUSES.items():
        if any(rule(episode, int(index)) for index in failed):
            return cause
    return ""

"""Edits of a running episode. Each returns a new episode, or refuses and says why."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from jostle.core.errors import ImpossibleSceneError, require
from jostle.playground.footprints import PLAY_COLORS, check_place
from jostle.scene.colors import RGB
from jostle.scene.spec import MAX_OBJECTS, ObjectSpec
from jostle.tasks.episode import EpisodeSpec, PlanarPoses
from jostle.tasks.task import Task, placement_region

_TRIES = 2000


def move_goal(episode: EpisodeSpec, slot: int, x: float, y: float, yaw: float) -> EpisodeSpec:
    """Move a goal that the goal image shows, and with it the objects that share it."""
    check_slot(episode, slot)
    shown = episode.goal_view[slot].copy()
    require(
        not np.isnan(shown[0]),
        "This object has no goal of its own: it shares one that another object shows.",
    )
    goal, goal_view = episode.goal.copy(), episode.goal_view.copy()
    sharing = (np.nan_to_num(goal, nan=np.inf) == shown).all(-1)  # (N,)
    goal_view[slot] = x, y, yaw
    goal[sharing] = goal_view[slot]
    check_place(episode.scene, episode.appearance.colors, goal_view, slot, "goal")
    return replace(episode, goal=goal, goal_view=goal_view)


def recolor(episode: EpisodeSpec, task: Task, slot: int, color: str) -> EpisodeSpec:
    """Give an object another color, and all objects of its group with it."""
    check_slot(episode, slot)
    require(color in PLAY_COLORS, f"There is no color '{color}', only {', '.join(PLAY_COLORS)}.")
    slots = len(episode.scene.objects)
    count = slots - task.extra_slots()
    group = task.color_group(slot, count)
    colors = list(episode.appearance.colors)
    for other in range(slots):
        if task.color_group(other, count) == group:
            colors[other] = PLAY_COLORS[color]
    return replace(episode, appearance=replace(episode.appearance, colors=tuple(colors)))


def add_object(
    episode: EpisodeSpec, task: Task, present: PlanarPoses, rng: np.random.Generator
) -> EpisodeSpec:
    """Add one object at a free place, with a free goal; the others start where they are now.

    Args:
        episode: The running episode.
        task: The task with one object more.
        present: Where the objects are, (N, 3).
        rng: Chooses the places.
    """
    slot = len(episode.scene.objects) - task.extra_slots()
    require(slot < MAX_OBJECTS, f"A table holds at most {MAX_OBJECTS} objects.")
    task.check_count(slot + 1)
    scene, appearance = episode.scene, episode.appearance
    objects = list(scene.objects)
    objects.insert(slot, replace(objects[slot - 1], present=True))
    scene = replace(scene, objects=tuple(objects))
    colors = list(appearance.colors)
    colors.insert(slot, _unused_color(task, slot, colors))
    appearance = replace(appearance, colors=tuple(colors))
    start, goal, goal_view = (
        np.insert(poses, slot, np.nan, axis=0)
        for poses in (present, episode.goal, episode.goal_view)
    )
    grown = EpisodeSpec(task.name, scene, appearance, start, goal, goal_view)
    _place(grown, start, slot, "start", rng)
    if task.goal_type == "yaw":  # one goal for all
        goal[slot] = goal[0]
    else:
        _place(grown, goal_view, slot, "goal", rng)
        goal[slot] = goal_view[slot]
    return grown


def remove_object(episode: EpisodeSpec, task: Task, present: PlanarPoses, slot: int) -> EpisodeSpec:
    """Remove an object; the others start where they are now.

    `task` is the task with one object less.
    """
    check_slot(episode, slot)
    count = len(episode.scene.objects) - task.extra_slots()
    require(slot < count, "This object is only in the goal image, and belongs to the task.")
    require(count > 1, "One object must stay.")
    task.check_count(count - 1)
    goal_view = episode.goal_view.copy()
    sharing = (np.nan_to_num(episode.goal, nan=np.inf) == goal_view[slot]).all(-1)  # (N,)
    if sharing.sum() > 1:  # another object shows the goal that they share
        sharing[slot] = False
        goal_view[sharing.argmax()] = goal_view[slot]
    kept = [index for index in range(len(episode.scene.objects)) if index != slot]
    scene = replace(episode.scene, objects=tuple(episode.scene.objects[i] for i in kept))
    colors = tuple(episode.appearance.colors[index] for index in kept)
    appearance = replace(episode.appearance, colors=colors)
    poses = (values[kept] for values in (present, episode.goal, goal_view))
    return EpisodeSpec(task.name, scene, appearance, *poses)


def restart_at(episode: EpisodeSpec, present: PlanarPoses) -> EpisodeSpec:
    """The same episode with its objects starting where they are now."""
    return replace(episode, start=present)


def planar_poses(poses: NDArray[np.float64], objects: tuple[ObjectSpec, ...]) -> PlanarPoses:
    """Planar poses (N, 3) of objects at poses (N, 7); NaN for those that are not present."""
    w, x, y, z = poses[:, 3:].T
    yaw = np.arctan2(2 * (x * y + w * z), 1 - 2 * (y * y + z * z))
    planar = np.column_stack((poses[:, :2], yaw))
    planar[[not obj.present for obj in objects]] = np.nan
    return planar


def check_slot(episode: EpisodeSpec, slot: int) -> None:
    """Refuse the number of an object that is not there."""
    count = len(episode.scene.objects)
    require(0 <= slot < count, f"There are {count} objects; number {slot + 1} is not among them.")


def _place(
    episode: EpisodeSpec, poses: PlanarPoses, slot: int, what: str, rng: np.random.Generator
) -> None:
    """Choose a free place for one object, and write it into `poses`."""
    (x_low, y_low), (x_high, y_high) = placement_region(episode.scene.table)
    for _ in range(_TRIES):
        poses[slot] = rng.uniform(x_low, x_high), rng.uniform(y_low, y_high), 0.0
        try:
            check_place(episode.scene, episode.appearance.colors, poses, slot, what)
            return
        except ImpossibleSceneError:
            continue
    raise ImpossibleSceneError(f"There is no free place for one more {what}. Move some away first.")


def _unused_color(task: Task, slot: int, colors: list[RGB]) -> RGB:
    if task.color_group(slot, slot + 1) < slot:
        return colors[task.color_group(slot, slot + 1)]
    unused = [color for color in PLAY_COLORS.values() if color not in colors]
    return unused[0] if unused else next(iter(PLAY_COLORS.values()))

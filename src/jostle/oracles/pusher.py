"""The scripted expert for cubes: plans around obstacles and pushes one cube at a time.

It is a pure function of the observation, so it can label any state that another agent visits.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jostle.core.protocols import Observation
from jostle.oracles.planner import BLOCKED, Paths, shortest_paths
from jostle.scene.controller import ACTION_SCALE
from jostle.scene.spec import CUBE_SIDE, TableSpec

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
_AXES = np.array(((1, 0), (-1, 0), (0, 1), (0, -1)), dtype=float)
_FINGERS = np.array((0.0115, 0.0264))
"""Half sizes of the closed fingers, including the tilt of the hand."""


@dataclass(frozen=True, kw_only=True)
class PusherConfig:
    """Distances in meters."""

    half_side: float = CUBE_SIDE / 2
    """Half the side of a cube."""
    done_distance: float = 0.012
    """A cube nearer to its goal than this is not moved."""
    near_distance: float = 0.03
    """A cube nearer to its goal than this is moved only if that disturbs no other cube."""
    clearance: float = 0.014
    """Gap between gripper and cube before a push."""
    margin: float = 0.006
    """Gap between the gripper and the cubes that it passes."""
    cube_margin: float = 0.004
    """Gap between a pushed cube and other cubes."""
    max_push: float = 0.06
    """Longest push in one action; faster pushes make cubes tumble."""
    max_candidates: int = 6
    """Cubes considered at a time, the nearest ones."""
    height: float = 0.022
    """Height of the grip site above the table."""


@dataclass(frozen=True)
class _Pushes:
    """Candidate pushes of all cubes in all environments, flattened to J pushes."""

    env_id: NDArray[np.int64]
    """Environment, (J,)."""
    cube: NDArray[np.int64]
    """Cube, (J,)."""
    axis: Floats
    """Direction of the push: the gripper stands at cube - axis, (J, 2)."""
    shift: Floats
    """Wanted displacement of the cube, (J, 2)."""
    aligned: Floats
    """What the gripper aligns with, (J, 2): the cube's center, or the corridor's axis."""
    ready: Floats
    """Position of the gripper before the push, (J, 2)."""
    cost: Floats
    """Cost beyond the path to `ready`, (J,)."""


class CubePusher:
    """Pushes every cube to its goal, the cheapest push first."""

    def __init__(self, table: TableSpec, config: PusherConfig | None = None) -> None:
        """Work on `table`."""
        self._config = config or PusherConfig()
        self._walls = np.empty((0, 2, 2))  # centers and half sizes
        edge = np.array((table.x / 2, table.y / 2))
        self._cube_high = edge - self._config.half_side - 0.004
        self._grip_high = edge + 0.0165

    def act(self, observation: Observation) -> NDArray[np.float32]:
        """Choose actions, (B, 3)."""
        entities = observation["observation"].astype(np.float64)
        goals = observation["desired_goal"][..., :2].astype(np.float64)
        absent = entities[:, 1:, 2] < -0.03
        if observation["desired_goal"].shape[-1] == 3:
            absent |= observation["desired_goal"][..., 2] < 0.5
        cubes = np.where(absent[..., None], np.nan, entities[:, 1:, :2])
        move = self.move(entities[:, 0, :2], cubes, goals)  # (B, 2)
        rise = self._config.height - entities[:, 0, 2:3]  # (B, 1)
        length = np.linalg.norm(move, axis=-1, keepdims=True)
        move = move * np.minimum(1.0, ACTION_SCALE / np.maximum(length, 1e-9))
        action = np.concatenate((move, rise), axis=-1) / ACTION_SCALE
        return np.clip(action, -1, 1).astype(np.float32)

    def move(self, grip: Floats, cubes: Floats, goals: Floats) -> Floats:
        """Choose the gripper's next displacement, (B, 2); absent cubes are NaN."""
        # Paths of the cubes that are not done
        distance = np.linalg.norm(goals - cubes, axis=-1)  # (B, N)
        todo = (distance > self._config.done_distance) & self._may_move(cubes, goals)
        todo &= self._nearest(grip, cubes, todo)
        paths = self._cube_paths(cubes, goals, todo)
        free = paths.length < BLOCKED

        # Where no cube has a path, move one out of the way first
        stuck = todo.any(-1) & ~(todo & free).any(-1)  # (B,)
        if stuck.any():
            spots = self._free_spots(cubes[stuck], goals[stuck])
            aside = self._cube_paths(cubes[stuck], spots, todo[stuck])
            paths.first[stuck], paths.length[stuck] = aside.first, aside.length
            free = paths.length < BLOCKED
        pushes = self._candidates(cubes, paths.first, todo & free, distance)
        return self._execute(grip, cubes, pushes)

    def _nearest(self, grip: Floats, cubes: Floats, todo: Flags) -> Flags:
        """Mark the cubes to be moved that are nearest to the gripper, (B, N)."""
        distance = np.where(todo, np.linalg.norm(cubes - grip[:, None], axis=-1), np.inf)
        rank = distance.argsort(-1, kind="stable").argsort(-1, kind="stable")
        return rank < self._config.max_candidates

    def _may_move(self, cubes: Floats, goals: Floats) -> Flags:
        """Return which cubes may be moved now, (B, N)."""
        del goals
        return np.ones(cubes.shape[:2], bool)

    def _align(self, cube: Floats, axis: Floats) -> Floats:
        """Return what the gripper aligns with when it pushes cubes at `cube` along `axis`."""
        del axis
        return cube

    def _add_walls(
        self, centers: Floats, halves: Floats, inflation: Floats
    ) -> tuple[Floats, Floats]:
        """Add the walls, inflated, to the rectangles (P, R, 2) of every problem."""
        shape = (len(centers), *self._walls.shape[::2])
        walls = np.broadcast_to(self._walls[:, 0], shape)
        sizes = np.broadcast_to(self._walls[:, 1] + inflation, shape)
        return np.concatenate((centers, walls), axis=1), np.concatenate((halves, sizes), axis=1)

    def _cube_paths(self, cubes: Floats, goals: Floats, wanted: Flags) -> Paths:
        """Plan the path of each wanted cube among the others: (B, N, 2) and (B, N)."""
        num_envs, count = cubes.shape[:2]
        config = self._config
        # Obstacles: the other cubes. The gripper is wider than a cube along y, and follows it.
        others = np.repeat(cubes[:, None], count, axis=1)  # (B, N, N, 2)
        others[:, np.arange(count), np.arange(count)] = np.nan
        half = np.array((2 * config.half_side, config.half_side + _FINGERS[1] - 0.004))
        half = half + config.cube_margin
        start = cubes.reshape(-1, 2)
        goal = np.where(wanted[..., None], goals, cubes).reshape(-1, 2)
        rects = others.reshape(-1, count, 2)
        distance = np.abs(goal[:, None] - rects).max(-1)  # (P, N)
        occupied = distance < 2 * config.half_side - 0.005

        # Paths
        halves = np.broadcast_to(half, rects.shape)
        rects, halves = self._add_walls(rects, halves, np.array(config.half_side + 0.002))
        halves = _shrink_to_exclude(goal, rects, _shrink_to_exclude(start, rects, halves))
        paths = shortest_paths(start, goal, rects, halves, -self._cube_high, self._cube_high)
        missing = np.isnan(start[:, 0]) | occupied.any(-1) | ~wanted.ravel()
        length = np.where(missing, BLOCKED, paths.length)
        return Paths(paths.first.reshape(cubes.shape), length.reshape(num_envs, count))

    def _free_spots(self, cubes: Floats, goals: Floats) -> Floats:
        """Find for each cube the nearest spot that is free of cubes and goals, (b, N, 2)."""
        x, y = (np.linspace(-high, high, 15) for high in self._cube_high * 0.9)
        spots = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)  # (S, 2)
        taken = np.concatenate((cubes, goals), axis=1)  # (b, 2N, 2)
        away = np.abs(spots[None, :, None] - taken[:, None])  # (b, S, 2N, 2)
        near = _on_both_axes(away < np.array((0.055, 0.07)))  # (b, S, 2N); NaN is never near
        count = cubes.shape[1]
        itself = np.zeros((count, 2 * count), bool)
        itself[np.arange(count), np.arange(count)] = True
        occupied = (near[:, None] & ~itself[:, None]).any(-1)  # (b, N, S)
        distance = np.linalg.norm(spots - cubes[:, :, None], axis=-1)  # (b, N, S)
        distance = np.where(np.isnan(distance), 1.0, distance) + 10.0 * occupied
        return spots[distance.argmin(-1)]

    def _candidates(
        self, cubes: Floats, waypoints: Floats, wanted: Flags, distance: Floats
    ) -> _Pushes:
        """List the pushes that bring a wanted cube nearer to the first waypoint of its path."""
        config = self._config
        shift = waypoints - cubes  # (B, N, 2)
        along = shift @ _AXES.T  # (B, N, 4)
        length = np.linalg.norm(shift, axis=-1)[..., None]  # (B, N, 1)
        useful = wanted[..., None] & (along > 0.25 * length) & (along > 0.004)
        env_id, cube, axis = np.nonzero(useful)
        direction, position = _AXES[axis], cubes[env_id, cube]

        # Within the friction cone of a face the cube sticks to the fingers and follows them.
        straight = along[env_id, cube, axis] > 0.72 * length[env_id, cube, 0]
        axis_shift = direction * along[env_id, cube, axis][:, None]
        cube_shift = np.where(straight[:, None], shift[env_id, cube], axis_shift)
        gap = config.half_side + np.abs(direction) @ _FINGERS + config.clearance
        aligned = self._align(position, direction)
        ready = np.where(direction != 0, position - direction * gap[:, None], aligned)

        # Pushes that start outside the workspace or on another cube are expensive
        reachable = _on_both_axes(np.abs(ready) < self._grip_high)
        reach = _FINGERS + config.half_side + 0.002
        bumped = _on_both_axes(np.abs(ready[:, None] - cubes[env_id]) < reach)  # (J, N)
        bumped[np.arange(len(cube)), cube] = False
        awkward = ~reachable | bumped.any(-1)
        cost = np.where(straight, 0.0, 0.04) + 0.5 * awkward
        # A cube that is near its goal is not worth a push that displaces another one.
        keep = ~awkward | (distance[env_id, cube] > config.near_distance)
        return _Pushes(
            env_id[keep], cube[keep], direction[keep], cube_shift[keep], aligned[keep],
            ready[keep], cost[keep],
        )  # fmt: skip

    def _execute(self, grip: Floats, cubes: Floats, pushes: _Pushes) -> Floats:
        """Take the cheapest push of each environment: go to its start, or push."""
        config = self._config
        move = np.zeros_like(grip)
        if not len(pushes.env_id):
            return move
        # Paths of the gripper
        here, others = grip[pushes.env_id], cubes[pushes.env_id]
        halves = np.broadcast_to(_FINGERS + config.half_side + config.margin, others.shape)
        rects, halves = self._add_walls(others, halves, _FINGERS + 0.0005)
        halves = _shrink_to_exclude(pushes.ready, rects, _shrink_to_exclude(here, rects, halves))
        paths = shortest_paths(here, pushes.ready, rects, halves, -self._grip_high, self._grip_high)

        # Is the gripper in place to push?
        behind = here - cubes[pushes.env_id, pushes.cube]  # (J, 2)
        side = pushes.axis[:, ::-1]
        gap = -(behind * pushes.axis).sum(-1) - config.half_side - np.abs(pushes.axis) @ _FINGERS
        offset = ((here - pushes.aligned) * side).sum(-1)  # sideways, positive along `side`
        pushing = (gap > -0.012) & (gap < config.clearance + 0.012) & (np.abs(offset) < 0.010)

        # Cheapest push
        cost = pushes.cost + np.where(pushing, -0.05, paths.length)
        best = _cheapest(pushes.env_id, cost, len(grip))  # (B,) push or -1
        push = pushes.axis * np.maximum(gap, 0.0)[:, None]
        push = push + _clip_length(pushes.shift, config.max_push)
        push -= side * np.where(gap > 0.004, offset, 0.0)[:, None]
        walk = self._back_out(here, others, paths.first - here)
        step = np.where(pushing[:, None], push, walk)
        move[best >= 0] = step[best[best >= 0]]
        return move

    def _back_out(self, here: Floats, cubes: Floats, walk: Floats) -> Floats:
        """Move straight out of contact before walking off, so that no cube is dragged along."""
        half = _FINGERS + self._config.half_side + self._config.margin
        away = here[:, None] - cubes  # (J, N, 2)
        depth = half - np.abs(away)  # (J, N, 2)
        inside = _on_both_axes(depth > 0.0015)
        depth = np.where(inside[..., None], depth, np.inf)
        axis = depth.min(1).argmin(-1)  # (J,)
        nearest = depth.min(-1).argmin(-1)  # (J,)
        rows = np.arange(len(here))
        out = np.zeros_like(walk)
        sign = np.sign(away[rows, nearest, axis])
        out[rows, axis] = sign * (depth[rows, nearest, axis] + 0.003)
        # Between two cubes there is no way out sideways: walk on then.
        after = np.abs(here[:, None] + out[:, None] - cubes)  # (J, N, 2)
        caught = _on_both_axes((half - after) > 0.0015).any(-1)
        return np.where(np.logical_and(inside.any(-1), ~caught)[:, None], out, walk)


def _shrink_to_exclude(points: Floats, centers: Floats, halves: Floats) -> Floats:
    """Shrink rectangles (P, R, 2) that contain their point (P, 2), just enough to exclude it."""
    away = np.abs(points[:, None] - centers)  # (P, R, 2)
    depth = halves - away
    inside = _on_both_axes(depth > 0)
    axis = depth.argmin(-1)[..., None] == np.arange(2)  # (P, R, 2)
    return np.where(inside[..., None] & axis, np.maximum(away - 1e-3, 0.0), halves)


def _on_both_axes(flags: Flags) -> Flags:
    """Whether a condition (..., 2) holds along x and along y."""
    return flags[..., 0] & flags[..., 1]


def _cheapest(env_id: NDArray[np.int64], cost: Floats, num_envs: int) -> NDArray[np.int64]:
    """Index of the cheapest push of each environment, -1 where there is none."""
    order = np.lexsort((cost, env_id))
    first = np.searchsorted(env_id[order], np.arange(num_envs))
    cheapest = np.full(num_envs, -1)
    exists = first < len(order)
    exists[exists] &= env_id[order][first[exists]] == np.flatnonzero(exists)
    cheapest[exists] = order[first[exists]]
    return cheapest


def _clip_length(vectors: Floats, max_length: float) -> Floats:
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors * np.minimum(1.0, max_length / np.maximum(length, 1e-9))

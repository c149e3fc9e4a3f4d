"""The scripted pusher for cubes: plans around obstacles and pushes one cube at a time.

It is a pure function of the observation, so it can label any state another agent visits.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jostle.core.protocols import Observation
from jostle.oracles.planner import BLOCKED, Ways, shortest
from jostle.scene.drive import REACH_PER_UNIT
from jostle.scene.spec import CUBE_SIDE, TableSpec

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
_AXES = np.array(((1, 0), (-1, 0), (0, 1), (0, -1)), dtype=float)
_FINGERS = np.array((0.0115, 0.0264))
"""Half sizes of the closed fingers, the slant of the hand included."""


@dataclass(frozen=True, kw_only=True)
class PusherConfig:
    """Distances of the script, in meters."""

    half: float = CUBE_SIDE / 2
    """Half the side of a cube."""
    done: float = 0.012
    """A cube nearer to its goal than this is left alone."""
    good: float = 0.03
    """A cube nearer than this is only touched when that disturbs nothing."""
    clearance: float = 0.014
    """Gap between gripper and cube before a push begins."""
    margin: float = 0.006
    """Distance the gripper keeps from cubes it passes."""
    cube_margin: float = 0.004
    """Distance a pushed cube keeps from others."""
    stride: float = 0.06
    """Longest push in one action; faster pushes make cubes tumble."""
    at_hand: int = 6
    """Cubes considered at a time, the nearest ones."""
    height: float = 0.022
    """Height of the grip site above the table while at work."""


@dataclass(frozen=True)
class _Jobs:
    """Every way to push every cube, flattened to J jobs."""

    copy: NDArray[np.int64]
    """Which copy, (J,)."""
    cube: NDArray[np.int64]
    """Which cube, (J,)."""
    axis: Floats
    """Side of the push: the gripper stands at cube - axis, (J, 2)."""
    shift: Floats
    """Where the cube shall go from here, (J, 2)."""
    aim: Floats
    """What the gripper lines up with, (J, 2): the cube's center, or a corridor's axis."""
    ready: Floats
    """Where the gripper waits before the push, (J, 2)."""
    price: Floats
    """What the job costs beyond getting there, (J,)."""


class CubePusher:
    """Pushes every cube to its goal, nearest job first."""

    def __init__(self, table: TableSpec, config: PusherConfig | None = None) -> None:
        """Work on `table`."""
        self._config = config or PusherConfig()
        self._walls = np.empty((0, 2, 2))  # centers and half sizes
        edge = np.array((table.x / 2, table.y / 2))
        self._cube_high = edge - self._config.half - 0.004
        self._grip_high = edge + 0.0165

    def act(self, observation: Observation) -> NDArray[np.float32]:
        """Choose actions, (B, 3)."""
        entities = observation["observation"].astype(np.float64)
        goals = observation["desired_goal"][..., :2].astype(np.float64)
        gone = entities[:, 1:, 2] < -0.03
        if observation["desired_goal"].shape[-1] == 3:
            gone |= observation["desired_goal"][..., 2] < 0.5
        cubes = np.where(gone[..., None], np.nan, entities[:, 1:, :2])
        move = self.move(entities[:, 0, :2], cubes, goals)  # (B, 2)
        rise = self._config.height - entities[:, 0, 2:3]  # (B, 1)
        length = np.linalg.norm(move, axis=-1, keepdims=True)
        move = move * np.minimum(1.0, REACH_PER_UNIT / np.maximum(length, 1e-9))
        action = np.concatenate((move, rise), axis=-1) / REACH_PER_UNIT
        return np.clip(action, -1, 1).astype(np.float32)

    def move(self, grip: Floats, cubes: Floats, goals: Floats) -> Floats:
        """Choose the gripper's next displacement, (B, 2); absent cubes are NaN."""
        gap = np.linalg.norm(goals - cubes, axis=-1)  # (B, N)
        todo = (gap > self._config.done) & self._turn(cubes, goals)
        todo &= self._at_hand(grip, cubes, todo)
        ways = self._cube_ways(cubes, goals, todo)
        free = ways.length < BLOCKED
        stuck = todo.any(-1) & ~(todo & free).any(-1)  # (B,)
        if stuck.any():
            aside = self._places_aside(cubes[stuck], goals[stuck])
            again = self._cube_ways(cubes[stuck], aside, todo[stuck])
            ways.first[stuck], ways.length[stuck] = again.first, again.length
            free = ways.length < BLOCKED
        jobs = self._jobs(cubes, ways.first, todo & free, gap)
        return self._carry_out(grip, cubes, jobs)

    def _at_hand(self, grip: Floats, cubes: Floats, todo: Flags) -> Flags:
        """Mark the few cubes nearest to the gripper among those still to do, (B, N)."""
        gap = np.where(todo, np.linalg.norm(cubes - grip[:, None], axis=-1), np.inf)
        rank = gap.argsort(-1, kind="stable").argsort(-1, kind="stable")
        return rank < self._config.at_hand

    def _turn(self, cubes: Floats, goals: Floats) -> Flags:
        """Say which cubes may be moved now, (B, N)."""
        del goals
        return np.ones(cubes.shape[:2], bool)

    def _aim(self, place: Floats, axis: Floats) -> Floats:
        """Say what the gripper lines up with when it pushes cubes at `place` along `axis`."""
        del axis
        return place

    def _beside_walls(
        self, centers: Floats, halves: Floats, inflation: Floats
    ) -> tuple[Floats, Floats]:
        """Add the walls, inflated, to the rectangles (P, R, 2) of every problem."""
        shape = (len(centers), *self._walls.shape[::2])
        walls = np.broadcast_to(self._walls[:, 0], shape)
        sizes = np.broadcast_to(self._walls[:, 1] + inflation, shape)
        return np.concatenate((centers, walls), axis=1), np.concatenate((halves, sizes), axis=1)

    def _cube_ways(self, cubes: Floats, goals: Floats, wanted: Flags) -> Ways:
        """Plan each wanted cube's own way among the others: (B, N, 2) and (B, N)."""
        copies, count = cubes.shape[:2]
        config = self._config
        others = np.repeat(cubes[:, None], count, axis=1)  # (B, N, N, 2)
        others[:, np.arange(count), np.arange(count)] = np.nan
        # The gripper is wider than a cube along y, and follows it through every gap.
        half = np.array((2 * config.half, config.half + _FINGERS[1] - 0.004)) + config.cube_margin
        start = cubes.reshape(-1, 2)
        goal = np.where(wanted[..., None], goals, cubes).reshape(-1, 2)
        rects = others.reshape(-1, count, 2)
        near = np.abs(goal[:, None] - rects).max(-1)  # (P, N)
        taken = near < 2 * config.half - 0.005
        halves = np.broadcast_to(half, rects.shape)
        rects, halves = self._beside_walls(rects, halves, np.array(config.half + 0.002))
        halves = _give_way(goal, rects, _give_way(start, rects, halves))
        found = shortest(start, goal, rects, halves, -self._cube_high, self._cube_high)
        missing = np.isnan(start[:, 0]) | taken.any(-1) | ~wanted.ravel()
        length = np.where(missing, BLOCKED, found.length)
        return Ways(found.first.reshape(cubes.shape), length.reshape(copies, count))

    def _places_aside(self, cubes: Floats, goals: Floats) -> Floats:
        """Find for each cube the nearest spot that is free of cubes and goals, (b, N, 2)."""
        x, y = (np.linspace(-high, high, 15) for high in self._cube_high * 0.9)
        spots = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)  # (S, 2)
        taken = np.concatenate((cubes, goals), axis=1)  # (b, 2N, 2)
        away = np.abs(spots[None, :, None] - taken[:, None])  # (b, S, 2N, 2)
        near = _both(away < np.array((0.055, 0.07)))  # (b, S, 2N); NaN is never near
        count = cubes.shape[1]
        itself = np.zeros((count, 2 * count), bool)
        itself[np.arange(count), np.arange(count)] = True
        occupied = (near[:, None] & ~itself[:, None]).any(-1)  # (b, N, S)
        distance = np.linalg.norm(spots - cubes[:, :, None], axis=-1)  # (b, N, S)
        distance = np.where(np.isnan(distance), 1.0, distance) + 10.0 * occupied
        return spots[distance.argmin(-1)]

    def _jobs(self, cubes: Floats, first: Floats, wanted: Flags, gap: Floats) -> _Jobs:
        """List the pushes that bring a wanted cube nearer to the first corner of its way."""
        config = self._config
        shift = first - cubes  # (B, N, 2)
        along = shift @ _AXES.T  # (B, N, 4)
        length = np.linalg.norm(shift, axis=-1)[..., None]  # (B, N, 1)
        useful = wanted[..., None] & (along > 0.25 * length) & (along > 0.004)
        copy, cube, axis = np.nonzero(useful)
        direction, place = _AXES[axis], cubes[copy, cube]
        straight = along[copy, cube, axis] > 0.72 * length[copy, cube, 0]
        # Within the friction cone of a face the cube sticks to the fingers and follows them.
        leg = direction * along[copy, cube, axis][:, None]
        go = np.where(straight[:, None], shift[copy, cube], leg)
        stand = config.half + np.abs(direction) @ _FINGERS + config.clearance
        aim = self._aim(place, direction)
        ready = np.where(direction != 0, place - direction * stand[:, None], aim)
        reachable = _both(np.abs(ready) < self._grip_high)
        body = np.abs(ready[:, None] - cubes[copy]) < _FINGERS + config.half + 0.002  # (J, N, 2)
        bumped = _both(body)  # (J, N)
        bumped[np.arange(len(cube)), cube] = False
        awkward = ~reachable | bumped.any(-1)
        price = np.where(straight, 0.0, 0.04) + 0.5 * awkward
        # A cube that is nearly there is not worth a push that shoves another one away.
        keep = ~awkward | (gap[copy, cube] > config.good)
        return _Jobs(
            copy[keep], cube[keep], direction[keep], go[keep], aim[keep], ready[keep], price[keep]
        )

    def _carry_out(self, grip: Floats, cubes: Floats, jobs: _Jobs) -> Floats:
        """Take each copy's cheapest job and go there, or push."""
        config = self._config
        move = np.zeros_like(grip)
        if not len(jobs.copy):
            return move
        here = grip[jobs.copy]
        halves = np.broadcast_to(_FINGERS + config.half + config.margin, cubes[jobs.copy].shape)
        rects, halves = self._beside_walls(cubes[jobs.copy], halves, _FINGERS + 0.0005)
        eased = _give_way(jobs.ready, rects, _give_way(here, rects, halves))
        ways = shortest(here, jobs.ready, rects, eased, -self._grip_high, self._grip_high)
        behind = here - cubes[jobs.copy, jobs.cube]  # (J, 2)
        side = jobs.axis[:, ::-1]
        gap = -(behind * jobs.axis).sum(-1) - config.half - np.abs(jobs.axis) @ _FINGERS
        offset = ((here - jobs.aim) * side).sum(-1)  # sideways, in the sense of `side`
        pushing = (gap > -0.012) & (gap < config.clearance + 0.012) & (np.abs(offset) < 0.010)
        cost = jobs.price + np.where(pushing, -0.05, ways.length)
        best = _cheapest(jobs.copy, cost, len(grip))  # (B,) job or -1
        chosen = best[best >= 0]
        push = jobs.axis * np.maximum(gap, 0.0)[:, None] + _shorten(jobs.shift, config.stride)
        push -= side * np.where(gap > 0.004, offset, 0.0)[:, None]
        walk = self._leave(here, cubes[jobs.copy], ways.first - here)
        step = np.where(pushing[:, None], push, walk)
        move[best >= 0] = step[chosen]
        return move

    def _leave(self, here: Floats, rects: Floats, walk: Floats) -> Floats:
        """Back straight out of contact before walking off, so that no cube is dragged along."""
        half = _FINGERS + self._config.half + self._config.margin
        away = here[:, None] - rects  # (J, N, 2)
        depth = half - np.abs(away)  # (J, N, 2)
        inside = _both(depth > 0.0015)
        depth = np.where(inside[..., None], depth, np.inf)
        axis = depth.min(1).argmin(-1)  # (J,)
        nearest = depth.min(-1).argmin(-1)  # (J,)
        rows = np.arange(len(here))
        out = np.zeros_like(walk)
        sense = np.sign(away[rows, nearest, axis])
        out[rows, axis] = sense * (depth[rows, nearest, axis] + 0.003)
        # Between two cubes there is no way out sideways: walk on then.
        there = np.abs(here[:, None] + out[:, None] - rects)  # (J, N, 2)
        caught = _both((half - there) > 0.0015).any(-1)
        return np.where(np.logical_and(inside.any(-1), ~caught)[:, None], out, walk)


def _give_way(points: Floats, centers: Floats, halves: Floats) -> Floats:
    """Shrink the rectangles (P, R, 2) that hold their point (P, 2), just enough to free it."""
    away = np.abs(points[:, None] - centers)  # (P, R, 2)
    depth = halves - away
    inside = _both(depth > 0)
    axis = depth.argmin(-1)[..., None] == np.arange(2)  # (P, R, 2)
    return np.where(inside[..., None] & axis, np.maximum(away - 1e-3, 0.0), halves)


def _both(flags: Flags) -> Flags:
    """Whether a claim holds along x and along y."""
    return flags[..., 0] & flags[..., 1]


def _cheapest(copy: NDArray[np.int64], cost: Floats, copies: int) -> NDArray[np.int64]:
    """Index of the cheapest job of each copy, -1 where there is none."""
    order = np.lexsort((cost, copy))
    first = np.searchsorted(copy[order], np.arange(copies))
    found = np.full(copies, -1)
    some = first < len(order)
    some[some] &= copy[order][first[some]] == np.flatnonzero(some)
    found[some] = order[first[some]]
    return found


def _shorten(vectors: Floats, most: float) -> Floats:
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors * np.minimum(1.0, most / np.maximum(length, 1e-9))

"""A script that turns T-blocks to their goal headings by pushing the ends of their bars."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.oracles.tee_geometry import (
    GRIPPER,
    Array,
    Mask,
    Octagons,
    corners,
    crosses,
    octagons,
    rotate,
)

_REACH_PER_UNIT = 0.125
_HEIGHT = 0.022
_WORKSPACE = np.array((0.262, 0.312))
_SAFE = np.array((0.16, 0.21))
"""Farther out than this a block is better pushed back."""
_POINTS = np.array(((0.067, -0.01), (0.015, 0.036), (-0.015, -0.036), (-0.009, 0.045)))
"""Where to push for a left turn, in the block's frame: stem, crossbar's front, back and end."""
_NORMALS = np.array(((0.0, -1.0), (1.0, 0.0), (-1.0, 0.0), (0.0, 1.0)))
"""The faces' outward normals there."""
_DISLIKE = np.array((0.0, 0.0, 0.0, 0.1))
"""Meters of detour worth avoiding a push: with its short lever the crossbar's end slips."""
_CENTER = np.array((0.0138, 0.0))
"""Center of mass in the block's frame."""
_SPREAD = 0.0296
"""Mean distance of the block's bottom from its center: friction torque per friction force."""
_MOST_HOLD = 0.014
"""Largest distance that other parts of the block may keep the gripper from the wanted contact."""
_GAP = 0.015
"""Distance from which a push starts."""
_CLEAR, _BERTH = 0.004, 0.008
"""Margins of ways past a block and of the corners at which they bend."""
_TOUCH = 0.005
"""Distance below which the gripper counts as touching a block."""
_STRIDE = 0.35
"""Most turn asked of one action."""
_FORESIGHT = 0.5
"""Turn over which one contact should last."""
_DONE, _NEAR_DONE = 0.08, 0.2
"""Heading errors to leave alone: of a block in touch, and of one that must be traveled to."""


@dataclass(frozen=True)
class _Blocks:
    """Poses of blocks with any leading shape, and the turn each still needs."""

    origin: Array
    yaw: Array
    error: Array

    def __getitem__(self, key: Any) -> "_Blocks":
        return _Blocks(self.origin[key], self.yaw[key], self.error[key])

    def per_contact(self) -> "_Blocks":
        """Add an axis for the contacts."""
        return _Blocks(self.origin[..., None, :], self.yaw[..., None], self.error[..., None])


@dataclass(frozen=True)
class _Contacts:
    """Pushes: where on the block, which way the face looks, and with which gripper corner."""

    point: Array
    normal: Array
    corner: Array

    def __getitem__(self, key: Any) -> "_Contacts":
        return _Contacts(self.point[key], self.normal[key], self.corner[key])


class TeePusher:
    """Turns one block after the other; a pure function of what it sees."""

    def act(self, observation: Mapping[str, NDArray[Any]]) -> NDArray[np.float32]:
        """Choose actions, (B, 3) in [-1, 1]."""
        rows = np.asarray(observation["observation"], np.float64)
        goal = np.asarray(observation["desired_goal"], np.float64)
        grip, blocks = rows[:, 0, :2], _read(rows[:, 1:], goal)
        field = octagons(blocks.origin, blocks.yaw, 0.0)  # (B, N, 2, 8)
        idle = _idle(rows[:, 1:], blocks, field, grip)  # (B, N)
        contacts = _contacts(blocks)  # (B, N, K)
        touch, hold = _touch(blocks.per_contact(), contacts)
        push, later_hold = _push(blocks.per_contact(), contacts)
        fits = np.maximum(hold, later_hold) < _MOST_HOLD
        lateral, gap = _split(grip[:, None, None] - touch, contacts.normal)
        # Near the robot the arm is folded up and stops a centimeter short of where it is sent.
        slack = np.where(grip[:, 0] < -0.2, 0.015, 0.009)[:, None, None]
        ready = fits & (np.abs(lateral) < slack) & (gap > -0.01) & (gap < _GAP + 0.012)
        length, hop = _Ways.around(blocks, grip).to(touch + _GAP * contacts.normal)
        cost = np.where(ready, np.maximum(gap, 0.0), length + 0.02)
        cost = cost + _effort(blocks, contacts) + np.where(fits, 0.0, 5.0)
        cost = np.where(idle[..., None], np.inf, cost)
        best = cost.reshape(len(grip), -1).argmin(-1)
        pick = (np.arange(len(grip)), *np.unravel_index(best, cost.shape[1:]))
        target = np.where(ready[pick][:, None], push[pick], hop[pick])
        over: Mask = np.asarray(idle.all(-1))
        target = np.where(over[:, None], _retreat(field, grip), target)
        return _action(rows[:, 0], target, over)


def _read(rows: Array, goal: Array) -> _Blocks:
    yaw = np.arctan2(rows[..., 3], rows[..., 4])
    error = np.arctan2(goal[..., 0], goal[..., 1]) - yaw
    return _Blocks(rows[..., :2], yaw, (error + np.pi) % (2 * np.pi) - np.pi)


def _idle(rows: Array, blocks: _Blocks, field: Octagons, grip: Array) -> Mask:
    """Blocks (B, N) that are done, gone or absent."""
    distance = field.beyond(grip[:, None, None]).max(-1).min(-1)
    enough = np.where(distance < _TOUCH, _DONE, _NEAR_DONE)
    absent = (np.abs(rows[..., 3:5]).sum(-1) < 0.5) | (rows[..., 2] < -0.01)
    idle: Mask = (np.abs(blocks.error) < enough) | absent
    return idle


def _retreat(field: Octagons, grip: Array) -> Array:
    """Move off a block that is in touch: at rest the arm sags, and would go on pushing."""
    beyond = field.beyond(grip[:, None, None]).reshape(len(grip), -1, 8)
    copies, nearest = np.arange(len(grip)), beyond.max(-1).argmin(-1)
    face = beyond[copies, nearest].argmax(-1)
    away = field.normals.reshape(len(grip), -1, 8, 2)[copies, nearest, face]
    close = beyond.max(-1).min(-1) < _TOUCH
    target: Array = grip + np.where(close, 0.03, 0.0)[:, None] * away
    return target


def _contacts(blocks: _Blocks) -> _Contacts:
    """List the pushes (B, N, K) that turn each block the right way."""
    side = np.where(blocks.error > 0, 1.0, -1.0)[..., None, None]
    mirror = np.concatenate((np.ones_like(side), side), axis=-1)  # (B, N, 1, 2)
    normal = rotate(_NORMALS * mirror, blocks.yaw[..., None])
    # The gripper's corner that will be foremost after some turning: with it the push can last.
    later = rotate(normal, np.clip(blocks.error, -_FORESIGHT, _FORESIGHT)[..., None])
    return _Contacts(_POINTS * mirror, normal, -np.sign(later) * GRIPPER)


def _touch(blocks: _Blocks, contacts: _Contacts) -> tuple[Array, Array]:
    """Gripper centers at which pushes start, and how far another part of the block holds off."""
    start = blocks.origin + rotate(contacts.point, blocks.yaw) - contacts.corner
    field = octagons(blocks.origin, blocks.yaw, 0.0)
    hold = field.exit(start[..., None, :], contacts.normal[..., None, :]).max(-1)
    hold = np.where(np.isfinite(hold), hold, 0.0)
    return start + hold[..., None] * contacts.normal, hold


def _split(vectors: Array, normal: Array) -> tuple[Array, Array]:
    """Parts of vectors along faces and along their normals."""
    across = vectors[..., 0] * normal[..., 1] - vectors[..., 1] * normal[..., 0]
    return across, (vectors * normal).sum(-1)


def _pivot(blocks: _Blocks, contacts: _Contacts) -> tuple[Array, Array]:
    """Lever arms of pushes, and the points (world) that stay in place while they act."""
    middle = blocks.origin + rotate(np.broadcast_to(_CENTER, blocks.origin.shape), blocks.yaw)
    lever = blocks.origin + rotate(contacts.point, blocks.yaw) - middle
    across, _ = _split(lever, contacts.normal)
    tangent = np.stack((contacts.normal[..., 1], -contacts.normal[..., 0]), axis=-1)
    return np.abs(across), middle - (_SPREAD**2 / across)[..., None] * tangent


def _turned(blocks: _Blocks, pivot: Array, turn: Array) -> _Blocks:
    origin = pivot + rotate(blocks.origin - pivot, turn)
    return _Blocks(origin, blocks.yaw + turn, blocks.error - turn)


def _effort(blocks: _Blocks, contacts: _Contacts) -> Array:
    """Length of the pushes (B, N, K), and more where they lead to the table's edge."""
    wide = blocks.per_contact()
    arm, pivot = _pivot(wide, contacts)
    length = np.abs(wide.error) * (arm + _SPREAD**2 / arm)
    after = _turned(wide, pivot, wide.error).origin
    out = np.maximum(np.abs(after) - _SAFE, 0.0).sum(-1)
    effort: Array = length + 3.0 * out + _DISLIKE
    return effort


def _push(blocks: _Blocks, contacts: _Contacts) -> tuple[Array, Array]:
    """Where the gripper shall go so that blocks turn by one stride, and what holds it off."""
    _, pivot = _pivot(blocks, contacts)
    turn = np.clip(blocks.error, -_STRIDE, _STRIDE)
    after = _turned(blocks, pivot, turn)
    moved = _Contacts(contacts.point, rotate(contacts.normal, turn), contacts.corner)
    return _touch(after, moved)


@dataclass(frozen=True)
class _Ways:
    """Shortest ways of the gripper around the blocks, by a graph of the grown blocks' corners."""

    sets: Octagons
    """The obstacles, (B, P, 8)."""
    loose: Octagons
    """The same as seen from the gripper, which may already be too close to leave the margin."""
    grip: Array
    nodes: Array
    """(B, W, 2)"""
    length: Array
    """From the gripper to each node, (B, W); infinite where there is no way."""
    first: Array
    """The first node on that way, (B, W, 2)."""

    @classmethod
    def around(cls, blocks: _Blocks, grip: Array) -> "_Ways":
        """Find the ways from the gripper to all corners."""
        copies = len(grip)
        grown = octagons(blocks.origin, blocks.yaw, _CLEAR)
        sets = Octagons(
            grown.normals.reshape(copies, -1, 8, 2), grown.offsets.reshape(copies, -1, 8)
        )
        loose = sets.shrunk_to_free(grip[:, None])
        nodes = corners(blocks.origin, blocks.yaw, _BERTH).reshape(copies, -1, 2)
        outside: Mask = np.asarray((np.abs(nodes) > _WORKSPACE).any(-1))
        edges = _reach(nodes[:, :, None], nodes[:, None], sets)  # (B, W, W)
        edges = np.where(outside[:, None], np.inf, edges)
        length = np.where(outside, np.inf, _reach(grip[:, None], nodes, loose))
        first = nodes
        for _ in range(5):  # no sensible way bends more often
            through = length[..., None] + edges
            via = through.argmin(1)  # (B, W)
            shorter = through.min(1) < length
            first = np.where(
                shorter[..., None], np.take_along_axis(first, via[..., None], axis=1), first
            )
            length = np.minimum(length, through.min(1))
        return cls(sets, loose, grip, nodes, length, first)

    def to(self, goals: Array) -> tuple[Array, Array]:
        """Lengths of the ways to goals (B, ..., 2), and their first stops (B, ..., 2)."""
        flat = goals.reshape(len(goals), -1, 2)
        straight = _reach(self.grip[:, None], flat, self.loose)  # (B, G)
        bent = self.length[..., None] + _reach(self.nodes[:, :, None], flat[:, None], self.sets)
        via = bent.argmin(1)
        hop = np.take_along_axis(self.first, via[..., None], axis=1)
        hop = np.where((straight <= bent.min(1))[..., None], flat, hop)
        length = np.minimum(straight, bent.min(1))
        length = np.where((np.abs(flat) > _WORKSPACE).any(-1), np.inf, length)
        # Where no way is found, a crooked attempt beats standing still.
        lost = ~np.isfinite(length)
        length = np.where(lost, 1.0 + np.linalg.norm(flat - self.grip[:, None], axis=-1), length)
        return length.reshape(goals.shape[:-1]), hop.reshape(goals.shape)


def _reach(start: Array, end: Array, sets: Octagons) -> Array:
    """Lengths of segments, infinite where an obstacle (B, P, 8) is in the way."""
    length: Array = np.linalg.norm(end - start, axis=-1)
    spread = (len(length), *(1,) * (length.ndim - 1), 8)
    for index in range(sets.offsets.shape[1]):
        one = Octagons(
            sets.normals[:, index].reshape(*spread, 2), sets.offsets[:, index].reshape(spread)
        )
        length = np.where(crosses(start, end, one), np.inf, length)
    return length


def _action(grip: Array, target: Array, rest: Mask) -> NDArray[np.float32]:
    """Head for targets (B, 2) in a straight line."""
    move = (target - grip[:, :2]) / _REACH_PER_UNIT
    move /= np.maximum(np.abs(move).max(-1, keepdims=True), 1.0)
    lift = (_HEIGHT - grip[:, 2:3]) / _REACH_PER_UNIT
    action = np.clip(np.concatenate((move, lift), axis=-1), -1.0, 1.0)
    still = rest & (move == 0).all(-1)
    return np.where(still[:, None], 0.0, action).astype(np.float32)

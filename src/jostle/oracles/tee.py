"""The scripted expert for Push-T: rotates T-blocks by pushing the ends of their bars."""

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
from jostle.scene.controller import ACTION_SCALE

_HEIGHT = 0.022
_WORKSPACE = np.array((0.262, 0.312))
_SAFE_REGION = np.array((0.16, 0.21))
"""Blocks outside are pushed back rather than farther out."""
_POINTS = np.array(((0.067, -0.01), (0.015, 0.036), (-0.015, -0.036), (-0.009, 0.045)))
"""Contacts for a left turn, in the block's frame: stem, crossbar's front, back and end."""
_NORMALS = np.array(((0.0, -1.0), (1.0, 0.0), (-1.0, 0.0), (0.0, 1.0)))
"""Outward normals of the faces at these contacts."""
_CONTACT_COSTS = np.array((0.0, 0.0, 0.0, 0.1))
"""Costs of the contacts, in meters of path: the crossbar's end has a short lever and slips."""
_CENTER = np.array((0.0138, 0.0))
"""Center of mass in the block's frame."""
_FRICTION_RADIUS = 0.0296
"""Friction torque per friction force: mean distance of the block's bottom from its center."""
_MAX_STANDOFF = 0.014
"""Largest distance to the contact at which other parts of the block may stop the gripper."""
_GAP = 0.015
"""Gap between gripper and block before a push."""
_PATH_MARGIN, _CORNER_MARGIN = 0.004, 0.008
"""Gaps between the gripper and a block on a path, and at the corners where paths bend."""
_CONTACT_DISTANCE = 0.005
"""Distance below which the gripper counts as touching a block."""
_MAX_TURN = 0.35
"""Largest rotation per action."""
_LOOKAHEAD = 0.5
"""Rotation over which a contact should last."""
_DONE, _DONE_FAR = 0.08, 0.2
"""Heading errors that are not corrected: of a block in contact, and of any other."""


@dataclass(frozen=True)
class _Blocks:
    """Poses of blocks with any leading shape, and their heading errors."""

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
    """Contacts: point on the block, outward normal of the face, and corner of the gripper."""

    point: Array
    normal: Array
    corner: Array

    def __getitem__(self, key: Any) -> "_Contacts":
        return _Contacts(self.point[key], self.normal[key], self.corner[key])


class TeePusher:
    """Rotates one block after the other; a pure function of the observation."""

    def act(self, observation: Mapping[str, NDArray[Any]]) -> NDArray[np.float32]:
        """Choose actions, (B, 3) in [-1, 1]."""
        entities = np.asarray(observation["observation"], np.float64)
        goal = np.asarray(observation["desired_goal"], np.float64)
        grip, blocks = entities[:, 0, :2], _blocks(entities[:, 1:], goal)
        obstacles = octagons(blocks.origin, blocks.yaw, 0.0)  # (B, N, 2, 8)
        idle = _idle(entities[:, 1:], blocks, obstacles, grip)  # (B, N)

        # Contacts, and whether the gripper is in place to push
        contacts = _contacts(blocks)  # (B, N, K)
        touch, standoff = _touch(blocks.per_contact(), contacts)
        push, later_standoff = _push(blocks.per_contact(), contacts)
        fits = np.maximum(standoff, later_standoff) < _MAX_STANDOFF
        lateral, gap = _decompose(grip[:, None, None] - touch, contacts.normal)
        # Near the robot the arm is folded up and stops a centimeter short of its target.
        slack = np.where(grip[:, 0] < -0.2, 0.015, 0.009)[:, None, None]
        ready = fits & (np.abs(lateral) < slack) & (gap > -0.01) & (gap < _GAP + 0.012)

        # Cheapest contact
        length, waypoint = _Paths.around(blocks, grip).to(touch + _GAP * contacts.normal)
        cost = np.where(ready, np.maximum(gap, 0.0), length + 0.02)
        cost = cost + _effort(blocks, contacts) + np.where(fits, 0.0, 5.0)
        cost = np.where(idle[..., None], np.inf, cost)
        best = cost.reshape(len(grip), -1).argmin(-1)
        chosen = (np.arange(len(grip)), *np.unravel_index(best, cost.shape[1:]))

        # Push, or go to where the push starts
        target = np.where(ready[chosen][:, None], push[chosen], waypoint[chosen])
        finished: Mask = np.asarray(idle.all(-1))
        target = np.where(finished[:, None], _retreat(obstacles, grip), target)
        return _action(entities[:, 0], target, finished)


def _blocks(entities: Array, goal: Array) -> _Blocks:
    yaw = np.arctan2(entities[..., 3], entities[..., 4])
    error = np.arctan2(goal[..., 0], goal[..., 1]) - yaw
    return _Blocks(entities[..., :2], yaw, (error + np.pi) % (2 * np.pi) - np.pi)


def _idle(entities: Array, blocks: _Blocks, obstacles: Octagons, grip: Array) -> Mask:
    """Blocks (B, N) that are done, fallen or absent."""
    distance = obstacles.beyond(grip[:, None, None]).max(-1).min(-1)
    tolerance = np.where(distance < _CONTACT_DISTANCE, _DONE, _DONE_FAR)
    absent = (np.abs(entities[..., 3:5]).sum(-1) < 0.5) | (entities[..., 2] < -0.01)
    idle: Mask = (np.abs(blocks.error) < tolerance) | absent
    return idle


def _retreat(obstacles: Octagons, grip: Array) -> Array:
    """Move away from a block in contact: the arm sags at rest and would keep on pushing."""
    beyond = obstacles.beyond(grip[:, None, None]).reshape(len(grip), -1, 8)
    env_ids, nearest = np.arange(len(grip)), beyond.max(-1).argmin(-1)
    face = beyond[env_ids, nearest].argmax(-1)
    away = obstacles.normals.reshape(len(grip), -1, 8, 2)[env_ids, nearest, face]
    close = beyond.max(-1).min(-1) < _CONTACT_DISTANCE
    target: Array = grip + np.where(close, 0.03, 0.0)[:, None] * away
    return target


def _contacts(blocks: _Blocks) -> _Contacts:
    """List the contacts (B, N, K) that rotate each block in the right direction."""
    side = np.where(blocks.error > 0, 1.0, -1.0)[..., None, None]
    mirror = np.concatenate((np.ones_like(side), side), axis=-1)  # (B, N, 1, 2)
    normal = rotate(_NORMALS * mirror, blocks.yaw[..., None])
    # The corner of the gripper that is foremost after some rotation: with it the push can last.
    later = rotate(normal, np.clip(blocks.error, -_LOOKAHEAD, _LOOKAHEAD)[..., None])
    return _Contacts(_POINTS * mirror, normal, -np.sign(later) * GRIPPER)


def _touch(blocks: _Blocks, contacts: _Contacts) -> tuple[Array, Array]:
    """Gripper centers in contact, and at which distance another part of the block stops them."""
    start = blocks.origin + rotate(contacts.point, blocks.yaw) - contacts.corner
    obstacles = octagons(blocks.origin, blocks.yaw, 0.0)
    standoff = obstacles.exit(start[..., None, :], contacts.normal[..., None, :]).max(-1)
    standoff = np.where(np.isfinite(standoff), standoff, 0.0)
    return start + standoff[..., None] * contacts.normal, standoff


def _decompose(vectors: Array, normal: Array) -> tuple[Array, Array]:
    """Components of vectors along faces and along their normals."""
    across = vectors[..., 0] * normal[..., 1] - vectors[..., 1] * normal[..., 0]
    return across, (vectors * normal).sum(-1)


def _pivot(blocks: _Blocks, contacts: _Contacts) -> tuple[Array, Array]:
    """Lever arms of pushes, and the world points about which they rotate the blocks."""
    center = blocks.origin + rotate(np.broadcast_to(_CENTER, blocks.origin.shape), blocks.yaw)
    lever = blocks.origin + rotate(contacts.point, blocks.yaw) - center
    across, _ = _decompose(lever, contacts.normal)
    tangent = np.stack((contacts.normal[..., 1], -contacts.normal[..., 0]), axis=-1)
    return np.abs(across), center - (_FRICTION_RADIUS**2 / across)[..., None] * tangent


def _rotated(blocks: _Blocks, pivot: Array, turn: Array) -> _Blocks:
    origin = pivot + rotate(blocks.origin - pivot, turn)
    return _Blocks(origin, blocks.yaw + turn, blocks.error - turn)


def _effort(blocks: _Blocks, contacts: _Contacts) -> Array:
    """Length of the pushes (B, N, K), with a penalty for those towards the table's edge."""
    expanded = blocks.per_contact()
    arm, pivot = _pivot(expanded, contacts)
    length = np.abs(expanded.error) * (arm + _FRICTION_RADIUS**2 / arm)
    after = _rotated(expanded, pivot, expanded.error).origin
    outside = np.maximum(np.abs(after) - _SAFE_REGION, 0.0).sum(-1)
    effort: Array = length + 3.0 * outside + _CONTACT_COSTS
    return effort


def _push(blocks: _Blocks, contacts: _Contacts) -> tuple[Array, Array]:
    """Gripper targets that rotate the blocks by one step, and their standoff as in `_touch`."""
    _, pivot = _pivot(blocks, contacts)
    turn = np.clip(blocks.error, -_MAX_TURN, _MAX_TURN)
    after = _rotated(blocks, pivot, turn)
    moved = _Contacts(contacts.point, rotate(contacts.normal, turn), contacts.corner)
    return _touch(after, moved)


@dataclass(frozen=True)
class _Paths:
    """Shortest paths of the gripper around the blocks, by a graph of the grown blocks' corners."""

    obstacles: Octagons
    """The grown blocks, (B, P, 8)."""
    start_obstacles: Octagons
    """The same, shrunk where the gripper is already inside the margin."""
    grip: Array
    nodes: Array
    """(B, W, 2)"""
    length: Array
    """From the gripper to each node, (B, W); infinite where there is no path."""
    first: Array
    """The first node on that path, (B, W, 2)."""

    @classmethod
    def around(cls, blocks: _Blocks, grip: Array) -> "_Paths":
        """Find the paths from the gripper to all corners."""
        num_envs = len(grip)
        grown = octagons(blocks.origin, blocks.yaw, _PATH_MARGIN)
        obstacles = Octagons(
            grown.normals.reshape(num_envs, -1, 8, 2), grown.offsets.reshape(num_envs, -1, 8)
        )
        start_obstacles = obstacles.shrunk_to_exclude(grip[:, None])
        nodes = corners(blocks.origin, blocks.yaw, _CORNER_MARGIN).reshape(num_envs, -1, 2)
        outside: Mask = np.asarray((np.abs(nodes) > _WORKSPACE).any(-1))
        edges = _free_length(nodes[:, :, None], nodes[:, None], obstacles)  # (B, W, W)
        edges = np.where(outside[:, None], np.inf, edges)
        length = np.where(outside, np.inf, _free_length(grip[:, None], nodes, start_obstacles))
        first = nodes
        for _ in range(5):  # no sensible path bends more often
            through = length[..., None] + edges
            via = through.argmin(1)  # (B, W)
            shorter = through.min(1) < length
            first = np.where(
                shorter[..., None], np.take_along_axis(first, via[..., None], axis=1), first
            )
            length = np.minimum(length, through.min(1))
        return cls(obstacles, start_obstacles, grip, nodes, length, first)

    def to(self, goals: Array) -> tuple[Array, Array]:
        """Lengths of the paths to goals (B, ..., 2), and their first waypoints (B, ..., 2)."""
        flat = goals.reshape(len(goals), -1, 2)
        straight = _free_length(self.grip[:, None], flat, self.start_obstacles)  # (B, G)
        last = _free_length(self.nodes[:, :, None], flat[:, None], self.obstacles)
        bent = self.length[..., None] + last  # (B, W, G)
        via = bent.argmin(1)
        waypoint = np.take_along_axis(self.first, via[..., None], axis=1)
        waypoint = np.where((straight <= bent.min(1))[..., None], flat, waypoint)
        length = np.minimum(straight, bent.min(1))
        length = np.where((np.abs(flat) > _WORKSPACE).any(-1), np.inf, length)
        # Where there is no path, an attempt is better than standing still.
        lost = ~np.isfinite(length)
        length = np.where(lost, 1.0 + np.linalg.norm(flat - self.grip[:, None], axis=-1), length)
        return length.reshape(goals.shape[:-1]), waypoint.reshape(goals.shape)


def _free_length(start: Array, end: Array, obstacles: Octagons) -> Array:
    """Lengths of segments, infinite where an obstacle (B, P, 8) is in the way."""
    length: Array = np.linalg.norm(end - start, axis=-1)
    shape = (len(length), *(1,) * (length.ndim - 1), 8)
    for index in range(obstacles.offsets.shape[1]):
        obstacle = Octagons(
            obstacles.normals[:, index].reshape(*shape, 2),
            obstacles.offsets[:, index].reshape(shape),
        )
        length = np.where(crosses(start, end, obstacle), np.inf, length)
    return length


def _action(grip: Array, target: Array, finished: Mask) -> NDArray[np.float32]:
    """Move towards targets (B, 2) in a straight line; stay where finished and at the target."""
    move = (target - grip[:, :2]) / ACTION_SCALE
    move /= np.maximum(np.abs(move).max(-1, keepdims=True), 1.0)
    lift = (_HEIGHT - grip[:, 2:3]) / ACTION_SCALE
    action = np.clip(np.concatenate((move, lift), axis=-1), -1.0, 1.0)
    still = finished & (move == 0).all(-1)
    return np.where(still[:, None], 0.0, action).astype(np.float32)

"""Cartesian control of the gripper inside MuJoCo: three position servos and one orientation servo.

The servos act on the grip site: translation along the world's axes, and rotation towards a fixed
target orientation. One action of all environments is therefore one call into C.
"""

from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from jostle.scene.arm import GRIP, JOINTS, RESET_POSE
from jostle.scene.robot import robot_base
from jostle.scene.spec import TABLE_TOP, TableSpec

ACTION_SCALE = 0.125
"""Meters of displacement that an action of 1 commands."""
ACTION_SECONDS = 1 / 3
"""Simulated time of one action."""
HEIGHT_RANGE = (TABLE_TOP + 0.02, TABLE_TOP + 0.035)
"""Heights between which the grip site may be sent."""
TARGET_ORIENTATION = "target_orientation"
"""Name of the site whose orientation the hand keeps."""
_MARGIN = 0.0175
_SHOULDER_Z = 1.278
_WRIST = np.array((-0.1139, 0.1966))
"""Position (x, z) of the wrist relative to the grip site, at the target orientation."""
_MIN_WRIST_DISTANCE = 0.22
"""Nearest the wrist can come to the shoulder before the elbow reaches its limit."""
_MAX_TILT = 0.55
_MAX_FORCE, _MAX_TORQUE = 50.0, 10.0
"""Limits of the servos: beyond them the wrist's motors would saturate and bend the path."""


def add_controller(spec: mujoco.MjSpec, hand_quat: NDArray[np.float64]) -> None:
    """Add the servos; the grip site keeps the orientation `hand_quat`."""
    spec.worldbody.add_site(name="workspace")
    spec.worldbody.add_site(name=TARGET_ORIENTATION, quat=hand_quat)
    for axis in range(3):
        servo = spec.add_actuator(
            name=f"servo_{'xyz'[axis]}", trntype=mujoco.mjtTrn.mjTRN_SITE, target=GRIP,
            refsite="workspace", gear=np.eye(6)[axis],
        )  # fmt: skip
        kp, kv = (6000, 300) if axis == 2 else (1200, 155)  # the height range is only 15 mm
        servo.set_to_position(kp=kp, kv=kv)
        servo.forcelimited, servo.forcerange = True, (-_MAX_FORCE, _MAX_FORCE)
    rotation = spec.add_actuator(
        name="servo_turn", trntype=mujoco.mjtTrn.mjTRN_SITE, target=GRIP,
        refsite=TARGET_ORIENTATION,
    )  # fmt: skip
    rotation.set_to_orientation(kp=500, kv=40)
    rotation.forcelimited, rotation.forcerange = True, (0.0, _MAX_TORQUE)
    for name, angle in zip(JOINTS, RESET_POSE, strict=True):
        joint = spec.joint(name)
        joint.stiffness, joint.springref = (0.5, 0.0, 0.0), angle


@dataclass(frozen=True)
class Workspace:
    """Where the grip site may be sent, and how far the hand must tilt to get there.

    The Panda's elbow cannot fold far enough to keep the hand's orientation close to the robot.
    There the hand tilts: its fingertips move towards the base, so that the wrist keeps its
    distance from the shoulder.
    """

    low: NDArray[np.float64]
    """Lowest corner of the box around the table."""
    high: NDArray[np.float64]
    """Highest corner."""
    shoulder: NDArray[np.float64]
    """Where the shoulder's axes meet."""
    tilt_axis: NDArray[np.float64]
    """The world's y axis in the frame of the target orientation: tilting rotates about it."""

    @classmethod
    def over(cls, table: TableSpec, hand_quat: NDArray[np.float64]) -> "Workspace":
        """Return the workspace of a table for a hand with the orientation `hand_quat`."""
        x, y = table.x / 2 + _MARGIN, table.y / 2 + _MARGIN
        axis, inverse = np.empty(3), np.empty(4)
        mujoco.mju_negQuat(inverse, hand_quat)
        mujoco.mju_rotVecQuat(axis, np.array((0.0, 1.0, 0.0)), inverse)
        shoulder = np.array((robot_base(table)[0], 0.0, _SHOULDER_Z))
        low, high = np.array((-x, -y, HEIGHT_RANGE[0])), np.array((x, y, HEIGHT_RANGE[1]))
        return cls(low, high, shoulder, axis)

    def commands(
        self, grip: NDArray[np.float64], actions: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Servo inputs (B, 6): the measured position plus the scaled action, and the tilt."""
        target = np.clip(
            grip + ACTION_SCALE * np.clip(actions, -1.0, 1.0), self.low, self.high
        )  # (B, 3)
        tilt = self._tilt(target)  # (B,)
        clearance = self._clearance(target, tilt)  # (B,)
        # A target that even the largest tilt cannot reach is moved away from the robot.
        target[:, 0] = np.minimum(target[:, 0] + np.maximum(-clearance, 0.0), self.high[0])
        return np.concatenate((target, tilt[:, None] * self.tilt_axis), axis=-1)

    def _tilt(self, target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Find the smallest tilt that leaves the elbow clearance, by bisection."""
        low = np.zeros(len(target))
        too_close = self._clearance(target, low) < 0
        high = np.where(too_close, _MAX_TILT, 0.0)
        for _ in range(8 if too_close.any() else 0):
            middle = (low + high) / 2
            enough = self._clearance(target, middle) >= 0
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        return high

    def _clearance(
        self, target: NDArray[np.float64], tilt: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """How much farther than its minimum distance the wrist is from the shoulder, (B,)."""
        sine, cosine = np.sin(tilt), np.cos(tilt)
        x = target[:, 0] + _WRIST[0] * cosine + _WRIST[1] * sine - self.shoulder[0]
        z = target[:, 2] - _WRIST[0] * sine + _WRIST[1] * cosine - self.shoulder[2]
        return np.sqrt(x**2 + target[:, 1] ** 2 + z**2) - _MIN_WRIST_DISTANCE

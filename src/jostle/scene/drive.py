"""Cartesian control that runs inside MuJoCo: three position servos and one orientation servo.

The servos act on the grip site, translation along the world's axes and rotation against the held
orientation, so a whole action of all copies is one call into C.
"""

from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from jostle.scene.arm import GRIP, JOINTS, RESET_POSE
from jostle.scene.furniture import robot_base
from jostle.scene.spec import TABLE_TOP, TableSpec

REACH_PER_UNIT = 0.125
"""Meters that an action of 1 asks for."""
ACTION_SECONDS = 1 / 3
"""Simulated time of one action."""
BAND = (TABLE_TOP + 0.02, TABLE_TOP + 0.035)
"""Heights between which the grip site may be sent."""
_MARGIN = 0.0175
_SHOULDER_Z = 1.278
_WRIST = np.array((-0.1139, 0.1966))
"""The wrist's place (x, z) as seen from the grip site at the held orientation."""
_FOLD = 0.22
"""Nearest the wrist can come to the shoulder before the elbow meets its limit."""
_MOST_LEAN = 0.55
_MOST_FORCE, _MOST_TORQUE = 50.0, 10.0
"""Limits of the servos: beyond them the wrist's motors would saturate and bend the path."""


def add_drive(spec: mujoco.MjSpec, held: NDArray[np.float64]) -> None:
    """Add the servos; `held` is the quaternion of the grip site that is kept."""
    spec.worldbody.add_site(name="workspace")
    spec.worldbody.add_site(name="held", quat=held)
    for axis in range(3):
        servo = spec.add_actuator(
            name=f"servo_{'xyz'[axis]}", trntype=mujoco.mjtTrn.mjTRN_SITE, target=GRIP,
            refsite="workspace", gear=np.eye(6)[axis],
        )  # fmt: skip
        kp, kv = (6000, 300) if axis == 2 else (1200, 155)  # the height band is only 15 mm
        servo.set_to_position(kp=kp, kv=kv)
        servo.forcelimited, servo.forcerange = True, (-_MOST_FORCE, _MOST_FORCE)
    turn = spec.add_actuator(
        name="servo_turn", trntype=mujoco.mjtTrn.mjTRN_SITE, target=GRIP, refsite="held"
    )
    turn.set_to_orientation(kp=500, kv=40)
    turn.forcelimited, turn.forcerange = True, (0.0, _MOST_TORQUE)
    for name, angle in zip(JOINTS, RESET_POSE, strict=True):
        joint = spec.joint(name)
        joint.stiffness, joint.springref = (0.5, 0.0, 0.0), angle


@dataclass(frozen=True)
class Workspace:
    """Where the grip site may be sent, and how the hand must lean to get there.

    The Panda's elbow cannot fold far enough to hold the hand's orientation close to the robot.
    There the hand leans: its fingertips go towards the base, so that the wrist keeps its distance
    from the shoulder.
    """

    low: NDArray[np.float64]
    """Lowest corner of the box around the table."""
    high: NDArray[np.float64]
    """Highest corner."""
    shoulder: NDArray[np.float64]
    """Where the shoulder's axes meet."""
    lean_axis: NDArray[np.float64]
    """The world's y axis in the held frame: leaning is a turn about it."""

    @classmethod
    def over(cls, table: TableSpec, held: NDArray[np.float64]) -> "Workspace":
        """Span the workspace of a table for a hand held at quaternion `held`."""
        x, y = table.x / 2 + _MARGIN, table.y / 2 + _MARGIN
        axis, back = np.empty(3), np.empty(4)
        mujoco.mju_negQuat(back, held)
        mujoco.mju_rotVecQuat(axis, np.array((0.0, 1.0, 0.0)), back)
        shoulder = np.array((robot_base(table)[0], 0.0, _SHOULDER_Z))
        return cls(np.array((-x, -y, BAND[0])), np.array((x, y, BAND[1])), shoulder, axis)

    def commands(
        self, grip: NDArray[np.float64], actions: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Servo inputs (B, 6): the measured position plus the scaled action, and the lean."""
        goal = np.clip(
            grip + REACH_PER_UNIT * np.clip(actions, -1.0, 1.0), self.low, self.high
        )  # (B, 3)
        lean = self._lean(goal)  # (B,)
        room = self._room(goal, lean)  # (B,)
        # What even the deepest lean cannot reach is moved away from the robot.
        goal[:, 0] = np.minimum(goal[:, 0] + np.maximum(-room, 0.0), self.high[0])
        return np.concatenate((goal, lean[:, None] * self.lean_axis), axis=-1)

    def _lean(self, goal: NDArray[np.float64]) -> NDArray[np.float64]:
        """Find the least lean that leaves the elbow room, by bisection."""
        low = np.zeros(len(goal))
        tight = self._room(goal, low) < 0
        high = np.where(tight, _MOST_LEAN, 0.0)
        for _ in range(8 if tight.any() else 0):
            middle = (low + high) / 2
            roomy = self._room(goal, middle) >= 0
            low, high = np.where(roomy, low, middle), np.where(roomy, middle, high)
        return high

    def _room(self, goal: NDArray[np.float64], lean: NDArray[np.float64]) -> NDArray[np.float64]:
        """How far the wrist stays outside the shoulder's forbidden ball, (B,)."""
        sine, cosine = np.sin(lean), np.cos(lean)
        x = goal[:, 0] + _WRIST[0] * cosine + _WRIST[1] * sine - self.shoulder[0]
        z = goal[:, 2] - _WRIST[0] * sine + _WRIST[1] * cosine - self.shoulder[2]
        return np.sqrt(x**2 + goal[:, 1] ** 2 + z**2) - _FOLD

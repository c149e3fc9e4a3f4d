"""The Franka Panda: true kinematics, limits and masses, with primitive geoms as visuals.

Link masses and inertias are the published identified values; the closed fingers are one rigid
block with the hand, so an arm costs seven degrees of freedom.
"""

import math
from dataclasses import dataclass

import mujoco
import numpy as np

RESET_POSE = (0.0, 0.1963, 0.0, -2.6180, 0.0, 2.9416, 0.7854)
"""Joint angles at the start of every episode."""
RETRACTED_POSE = (0.0, -0.62, 0.0, -3.06, 0.0, 2.18, 0.7854)
"""Joint angles in goal images: the hand hangs behind the table's edge, above all objects."""
GRIP = "grip"
"""Name of the controlled site between the fingertips."""

_WHITE = (0.93, 0.94, 0.95, 1.0)
_GRAY = (0.55, 0.57, 0.60, 1.0)
_DARK = (0.22, 0.23, 0.25, 1.0)


@dataclass(frozen=True)
class _Link:
    """One moving link: frame, joint limits, mass properties and visual geoms."""

    pos: tuple[float, float, float]
    quat: tuple[float, float, float, float]
    limits: tuple[float, float]
    torque: float
    mass: float
    center: tuple[float, float, float]
    inertia: tuple[float, float, float, float, float, float]
    capsules: tuple[tuple[tuple[float, ...], float, tuple[float, ...]], ...]
    """Visual geoms: two end points, radius, color."""


_ROLL = (math.sqrt(0.5), math.sqrt(0.5), 0.0, 0.0)
_UNROLL = (math.sqrt(0.5), -math.sqrt(0.5), 0.0, 0.0)
_FLAT = (1.0, 0.0, 0.0, 0.0)

_LINKS = (
    _Link(
        (0, 0, 0.333), _FLAT, (-2.8973, 2.8973), 87, 4.970684,
        (0.003875, 0.002081, -0.04762), (0.70337, 0.70661, 0.009117, -0.000139, 0.006772, 0.019169),
        (((0, 0, -0.18, 0, 0, -0.02), 0.06, _WHITE), ((0, -0.06, 0, 0, 0.06, 0), 0.058, _WHITE)),
    ),
    _Link(
        (0, 0, 0), _UNROLL, (-1.7628, 1.7628), 87, 0.646926,
        (-0.003141, -0.02872, 0.003495),
        (0.007962, 0.02811, 0.025995, -0.003925, 0.010254, 0.000704),
        (((0, 0, 0, 0, -0.12, 0), 0.058, _WHITE), ((0, 0, -0.065, 0, 0, 0.065), 0.05, _GRAY)),
    ),
    _Link(
        (0, -0.316, 0), _ROLL, (-2.8973, 2.8973), 87, 3.228604,
        (0.027518, 0.039252, -0.066502),
        (0.037242, 0.036155, 0.01083, -0.004761, -0.011396, -0.012805),
        (((0, 0, -0.16, 0, 0, -0.02), 0.056, _WHITE),
        ((0.03, -0.05, 0, 0.0825, 0.05, 0), 0.05, _WHITE)),
    ),
    _Link(
        (0.0825, 0, 0), _ROLL, (-3.0718, -0.0698), 87, 3.587895,
        (-0.05317, 0.104419, 0.027454),
        (0.025853, 0.019552, 0.028323, 0.007796, -0.001332, 0.008641),
        (((0, 0, -0.06, 0, 0, 0.06), 0.048, _GRAY),
        ((-0.02, 0.02, 0, -0.0825, 0.1, 0), 0.052, _WHITE)),
    ),
    _Link(
        (-0.0825, 0.384, 0), _UNROLL, (-2.8973, 2.8973), 12, 1.225946,
        (-0.011953, 0.041065, -0.038437),
        (0.035549, 0.029474, 0.008627, -0.002117, -0.004037, 0.000229),
        (((0, 0, -0.25, 0, 0.02, -0.1), 0.05, _WHITE),
        ((0, 0.06, -0.1, 0, 0.055, -0.01), 0.042, _WHITE)),
    ),
    _Link(
        (0, 0, 0), _ROLL, (-0.0175, 3.7525), 12, 1.666555,
        (0.060149, -0.014117, -0.010517),
        (0.001964, 0.004354, 0.005433, 0.000109, -0.001158, 0.000341),
        (((0, 0, -0.04, 0, 0, 0.05), 0.046, _WHITE), ((0.03, 0, 0, 0.088, 0.01, 0), 0.045, _WHITE)),
    ),
    _Link(
        (0.088, 0, 0), _ROLL, (-2.8973, 2.8973), 12, 0.735522,
        (0.010517, -0.004252, 0.061597),
        (0.012516, 0.010027, 0.004815, -0.000428, -0.001196, -0.000741),
        (((0, 0, 0.02, 0, 0, 0.085), 0.043, _GRAY),),
    ),
)  # fmt: skip

JOINTS = tuple(f"joint{number}" for number in range(1, 8))
"""Names of the seven joints, from the base."""


def add_arm(spec: mujoco.MjSpec, base: tuple[float, float, float], friction: float) -> None:
    """Add the arm at `base`, without gravity; it collides with objects and furniture only."""
    parent = spec.worldbody.add_body(name="base", pos=base)
    _add_capsule(parent, (-0.05, 0, 0.05, 0.02, 0, 0.06), 0.07, _WHITE)
    _add_capsule(parent, (0, 0, 0.08, 0, 0, 0.16), 0.062, _GRAY)
    for name, link in zip(JOINTS, _LINKS, strict=True):
        parent = parent.add_body(
            name=f"{name}_link", pos=link.pos, quat=link.quat, gravcomp=1,
            mass=link.mass, ipos=link.center, fullinertia=link.inertia, explicitinertial=True,
        )  # fmt: skip
        parent.add_joint(
            name=name, type=mujoco.mjtJoint.mjJNT_HINGE, axis=(0, 0, 1), range=link.limits,
            limited=True, armature=0.1, damping=1.0, actfrclimited=True,
            actfrcrange=(-link.torque, link.torque),
        )  # fmt: skip
        for ends, radius, color in link.capsules:
            _add_capsule(parent, ends, radius, color)
    _add_hand(parent, friction)


def _add_hand(wrist: "mujoco._specs.MjsBody", friction: float) -> None:
    """Add palm, closed fingers and the grip site."""
    quat = (math.cos(math.pi / 8), 0, 0, -math.sin(math.pi / 8))
    hand = wrist.add_body(
        name="hand", pos=(0, 0, 0.107), quat=quat, gravcomp=1,
        mass=0.76, ipos=(-0.01, 0, 0.03), inertia=(0.001, 0.0025, 0.0017), explicitinertial=True,
    )  # fmt: skip
    box = mujoco.mjtGeom.mjGEOM_BOX
    solid = {"contype": 2, "conaffinity": 1, "friction": (friction, 0.005, 0.0001), "mass": 0}
    hand.add_geom(
        name="palm", type=box, pos=(0, 0, 0.03), size=(0.019, 0.1, 0.028), rgba=_WHITE, **solid
    )
    # Finger joints sit 0.0584 down the hand, fingers are 0.0538 long: 21 x 53 mm when closed.
    hand.add_geom(
        name="fingers", type=box, pos=(0, 0, 0.0584 + 0.0269), size=(0.0105, 0.0264, 0.0269),
        rgba=_DARK, **solid,
    )  # fmt: skip
    hand.add_site(name=GRIP, pos=(0, 0, 0.1025))


def _add_capsule(
    body: "mujoco._specs.MjsBody", ends: tuple[float, ...], radius: float, color: tuple[float, ...]
) -> None:
    body.add_geom(
        type=mujoco.mjtGeom.mjGEOM_CAPSULE, fromto=np.array(ends), size=(radius, 0, 0),
        rgba=color, contype=0, conaffinity=0, mass=0,
    )  # fmt: skip

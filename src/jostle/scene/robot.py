"""Where the robot stands and its gripper starts; apart from its model, to do without MuJoCo."""

from jostle.scene.spec import TableSpec

STAND_Z = 0.92
"""Height of the center of the robot's stand."""
THICKNESS = 0.05
"""Thickness of the stand and of the table."""
GRIP_OFFSET = (0.458, 0.0, 0.0931)
"""Where the grip site is at the reset pose, from the base (to a millimeter)."""


def robot_base(table: TableSpec) -> tuple[float, float, float]:
    """Position of the arm's base: the same distance from the edge of any table."""
    return (-(table.x / 2 + 0.21), 0.0, STAND_Z + THICKNESS / 2)

"""Static parts of the scene: ground, table, robot stand, corridor, lights."""

import mujoco

from jostle.scene.robot import STAND_Z, THICKNESS, robot_base
from jostle.scene.spec import TABLE_TOP, TableSpec

_LIGHT_DIRECTIONS = ((0.5, 0.5), (-0.5, 0.5), (0.5, -0.5), (-0.5, -0.5))

WALLS = (
    ((0.18, 0.0675), (0.12, 0.08)),
    ((0.18, -0.0675), (0.12, 0.08)),
    ((0.245, 0.0), (0.01, 0.215)),
)
"""The corridor of Ordered-Push: center and full size of each wall in the table's plane."""
WALL_HEIGHT = 0.025


def add_furniture(spec: mujoco.MjSpec, table: TableSpec, corridor: bool, friction: float) -> None:
    """Add ground, table, stand and, with `corridor`, the corridor's walls."""
    world, box = spec.worldbody, mujoco.mjtGeom.mjGEOM_BOX
    # Furniture collides with objects (bit 1) and the gripper (bit 2), not with itself.
    solid = {"contype": 0, "conaffinity": 3, "friction": (friction, 0.005, 0.0001)}
    _add_ground(spec, solid)
    world.add_geom(
        name="table", type=box, pos=(0, 0, TABLE_TOP - THICKNESS / 2),
        size=(table.x / 2, table.y / 2, THICKNESS / 2), rgba=(0.92, 0.92, 0.92, 1), **solid,
    )  # fmt: skip
    stand_x = robot_base(table)[0] - 0.05
    world.add_geom(
        name="stand", type=box, pos=(stand_x, 0, STAND_Z), size=(0.1, 0.1, 0.025),
        rgba=(0.75, 0.75, 0.75, 1), **solid,
    )  # fmt: skip
    if corridor:
        for number, ((x, y), (length, width)) in enumerate(WALLS):
            world.add_geom(
                name=f"wall{number}", type=box, rgba=(0.72, 0.73, 0.75, 1),
                pos=(x, y, TABLE_TOP + WALL_HEIGHT / 2),
                size=(length / 2, width / 2, WALL_HEIGHT / 2), **solid,
            )  # fmt: skip


def _add_ground(spec: mujoco.MjSpec, solid: dict[str, object]) -> None:
    spec.add_texture(
        name="checker", type=mujoco.mjtTexture.mjTEXTURE_2D,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_CHECKER, width=64, height=64,
        rgb1=(0.42, 0.43, 0.44), rgb2=(0.36, 0.37, 0.38),
    )  # fmt: skip
    ground = spec.add_material(name="ground", texrepeat=(2, 2), texuniform=True)
    ground.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = "checker"
    spec.worldbody.add_geom(
        name="ground",
        type=mujoco.mjtGeom.mjGEOM_PLANE,
        size=(4, 4, 4),
        material="ground",
        **solid,
    )


def add_lights(spec: mujoco.MjSpec) -> None:
    """Add four oblique directional lights; only the first casts shadows."""
    spec.visual.headlight.active = 0
    for number, (x, y) in enumerate(_LIGHT_DIRECTIONS):
        spec.worldbody.add_light(
            name=f"light{number}", type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
            pos=(1.2 * x, 1.2 * y, 2.5), dir=(-x, -y, -1.1), castshadow=number == 0,
            diffuse=(0.24, 0.24, 0.24), ambient=(0.1, 0.1, 0.1), specular=(0.05, 0.05, 0.05),
        )  # fmt: skip

"""Scene, cameras and appearance as data: frozen, hashable, serializable to JSON."""

import math
from dataclasses import dataclass, replace

from jostle.core.errors import require
from jostle.scene.colors import RGB

CUBE_SIDE = 0.035
"""Side of the paper's cube, in meters."""
TABLE_TOP = 1.025
"""Height of the table's surface above the ground."""
MAX_OBJECTS = 12
"""Maximum number of objects in a scene."""


@dataclass(frozen=True, kw_only=True)
class ObjectSpec:
    """One object to push."""

    shape: str = "cube"
    """Name in `scene.shapes.SHAPES`."""
    scale: tuple[float, float] = (1.0, 1.0)
    """Scale factors of the footprint along the object's x and y."""
    mass: float = 1.0
    """Factor on the mass that the shape has at a density of 1000 kg/m³."""
    friction: float = 1.0
    """Sliding friction against table, gripper and other objects."""
    present: bool = True
    """False parks the object: no gravity, no contacts, outside every camera's view."""

    def __post_init__(self) -> None:
        """Refuse sizes, masses and frictions that are out of range."""
        require(
            all(0.1 <= factor <= 10 for factor in self.scale),
            f"An object's scale must lie in [0.1, 10] along x and y, not {self.scale}.",
        )
        require(0 < self.mass <= 1000, f"A mass factor lies in (0, 1000], not {self.mass}.")
        require(0 <= self.friction <= 10, f"Friction lies in [0, 10], not {self.friction}.")


@dataclass(frozen=True, kw_only=True)
class TableSpec:
    """Size of the table; the robot stands behind its -x edge."""

    x: float = 0.5
    """Depth, away from the robot, in meters."""
    y: float = 0.6
    """Width, in meters."""

    def __post_init__(self) -> None:
        """Refuse sizes that are out of range."""
        require(
            0.2 < self.x <= 0.8 and 0.2 < self.y <= 1.2,
            f"A table measures 0.2 to 0.8 m by 0.2 to 1.2 m (more is out of the arm's reach), "
            f"not {self.x} by {self.y}.",
        )

    @property
    def half_diagonal(self) -> float:
        """Half the diagonal: the length that scales the reward."""
        return math.hypot(self.x / 2, self.y / 2)


STANDARD_TABLE = TableSpec()
"""The paper's table."""


@dataclass(frozen=True, kw_only=True)
class SceneSpec:
    """Everything that physics depends on."""

    objects: tuple[ObjectSpec, ...]
    """One per object slot; the number of slots fixes the data layout of the simulation."""
    table: TableSpec = STANDARD_TABLE
    """The table."""
    corridor: bool = False
    """Whether the three walls of Ordered-Push stand on the table."""
    parts: int = 1
    """Geoms per object slot: as many as the most complex shape in use has."""

    def __post_init__(self) -> None:
        """Refuse scenes with no or too many objects."""
        require(
            1 <= len(self.objects) <= MAX_OBJECTS,
            f"A scene holds 1 to {MAX_OBJECTS} objects, not {len(self.objects)}.",
        )

    def with_present(self, present: tuple[bool, ...]) -> "SceneSpec":
        """Return the same scene with other slots present."""
        objects = tuple(
            replace(obj, present=bool(flag))
            for obj, flag in zip(self.objects, present, strict=True)
        )
        return replace(self, objects=objects)


@dataclass(frozen=True, kw_only=True)
class CameraSpec:
    """One pinhole camera."""

    name: str
    """Key of its frames in the observation."""
    position: tuple[float, float, float]
    """Where it stands, in world coordinates."""
    target: tuple[float, float, float]
    """The point in the center of its image."""
    fov: float = 35.0
    """Vertical field of view in degrees."""

    def __post_init__(self) -> None:
        """Refuse invalid names, fields of view and positions."""
        require(
            self.name.isidentifier(), f"A camera's name must be an identifier, not '{self.name}'."
        )
        require(1 <= self.fov <= 170, f"A field of view lies in [1, 170] degrees, not {self.fov}.")
        require(self.position != self.target, f"Camera '{self.name}' is at its own target.")


@dataclass(frozen=True, kw_only=True)
class Appearance:
    """Everything that rendering depends on beyond the scene."""

    colors: tuple[RGB, ...]
    """One per object slot."""
    cameras: tuple[CameraSpec, ...] = ()
    """Cameras, in the order of the views."""
    brightness: float = 1.0
    """Factor on all lights."""
    light_angle: float = 0.0
    """Rotation of the lights about the vertical, in degrees."""
    shadows: bool = False
    """Whether objects cast shadows (takes about three times the rendering time)."""

    def __post_init__(self) -> None:
        """Refuse a brightness that is out of range."""
        require(0 <= self.brightness <= 5, f"Brightness lies in [0, 5], not {self.brightness}.")

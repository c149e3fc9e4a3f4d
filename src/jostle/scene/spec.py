"""The world as data: what stands on the table, how it is seen. Frozen, hashable, JSON-able."""

import math
from dataclasses import dataclass, replace

from jostle.core.errors import require
from jostle.scene.colors import Color

CUBE_SIDE = 0.035
"""Side of the paper's cube, in meters."""
TABLE_TOP = 1.025
"""Height of the table's surface above the ground."""
MAX_OBJECTS = 12
"""Most objects one scene can hold."""


@dataclass(frozen=True, kw_only=True)
class ObjectSpec:
    """One thing to push."""

    shape: str = "cube"
    """Name in `scene.shapes.SHAPES`."""
    scale: tuple[float, float] = (1.0, 1.0)
    """Stretch of the footprint along the object's x and y."""
    mass: float = 1.0
    """Factor on the mass the shape has at density 1000 kg/m³."""
    friction: float = 1.0
    """Sliding friction against table, gripper and other objects."""
    present: bool = True
    """False parks the object: no weight, no contact, out of every camera's sight."""

    def __post_init__(self) -> None:
        """Refuse sizes and masses that cannot be."""
        require(
            all(0.1 <= stretch <= 10 for stretch in self.scale),
            f"An object's scale must lie in [0.1, 10] along x and y, not {self.scale}.",
        )
        require(0 < self.mass <= 1000, f"A mass factor lies in (0, 1000], not {self.mass}.")
        require(0 <= self.friction <= 10, f"Friction lies in [0, 10], not {self.friction}.")


@dataclass(frozen=True, kw_only=True)
class TableSpec:
    """The table's size; the robot stands behind its -x edge."""

    x: float = 0.5
    """Depth, away from the robot, in meters."""
    y: float = 0.6
    """Width, in meters."""

    def __post_init__(self) -> None:
        """Refuse tables that are no tables."""
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
    """Everything physics needs to know."""

    objects: tuple[ObjectSpec, ...]
    """One per slot; the number of slots fixes the layout of the simulation."""
    table: TableSpec = STANDARD_TABLE
    """The table."""
    corridor: bool = False
    """Whether the three walls of Ordered-Push stand on the table."""
    parts: int = 1
    """Geoms per object slot: the most any shape in use has."""

    def __post_init__(self) -> None:
        """Refuse empty and overfull scenes."""
        require(
            1 <= len(self.objects) <= MAX_OBJECTS,
            f"A scene holds 1 to {MAX_OBJECTS} objects, not {len(self.objects)}.",
        )

    def with_present(self, present: tuple[bool, ...]) -> "SceneSpec":
        """Return the same scene with other slots in use."""
        objects = tuple(
            replace(one, present=bool(here))
            for one, here in zip(self.objects, present, strict=True)
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
    """The point in the middle of its picture."""
    fov: float = 35.0
    """Vertical field of view in degrees."""

    def __post_init__(self) -> None:
        """Refuse cameras that look nowhere."""
        require(self.name.isidentifier(), f"A camera's name must be a word, not '{self.name}'.")
        require(1 <= self.fov <= 170, f"A field of view lies in [1, 170] degrees, not {self.fov}.")
        require(self.position != self.target, f"Camera '{self.name}' stands on its own target.")


@dataclass(frozen=True, kw_only=True)
class Look:
    """Everything a picture needs beyond the scene."""

    colors: tuple[Color, ...]
    """One per object slot."""
    cameras: tuple[CameraSpec, ...] = ()
    """Viewpoints, in the order they are drawn."""
    brightness: float = 1.0
    """Factor on all lights."""
    light_angle: float = 0.0
    """Turn of the lights about the vertical, in degrees."""
    shadows: bool = False
    """Whether objects cast shadows (costs about three times the drawing time)."""

    def __post_init__(self) -> None:
        """Refuse darkness without end."""
        require(0 <= self.brightness <= 5, f"Brightness lies in [0, 5], not {self.brightness}.")

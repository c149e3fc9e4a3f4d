"""Object shapes as lists of boxes."""

import math
from dataclasses import dataclass

from jostle.core.catalog import Registry
from jostle.core.errors import require
from jostle.scene.spec import CUBE_SIDE, ObjectSpec


@dataclass(frozen=True)
class Box:
    """A box of one object, in the object's own frame."""

    size: tuple[float, float, float]
    """Full lengths along x, y, z."""
    center: tuple[float, float] = (0.0, 0.0)
    """Offset in the plane of the table."""
    yaw: float = 0.0
    """Rotation about z."""


@dataclass(frozen=True)
class ObjectShape:
    """A rigid union of boxes of one height."""

    boxes: tuple[Box, ...]
    """The boxes."""
    height: float
    """Height above the table."""
    spacing: float
    """Half the minimum distance between two such objects when they are placed."""
    shared: float = 0.0
    """Volume counted twice where boxes overlap, in m³."""

    def __post_init__(self) -> None:
        """Refuse shapes without boxes, and boxes of other heights, which would not lie flat."""
        require(len(self.boxes) > 0, "A shape has at least one box.")
        heights = sorted({box.size[2] for box in self.boxes})
        require(
            heights == [self.height],
            f"All boxes of a shape are as high as the shape, {self.height} m, not {heights}.",
        )

    @property
    def balanced(self) -> bool:
        """Whether its center of mass is its origin."""
        return all(box.center == (0.0, 0.0) for box in self.boxes)


DENSITY = 1000.0
"""Density of an object whose mass factor is 1, in kg/m³."""
_CORNER = CUBE_SIDE / math.sqrt(2)
_T = 0.03
_STAR = 0.03
# Two equal squares, one rotated by 45 degrees, intersect in a regular octagon.
_OCTAGON = 2 * (math.sqrt(2) - 1) * _STAR**2

SHAPES: Registry[ObjectShape] = Registry(
    "shape",
    {
        "cube": ObjectShape((Box((CUBE_SIDE, CUBE_SIDE, CUBE_SIDE)),), CUBE_SIDE, _CORNER),
        "star": ObjectShape(
            (Box((_STAR, _STAR, _STAR)), Box((_STAR, _STAR, _STAR), yaw=math.pi / 4)),
            _STAR,
            _CORNER,
            shared=_OCTAGON * _STAR,
        ),
        "tee": ObjectShape(
            (
                *(Box((_T, _T, _T), (0.0, y)) for y in (-_T, 0.0, _T)),
                *(Box((_T, 0.02, _T), (x, 0.0)) for x in (_T, 2 * _T)),
            ),
            _T,
            3 * _CORNER,
        ),
    },
)


def rest_height(obj: ObjectSpec) -> float:
    """Height of the object's origin above what it rests on."""
    return SHAPES[obj.shape].height / 2


def spacing(obj: ObjectSpec) -> float:
    """Radius around the object's center that stays free when objects are placed."""
    return SHAPES[obj.shape].spacing * max(1.0, *obj.scale)


def default_mass(obj: ObjectSpec) -> float:
    """Mass in kilograms of an object of this shape and size with a mass factor of 1."""
    shape = SHAPES[obj.shape]
    volume = sum(math.prod(box.size) for box in shape.boxes) - shape.shared
    return DENSITY * volume * obj.scale[0] * obj.scale[1]

"""Object shapes as lists of boxes."""

import math
from dataclasses import dataclass

from jostle.core.catalog import Catalog
from jostle.scene.spec import CUBE_SIDE, ObjectSpec


@dataclass(frozen=True)
class Box:
    """A box of one object, in the object's own frame."""

    size: tuple[float, float, float]
    """Full lengths along x, y, z."""
    center: tuple[float, float] = (0.0, 0.0)
    """Offset in the plane of the table."""
    yaw: float = 0.0
    """Turn about z."""


@dataclass(frozen=True)
class Shape:
    """A rigid union of boxes of one height."""

    boxes: tuple[Box, ...]
    """Its parts."""
    height: float
    """Height above the table."""
    spacing: float
    """Half the distance kept between two such objects when they are placed."""
    shared: float = 0.0
    """Volume counted twice where parts overlap, in m³."""

    @property
    def balanced(self) -> bool:
        """Whether its center of mass is its origin."""
        return all(part.center == (0.0, 0.0) for part in self.boxes)


_CORNER = CUBE_SIDE / math.sqrt(2)
_T = 0.03
_STAR = 0.03
# Two equal squares, one turned by 45 degrees, share a regular octagon.
_OCTAGON = 2 * (math.sqrt(2) - 1) * _STAR**2

SHAPES: Catalog[Shape] = Catalog(
    "shape",
    {
        "cube": Shape((Box((CUBE_SIDE, CUBE_SIDE, CUBE_SIDE)),), CUBE_SIDE, _CORNER),
        "star": Shape(
            (Box((_STAR, _STAR, _STAR)), Box((_STAR, _STAR, _STAR), yaw=math.pi / 4)),
            _STAR,
            _CORNER,
            shared=_OCTAGON * _STAR,
        ),
        "tee": Shape(
            (
                *(Box((_T, _T, _T), (0.0, y)) for y in (-_T, 0.0, _T)),
                *(Box((_T, 0.02, _T), (x, 0.0)) for x in (_T, 2 * _T)),
            ),
            _T,
            3 * _CORNER,
        ),
    },
)


def rest_height(one: ObjectSpec) -> float:
    """Height of the object's origin above what it rests on."""
    return SHAPES[one.shape].height / 2


def spacing(one: ObjectSpec) -> float:
    """Half the distance that is kept around the object's center when it is placed."""
    return SHAPES[one.shape].spacing * max(1.0, *one.scale)

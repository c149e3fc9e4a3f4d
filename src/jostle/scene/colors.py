"""The nine named colors of the paper, and the parsing of color options."""

import colorsys
from collections.abc import Sequence

from jostle.core.catalog import Catalog
from jostle.core.errors import require

RGB = tuple[float, float, float]
"""Red, green, blue in [0, 1]."""

COLORS: Catalog[RGB] = Catalog(
    "color",
    {
        "red": (0.6, 0.1, 0.0),
        "green": (0.0, 0.6, 0.1),
        "blue": (0.0, 0.1, 0.8),
        "yellow": (0.7, 0.7, 0.0),
        "purple": (0.5, 0.0, 0.5),
        "cyan": (0.0, 0.9, 0.9),
        "pink": (1.0, 0.4, 0.7),
        "brown": (0.55, 0.27, 0.07),
        "orange": (1.0, 0.55, 0.0),
    },
)

COLOR_SETS: Catalog[tuple[str, ...]] = Catalog(
    "color set",
    {"palette": tuple(COLORS)[:6], "held-out": tuple(COLORS)[6:]},
)
"""`palette`: the colors that agents and encoders of the zoo are trained on; `held-out`: others."""


def spread_hues(count: int) -> tuple[RGB, ...]:
    """Colors of evenly spaced hues, for more objects than there are names."""
    return tuple(colorsys.hsv_to_rgb(index / count, 1.0, 0.8) for index in range(count))


def parse_color(color: str | Sequence[float]) -> RGB:
    """Turn a name or an RGB triple in [0, 1] into a color."""
    if isinstance(color, str):
        return COLORS[color]
    values = tuple(float(value) for value in color)
    require(
        len(values) == 3 and all(0 <= value <= 1 for value in values),
        f"A color is a name ({', '.join(COLORS)}) or three numbers in [0, 1], not {color!r}.",
    )
    return values[0], values[1], values[2]

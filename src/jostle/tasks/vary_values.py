"""Values of `factor=value`, read from text and written back: amounts, pairs and names."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from jostle.core.catalog import suggest
from jostle.core.errors import BadValueError, UnknownNameError, require
from jostle.scene.colors import COLOR_SETS, COLORS
from jostle.scene.shapes import SHAPES

Mode = Literal["set", "times", "add"]


@dataclass(frozen=True)
class Amount:
    """A number to set (`0.05`), to multiply by (`x20`) or to add (`+0.05`, `-0.05`)."""

    value: float
    mode: Mode = "set"

    def __str__(self) -> str:
        """The text that it is read from."""
        if self.mode == "add":
            return ("-" if self.value < 0 else "+") + _number_text(abs(self.value))
        return ("x" if self.mode == "times" else "") + _number_text(self.value)


@dataclass(frozen=True)
class Pair:
    """Two numbers along x and y: `1.5x1.2`."""

    x: float
    y: float

    def __str__(self) -> str:
        """The text that it is read from."""
        return f"{_number_text(self.x)}x{_number_text(self.y)}"


@dataclass(frozen=True)
class Names:
    """One or several names: `orange,pink`."""

    names: tuple[str, ...]

    def __str__(self) -> str:
        """The text that it is read from."""
        return ",".join(self.names)


Value = Amount | Pair | Names
ReadValue = Callable[[str], Value]


def read_number(text: str) -> Amount:
    """Read a number to set."""
    return Amount(_number(text))


def read_amount(text: str) -> Amount:
    """Read a number to set, or to multiply by."""
    return Amount(_number(text[1:]), "times") if text.startswith("x") else read_number(text)


def read_move(text: str) -> Amount:
    """Read a number to set or, with a sign, to add."""
    return Amount(_number(text), "add" if text.startswith(("+", "-")) else "set")


def read_pair(text: str) -> Pair:
    """Read two numbers."""
    parts = text.split("x")
    require(len(parts) == 2, f"two numbers are expected, not '{text}'")
    return Pair(_number(parts[0]), _number(parts[1]))


def read_scale(text: str) -> Pair:
    """Read two numbers, or one for both."""
    return read_pair(text if "x" in text else f"{text}x{text}")


def read_names(text: str) -> Names:
    """Read names that differ."""
    names = tuple(text.split(","))
    require(all(names), f"names with one comma between them are expected, not '{text}'")
    require(len(set(names)) == len(names), "a name is given twice")
    return Names(names)


def read_shapes(text: str) -> Names:
    """Read shapes."""
    names = read_names(text)
    for name in names.names:
        _ = SHAPES[name]
    return names


def read_colors(text: str) -> Names:
    """Read colors and sets of colors."""
    names = read_names(text)
    for name in names.names:
        if name not in COLORS and name not in COLOR_SETS:
            raise UnknownNameError(
                f"There is no color or color set called '{name}'. "
                f"{suggest(name, [*COLORS, *COLOR_SETS])}"
            )
    colors = colors_of(names)
    require(len(set(colors)) == len(colors), "a color is given twice, by name and by its set")
    return names


def colors_of(names: Names) -> tuple[str, ...]:
    """Names of colors; sets are replaced by the colors that they have."""
    return tuple(color for name in names.names for color in COLOR_SETS.get(name, (name,)))


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise BadValueError(f"'{text}' is not a number") from None
    require(math.isfinite(number), f"'{text}' is not finite")
    return number


def _number_text(number: float) -> str:
    return repr(number).removesuffix(".0")

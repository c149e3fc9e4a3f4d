"""Values of `factor=value`, read from text and written back: amounts, pairs and names.

Every number may be a range, `0.5..1.2`, from which one is drawn in each episode.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from jostle.core.catalog import suggest
from jostle.core.errors import BadValueError, UnknownNameError, require
from jostle.scene.colors import COLOR_SETS, COLORS
from jostle.scene.shapes import SHAPES
from jostle.tasks.variations import Uniform

Mode = Literal["set", "times", "add"]
_RANGE = ".."
"""Between the ends of a range."""


@dataclass(frozen=True)
class Amount:
    """A number to set (`0.05`), to multiply by (`x20`) or to add (`+0.05`, `-0.05`)."""

    value: float | Uniform
    mode: Mode = "set"

    def __str__(self) -> str:
        """The text that it is read from."""
        prefix = "x" if self.mode == "times" else ""
        return prefix + _number_text(self.value, signed=self.mode == "add")

    def ends(self) -> "list[Amount]":
        """The same without ranges: once, or with the least and the greatest number."""
        return [Amount(end, self.mode) for end in _ends(self.value)]


@dataclass(frozen=True)
class Pair:
    """Two numbers along x and y: `1.5x1.2`."""

    x: float | Uniform
    y: float | Uniform

    def __str__(self) -> str:
        """The text that it is read from."""
        return f"{_number_text(self.x)}x{_number_text(self.y)}"

    def ends(self) -> "list[Pair]":
        """The same without ranges: all combinations of least and greatest numbers."""
        return [Pair(x, y) for x, y in itertools.product(_ends(self.x), _ends(self.y))]


@dataclass(frozen=True)
class Count:
    """A whole number: `3`."""

    value: int

    def __str__(self) -> str:
        """The text that it is read from."""
        return str(self.value)

    def ends(self) -> "list[Count]":
        """Itself: counts have no ranges."""
        return [self]


@dataclass(frozen=True)
class Names:
    """One or several names: `orange,pink`."""

    names: tuple[str, ...]

    def __str__(self) -> str:
        """The text that it is read from."""
        return ",".join(self.names)

    def ends(self) -> "list[Names]":
        """Itself: names have no ranges."""
        return [self]


Value = Amount | Pair | Count | Names
ReadValue = Callable[[str], Value]


def read_number(text: str) -> Amount:
    """Read a number to set."""
    return Amount(_number(text))


def read_amount(text: str) -> Amount:
    """Read a number to set, or to multiply by."""
    return Amount(_number(text[1:]), "times") if text.startswith("x") else read_number(text)


def read_move(text: str) -> Amount:
    """Read a number to set or, with a sign, to add."""
    signed = {end.startswith(("+", "-")) for end in text.split(_RANGE)}
    require(
        len(signed) == 1, f"either both ends of the range '{text}' have a sign, or none of them has"
    )
    return Amount(_number(text), "add" if signed.pop() else "set")


def read_pair(text: str) -> Pair:
    """Read two numbers."""
    parts = text.split("x")
    require(len(parts) == 2, f"two numbers are expected, not '{text}'")
    return Pair(_number(parts[0]), _number(parts[1]))


def read_scale(text: str) -> Pair:
    """Read two numbers, or one for both."""
    return read_pair(text if "x" in text else f"{text}x{text}")


def read_count(text: str) -> Count:
    """Read a whole number."""
    require(text.isdecimal() and int(text) > 0, f"a number from 1 on is expected, not '{text}'")
    return Count(int(text))


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


def _number(text: str) -> float | Uniform:
    low, dots, high = text.partition(_RANGE)
    if not dots:
        return _finite(text)
    ends = _finite(low), _finite(high)
    require(ends[0] < ends[1], f"the range '{text}' does not go from less to more")
    return Uniform(*ends)


def _finite(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise BadValueError(f"'{text}' is not a number") from None
    require(math.isfinite(number), f"'{text}' is not finite")
    return number


def _ends(number: float | Uniform) -> tuple[float, ...]:
    return (number.low, number.high) if isinstance(number, Uniform) else (number,)


def _number_text(number: float | Uniform, signed: bool = False) -> str:
    sign = "+" if signed else ""
    texts = [("" if end < 0 else sign) + repr(end).removesuffix(".0") for end in _ends(number)]
    return _RANGE.join(texts)

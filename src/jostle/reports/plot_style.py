"""The common style of all plots: colors, markers, fonts, resolution."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#444444")
"""Colors of Okabe and Ito, which people with any color vision can tell apart on white."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINES = ("-", "--", "-.")
"""Styles of lines; there is a new one each time the colors repeat."""
DPI = 200
_PNG_COLORS = 200
"""Colors of a plot as PNG: enough for smooth text and bands, at a third of the size."""
_SETTINGS = {
    "font.size": 9.5,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.labelsize": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#666666",
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#d9d9d9",
    "grid.linewidth": 0.7,
    "figure.titlesize": 11.5,
    "figure.titleweight": "bold",
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
    "xtick.color": "#444444",
    "ytick.color": "#444444",
}


@contextmanager
def plot_style() -> Iterator[None]:
    """Use the style for all figures that are made inside of the block."""
    import matplotlib as mpl

    with mpl.rc_context(_SETTINGS):
        yield


def series_style(number: int) -> dict[str, Any]:
    """Color, marker and line of the series with this number: all differ, and repeat after 21."""
    index, repeat = number % len(PALETTE), number // len(PALETTE)
    return {
        "color": PALETTE[index],
        "marker": MARKERS[(index + repeat) % len(MARKERS)],
        "linestyle": LINES[repeat % len(LINES)],
    }


def save_figure(figure: Any, out: Path) -> Path:
    """Write a figure, in the format that its suffix names, at once or not at all."""
    out.parent.mkdir(parents=True, exist_ok=True)
    part = out.with_name(f".{out.stem}.part{out.suffix}")
    try:
        figure.savefig(part, dpi=DPI)
        if out.suffix == ".png":
            _shrink(part)
        part.replace(out)
    finally:
        part.unlink(missing_ok=True)
    return out


def _shrink(path: Path) -> None:
    """Reduce the colors of a PNG file."""
    from PIL import Image

    with Image.open(path) as image:
        few = image.convert("RGB").quantize(_PNG_COLORS, dither=Image.Dither.NONE)
    few.save(path, "PNG", optimize=True, dpi=(DPI, DPI))

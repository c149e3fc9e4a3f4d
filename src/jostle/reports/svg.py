"""Small plots as SVG text for self-contained pages; colors and fonts are those of the page."""

import html
from collections.abc import Mapping, Sequence

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 560, 300, 56, 40, 14
_PALETTE = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a7a7a", "#8c564b",
    "#bcbd22", "#9467bd",
)  # fmt: skip
"""Colors that are distinguishable for most readers (Okabe and Ito), and four more."""


def line_plot(
    lines: Mapping[str, Mapping[int, float]],
    x_title: str,
    y_title: str,
    dashed: Sequence[str] = (),
) -> str:
    """Points joined by lines, each with a name in the legend; those of `dashed` are dashed."""
    xs = [x for points in lines.values() for x in points]
    ys = [y for points in lines.values() for y in points.values()]
    if not xs:
        return ""
    low, high = min(ys), max(ys)
    margin = 0.08 * (high - low or 1.0)
    frame = _Frame(min(xs), max(xs), low - margin, high + margin)
    text = frame.axes(sorted(set(xs)), x_title, y_title)
    for number, (name, points) in enumerate(lines.items()):
        color = _PALETTE[number % len(_PALETTE)]
        path = " ".join(f"{frame.x(x):.1f},{frame.y(y):.1f}" for x, y in sorted(points.items()))
        style = ' stroke-dasharray="5 4"' if name in dashed else ""
        text += f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"{style}/>'
        for x, y in points.items():
            text += (
                f'<circle cx="{frame.x(x):.1f}" cy="{frame.y(y):.1f}" r="4" fill="{color}">'
                f"<title>{html.escape(name)}: {x:g}, {y:.3f}</title></circle>"
            )
    return _svg(text, _HEIGHT) + _legend(list(lines))


def histogram_plot(histograms: Mapping[str, Sequence[int]], x_title: str, top: float) -> str:
    """Shares of the bins of several histograms from 0 to `top`, as steps."""
    shares = {
        name: [count / sum(counts) for count in counts]
        for name, counts in histograms.items()
        if sum(counts)
    }
    if not shares:
        return ""
    frame = _Frame(0.0, top, 0.0, 1.05 * max(map(max, shares.values())))
    text = frame.axes([round(top * part / 4, 2) for part in range(5)], x_title, "share")
    for number, (name, values) in enumerate(shares.items()):
        color, step = _PALETTE[number % len(_PALETTE)], top / len(values)
        points = [f"{frame.x(0):.1f},{frame.y(0):.1f}"]
        for index, value in enumerate(values):
            points += [
                f"{frame.x(step * end):.1f},{frame.y(value):.1f}" for end in (index, index + 1)
            ]
        points.append(f"{frame.x(top):.1f},{frame.y(0):.1f}")
        text += (
            f'<polygon points="{" ".join(points)}" fill="{color}" fill-opacity="0.25" '
            f'stroke="{color}" stroke-width="1.5"><title>{html.escape(name)}</title></polygon>'
        )
    return _svg(text, _HEIGHT) + _legend(list(shares))


def dot_plot(rows: Sequence[tuple[str, float, float | None, tuple[float, float] | None]]) -> str:
    """Rows with a reference (tick), a value (dot) and its interval, all from 0 to 1."""
    left, right, step = 250, 540, 17
    height = step * len(rows) + 34

    def x(value: float) -> float:
        return left + (right - left) * value

    text = ""
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        text += (
            f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="4" y2="{height - 28}" class="grid"/>'
            f'<text x="{x(tick):.1f}" y="{height - 12}" text-anchor="middle">{tick:g}</text>'
        )
    for number, (label, reference, value, interval) in enumerate(rows):
        y = 12 + step * number
        text += f'<text x="{left - 10}" y="{y + 4}" text-anchor="end">{html.escape(label)}</text>'
        if interval is not None:
            text += (
                f'<line x1="{x(interval[0]):.1f}" x2="{x(interval[1]):.1f}" y1="{y}" y2="{y}" '
                f'stroke="{_PALETTE[0]}" stroke-width="2"/>'
            )
        if value is not None:
            text += (
                f'<circle cx="{x(value):.1f}" cy="{y}" r="4.5" fill="{_PALETTE[0]}">'
                f"<title>ours {value:.3f}, paper {reference:.3f}</title></circle>"
            )
        text += (
            f'<line x1="{x(reference):.1f}" x2="{x(reference):.1f}" y1="{y - 6}" y2="{y + 6}" '
            f'stroke="{_PALETTE[1]}" stroke-width="3"/>'
        )
    return _svg(text, height)


class _Frame:
    """Axes of a plot."""

    def __init__(self, left: float, right: float, bottom: float, top: float) -> None:
        self._left, self._width = left, (right - left) or 1.0
        self._bottom, self._height = bottom, (top - bottom) or 1.0

    def x(self, value: float) -> float:
        """Column of a value."""
        return _LEFT + (_WIDTH - _LEFT - 14) * (value - self._left) / self._width

    def y(self, value: float) -> float:
        """Row of a value."""
        room = _HEIGHT - _BOTTOM - _TOP
        return _TOP + room * (1 - (value - self._bottom) / self._height)

    def axes(self, ticks: Sequence[float], x_title: str, y_title: str) -> str:
        """Grid, numbers and titles."""
        text, bottom = "", self.y(self._bottom)
        for tick in ticks:
            text += (
                f'<text x="{self.x(tick):.1f}" y="{bottom + 16:.1f}" text-anchor="middle">'
                f"{tick:g}</text>"
            )
        for part in range(5):
            value = self._bottom + self._height * part / 4
            y = self.y(value)
            text += (
                f'<line x1="{_LEFT}" x2="{_WIDTH - 14}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>'
                f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:.2f}</text>'
            )
        middle = (_TOP + bottom) / 2
        text += (
            f'<text x="{(_LEFT + _WIDTH) / 2}" y="{_HEIGHT - 4}" text-anchor="middle">'
            f"{html.escape(x_title)}</text>"
            f'<text x="14" y="{middle:.0f}" text-anchor="middle" '
            f'transform="rotate(-90 14 {middle:.0f})">{html.escape(y_title)}</text>'
        )
        return text


def _svg(text: str, height: int) -> str:
    return f'<svg viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" role="img">{text}</svg>'


def _legend(names: Sequence[str]) -> str:
    items = "".join(
        f'<li><span style="background:{_PALETTE[number % len(_PALETTE)]}"></span>'
        f"{html.escape(name)}</li>"
        for number, name in enumerate(names)
    )
    return f'<ul class="legend">{items}</ul>'

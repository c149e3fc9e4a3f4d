"""Figures of `jostle theory`, from its numbers."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

Numbers = dict[str, Any]
_BEYOND = "0.92"
"""Shade of numbers of objects that no theorem of the paper covers."""


def draw_figures(numbers: Numbers, out: Path) -> None:
    """Draw all figures into a folder."""
    drawings: dict[str, Callable[[Any], Any]] = {
        "growth": _growth,
        "tightness": _tightness,
        "broken": _broken,
        "toy": _toy,
        "critics": _critics,
    }
    for name, draw in drawings.items():
        figure = draw(numbers[name])
        figure.savefig(out / f"{name}.png", dpi=100)


def _figure(panels: int, width: float = 4.2) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * panels, 3.5), layout="constrained")
    axes = figure.subplots(1, panels, squeeze=False)[0]
    for panel in axes:
        panel.grid(alpha=0.3)
    return figure, axes


def _growth(rows: list[dict[str, Any]]) -> Any:
    """Bounds and errors over the number of objects."""
    figure, (axes,) = _figure(1, 5.4)
    counts = [row["objects"] for row in rows]
    bounded = [row for row in rows if "paper" in row]
    trained = bounded[0]["objects"]
    for key, label, style in (
        ("paper", "bound of Theorem 1", "C3-"),
        ("own", "bound by our proof, same δ", "C1--"),
        ("sharper", "bound, δ everywhere", "C0--"),
    ):
        axes.plot([r["objects"] for r in bounded], [r[key] for r in bounded], style, label=label)
    axes.plot(counts, [row["worst"] for row in rows], "C0o", label="largest error, worst case")
    axes.plot(counts, [row["typical"] for row in rows], "C7s", label="largest error, typical")
    _mark_ranges(axes, trained, counts[-1])
    axes.set(xlabel="objects", ylabel="error / range of values", yscale="log", ylim=(2e-4, 9))
    axes.legend(fontsize=7, loc="upper left")
    axes.set_title(f"trained with up to M = {trained}, δ = 0.01", fontsize=10)
    return figure


def _tightness(rows: list[dict[str, Any]]) -> Any:
    """Largest error found by search, and bounds, with 2M - 1 objects."""
    figure, (axes,) = _figure(1, 5.4)
    trained = [row["trained"] for row in rows]
    axes.plot(trained, [row["paper"] for row in rows], "C3-o", label="bound of Theorem 1")
    own = [(row["trained"], row["own"]) for row in rows if row["own"] is not None]
    axes.plot(*zip(*own, strict=True), "C1--o", label="bound by our proof, same δ")
    axes.plot(trained, [row["sharper"] for row in rows], "C0--o", label="bound, δ everywhere")
    axes.plot(trained, [row["found"] for row in rows], "ks", label="largest error found")
    axes.set(xlabel="M", ylabel="error / (range · δ)", ylim=(0, 33), xticks=trained)
    axes.set_title("2M − 1 objects, exact values of single objects", fontsize=10)
    axes.legend(fontsize=8, loc="upper left")
    return figure


def _broken(numbers: Numbers) -> Any:
    """Theorem 1 with M = 2, the extension, the counter-example, negative attention."""
    figure, (first, second, third, fourth) = _figure(4, 3.3)
    rows = numbers["theorem_1"]
    first.plot([r["own"] for r in rows], [r["error"] for r in rows], "ko-", ms=3, label="error")
    first.plot([r["own"] for r in rows], [r["paper"] for r in rows], "C3", label="bound")
    first.set(xscale="log", yscale="log", xlabel="attention to oneself", ylabel="error / range")
    first.set_title("Theorem 1, M = 2, three objects", fontsize=9)
    first.legend(fontsize=8)

    rows = numbers["extension"]
    places = range(len(rows))
    second.bar(places, [max(r["error"], 1e-17) for r in rows], 0.4, color="k", label="error")
    second.plot(places, [max(r["extension"], 1e-17) for r in rows], "C3_", ms=24, label="bound")
    second.set(yscale="log", ylim=(1e-17, 10), xticks=list(places), xlabel="M")
    second.set_xticklabels([r["trained"] for r in rows])
    second.set_title("extension, M + 1 objects, ε = 0", fontsize=9)
    second.legend(fontsize=8)

    rows = numbers["truncated"]
    third.plot([r["objects"] for r in rows], [r["error"] for r in rows], "ko-", ms=4)
    third.set(xlabel="objects", ylim=(-0.03, 1))
    third.set_title("counter-example: fits up to two", fontsize=9)

    rows = numbers["negative"]
    fourth.plot([r["sum"] for r in rows], [r["three"] for r in rows], "ko-", ms=4, label="three")
    sums, two = [r["sum"] for r in rows], [r["up_to_two"] for r in rows]
    fourth.plot(sums, two, "C7s-", ms=4, label="up to two")
    fourth.set(xscale="log", yscale="log", xlabel="sum of three weights")
    fourth.set_title("attention may be negative", fontsize=9)
    fourth.legend(fontsize=8, title="objects", title_fontsize=8)
    return figure


def _toy(rows: list[dict[str, Any]]) -> Any:
    """Errors of trained critics of the exact form."""
    figure, panels = _figure(2)
    for axes, trained in zip(panels, (2, 3), strict=True):
        for row in rows:
            if row["trained"] == trained:
                kind, color = ("each object", "C0") if row["per_object"] else ("mean only", "C3")
                counts = [int(count) for count in row["errors"]]
                label = f"{kind}: δ = {row['delta']:.2f}"
                axes.plot(counts, list(row["errors"].values()), f"{color}o-", ms=4, label=label)
        _mark_ranges(axes, trained, 9)
        axes.set(xlabel="objects", ylabel="largest error (range 5)", ylim=(0, None))
        axes.set_title(f"toy critics, M = {trained}", fontsize=10)
        axes.legend(fontsize=8, title="value learned from", title_fontsize=8)
    return figure


def _critics(numbers: Numbers) -> Any:
    """Errors of real critics over the number of cubes."""
    figure, panels = _figure(2, 4.6)
    top = 1 / (1 - numbers["gamma"])
    for axes, key, title in zip(
        panels, ("error_95", "largest"), ("95 % of the errors", "largest error"), strict=True
    ):
        for number, (name, rows) in enumerate(numbers["errors"].items()):
            counts = [row["objects"] for row in rows]
            axes.plot(counts, [row[key] for row in rows], f"C{number}o-", ms=4, label=name)
        deviation = [row["returns_std"] for row in rows]
        axes.plot(counts, deviation, "k:", label="standard deviation of returns")
        _mark_ranges(axes, numbers["trained"], counts[-1])
        axes.set(xlabel="cubes", ylabel=f"error (range {top:.0f})", ylim=(0, None))
        axes.set_title(title, fontsize=10)
    panels[0].legend(fontsize=7)
    return figure


def _mark_ranges(axes: Any, trained: int, last: int) -> None:
    """Mark the numbers of objects in training, in the theorem's range, and beyond it."""
    axes.axvline(trained + 0.5, color="k", linewidth=0.8)
    if last >= 2 * trained:
        axes.axvspan(2 * trained - 0.5, last + 0.5, color=_BEYOND, zorder=0)
    axes.set_xlim(0.5, last + 0.5)

"""Maps of retained success: a picture, a web page and a table of the cells of a grid."""

import base64
import html
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jostle.core.goal_metric import METRICS
from jostle.evaluation.grid import BASE
from jostle.evaluation.retained import CellResult, retained_success
from jostle.reports.tables import markdown_table

_COLORS = np.array([(215, 48, 39), (253, 224, 144), (69, 117, 180)])
"""Colors of no, half and all success kept, distinguishable without seeing red and green apart."""
_NO_RESULT = (225, 225, 225)
_HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width">
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 74em; padding: 0 1em; }}
table {{ border-spacing: 4px; }} th {{ text-align: left; font-weight: 600; padding-right: .8em; }}
td {{ padding: .35em .7em; border-radius: 4px; min-width: 7em; vertical-align: top; color: #111; }}
td small {{ display: block; }} td.dark {{ color: #fff; }}
video {{ max-width: 100%; }}
@media print {{ video {{ display: none; }} td {{ print-color-adjust: exact; }} }}
</style></head><body>
<h1>{title}</h1>
<p><strong>{summary}</strong></p>
<p>Success of each cell with its 95 % interval; color and percentage: how much of the success on the
unchanged task is kept, with its interval. All five metrics appear under the pointer. Made by
<code>{made_by}</code>.</p>
"""


def cell_color(ratio: float | None) -> tuple[int, int, int]:
    """Color of a cell that keeps this fraction of success; gray without a result."""
    if ratio is None:
        return _NO_RESULT
    position = 2 * min(max(ratio, 0.0), 1.0)
    lower = min(int(position), 1)
    mixed = _COLORS[lower] + (position - lower) * (_COLORS[lower + 1] - _COLORS[lower])
    red, green, blue = (round(float(part)) for part in mixed)
    return red, green, blue


def ladders(results: Sequence[CellResult]) -> dict[str, list[CellResult]]:
    """Results by ladder, in the order of the grid."""
    rows: dict[str, list[CellResult]] = {}
    for result in results:
        rows.setdefault(result.cell.ladder, []).append(result)
    return rows


def grid_table(results: Sequence[CellResult]) -> str:
    """All cells with the paper's five metrics, as a Markdown table."""
    header = (
        "ladder", "change", "objects", "episodes", "success [95 % interval]",
        "kept [95 % interval]", *(name.replace("_", " ") for name in list(METRICS)[1:]),
        "fell off",
    )  # fmt: skip
    lines: list[tuple[object, ...]] = []
    for result in results:
        cell, row = result.cell, result.row
        if row is None:
            reason = result.reason
            lines.append((cell.ladder, cell.label, cell.objects, "", reason, *[""] * 6))
            continue
        lines.append((
            cell.ladder, cell.label, cell.objects, row["episodes"], _success(row),
            _kept(result, results[0]), f"{row['success_fraction']:.3f}",
            f"{row['average_distance']:.4f}", f"{row['maximum_distance']:.4f}",
            f"{row['average_return']:.3f}", f"{row['fallen']:.3f}",
        ))  # fmt: skip
    return markdown_table(header, lines)


def plot_map(results: Sequence[CellResult], title: str, out: Path) -> Path:
    """Draw the map as PNG: a row per ladder, a box per cell."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    rows = ladders(results)
    width = max(map(len, rows.values()))
    figure = Figure(figsize=(1.6 + 1.55 * width, 0.7 + 0.72 * len(rows)), layout="constrained")
    axes = figure.subplots()
    for y, (ladder, cells) in enumerate(rows.items()):
        for x, result in enumerate(cells):
            ratio = _ratio(result, results[0])
            color = cell_color(ratio)
            axes.add_patch(
                Rectangle((x, y), 0.96, 0.9, color=[part / 255 for part in color], linewidth=0)
            )
            ink = "white" if _is_dark(color) else "black"
            text: dict[str, Any] = {"ha": "center", "va": "center", "color": ink}
            axes.text(x + 0.48, y + 0.25, result.cell.label, fontsize=7, **text)
            axes.text(x + 0.48, y + 0.62, _short(result), fontsize=8, **text)
        axes.text(-0.08, y + 0.45, ladder, ha="right", va="center", fontsize=9)
    axes.set(xlim=(0, width), ylim=(len(rows), 0))
    axes.axis("off")
    axes.set_title(title, fontsize=10, loc="left")
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=110)
    return out


def html_map(
    results: Sequence[CellResult], title: str, summary: str, made_by: str, film: Path | None
) -> str:
    """The map as one self-contained page, with the film of the worst cell."""
    text = _HEAD.format(
        title=html.escape(title), summary=html.escape(summary), made_by=html.escape(made_by)
    )
    text += "<table>"
    for ladder, cells in ladders(results).items():
        text += f"<tr><th>{html.escape(ladder)}</th>"
        text += "".join(_html_cell(result, results[0]) for result in cells) + "</tr>\n"
    text += "</table>\n"
    if film is not None:
        data = base64.b64encode(film.read_bytes()).decode()
        text += (
            "<h2>A failed episode of the worst cell</h2>\n<video controls loop muted "
            f'src="data:video/mp4;base64,{data}"></video>\n'
        )
    return text + "</body></html>\n"


def _html_cell(result: CellResult, base: CellResult) -> str:
    color, row = cell_color(_ratio(result, base)), result.row
    style = f"background: rgb{color}"
    dark = ' class="dark"' if _is_dark(color) else ""
    hover = result.reason
    if row is not None:
        hover = "; ".join(f"{name.replace('_', ' ')} {row[name]:.3f}" for name in METRICS)
        hover += f"; {row['episodes']} episodes, set {row['episode_set']}"
    lines = (
        f"<strong>{html.escape(result.cell.label)}</strong>",
        html.escape(_success(row) if row is not None else "–"),
        html.escape(_kept(result, base)),
    )
    inside = "".join(f"<small>{line}</small>" for line in lines)
    return f'<td{dark} style="{style}" title="{html.escape(hover)}">{inside}</td>'


def _ratio(result: CellResult, base: CellResult) -> float | None:
    """Fraction of success that a cell keeps; without a result on the unchanged task, success."""
    if result.row is None:
        return None
    kept = retained_success(result.row, base.row) if base.row is not None else None
    return float(result.row["success"]) if kept is None else kept.ratio


def _kept(result: CellResult, base: CellResult) -> str:
    if result.row is None or base.row is None or result.cell.ladder == BASE:
        return ""
    kept = retained_success(result.row, base.row)
    return "" if kept is None else f"{kept.ratio:.0%} [{kept.low:.0%}, {kept.high:.0%}]"


def _success(row: dict[str, object]) -> str:
    return f"{row['success']:.3f} [{row['success_low']:.3f}, {row['success_high']:.3f}]"


def _short(result: CellResult) -> str:
    row = result.row
    if row is None:
        return "–"
    return f"{row['success']:.2f} [{row['success_low']:.2f}, {row['success_high']:.2f}]"


def _is_dark(color: tuple[int, int, int]) -> bool:
    return float(np.dot(color, (0.299, 0.587, 0.114))) < 140

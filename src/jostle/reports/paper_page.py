"""The paper's page: every table and figure of the paper beside ours, as one HTML file."""

import base64
import html
import math
from collections.abc import Sequence
from pathlib import Path

from jostle.core.goal_metric import METRICS
from jostle.reports.paper_data import PaperItem, PaperRow, read_paper
from jostle.reports.paper_style import HEAD, SCRIPT
from jostle.reports.scaling import fit_line, returns_by_cubes
from jostle.reports.stored import Line, StoredRow, beside, difference, like_for_like
from jostle.reports.svg import dot_plot, histogram_plot, line_plot

MAX_IMAGE_BYTES = 1_000_000
"""Larger pictures and films are not embedded."""
_MIMES = {".png": "image/png", ".gif": "image/gif"}
_COLUMNS = (
    "row", "whose", "success [95 % interval]", "success fraction", "maximum distance",
    "average distance", "average return", "seeds", "episodes", "method", "core-minutes", "source",
)  # fmt: skip
_METRICS = (
    "success", "success_fraction", "maximum_distance", "average_distance", "average_return",
)  # fmt: skip
_PAPER_SEEDS, _PAPER_EPISODES = "3", "400"
"""Seeds of the paper's means, and episodes of each of its numbers."""
_MISSING = '<p class="missing">missing: there is no stored result of ours</p>'


def paper_page(stored: Sequence[StoredRow], root: Path, made_by: str) -> str:
    """The page from stored results; pictures are looked for in `root`, the repository."""
    title, source, items = read_paper()
    text = HEAD.format(title=html.escape(f"jostle beside: {title}"))
    text += f"<h1>{html.escape(title)}: the paper and ours</h1>\n"
    text += (
        f"<p>Numbers of the paper: {html.escape(source)}. Ours are stored results, each with its "
        "file and command; all that fit a row of the paper are shown, the best first. Intervals "
        "are Wilson's over episodes for one seed, Student's t over seeds for several. Click on a "
        "header to sort; the pointer shows more about a number. Made by "
        f"<code>{html.escape(made_by)}</code>.</p>\n"
    )
    text += _overview(items, stored) + _contents(items, stored)
    for item in items:
        text += _section(item, stored, root)
    return text + SCRIPT + "</main></body></html>\n"


def _overview(items: Sequence[PaperItem], stored: Sequence[StoredRow]) -> str:
    """How many numbers there are, and a plot of all successes."""
    rows, with_ours, as_good = [], 0, 0
    for item in items:
        for row in item.rows:
            if "success" not in row.metrics or not row.metrics["success"]:
                continue
            lines, paper = like_for_like(row, stored), row.metrics["success"][0]
            best = lines[0] if lines else None
            value = None if best is None else best.mean("success")
            rows.append((
                f"{item.label}: {row.label}", paper, value, best.interval() if best else None,
            ))  # fmt: skip
            with_ours += value is not None
            as_good += value is not None and value >= paper
    text = (
        f"<h2>At a glance</h2>\n<p>The paper prints {len(rows)} success rates. Beside {with_ours} "
        f"of them there is a result of ours, at least as high for {as_good}; "
        f"{len(rows) - with_ours} are missing. Orange ticks: paper; blue dots: our best stored "
        "result that is like for like, chosen for its success, with its interval.</p>\n"
    )
    return f'{text}<figure id="overview">{dot_plot(rows)}</figure>\n'


def _contents(items: Sequence[PaperItem], stored: Sequence[StoredRow]) -> str:
    links = []
    for item in items:
        missing = sum(not beside(row, stored) for row in item.rows)
        state = f" ({missing} of {len(item.rows)} rows missing)" if missing else ""
        links.append(
            f'<li><a href="#{item.id}">{item.label}</a>: {html.escape(item.title)}{state}</li>'
        )
    return f"<details><summary>Contents</summary><ul>{''.join(links)}</ul></details>\n"


def _section(item: PaperItem, stored: Sequence[StoredRow], root: Path) -> str:
    """One table or figure."""
    heading = f"{item.label}. {html.escape(item.title)}"
    text = f'<section id="{item.id}"><h2>{heading}</h2>\n<p>{html.escape(item.text)}</p>\n'
    content = _plot(item, stored)
    content += "".join(_image(root / path, path) for path in item.images)
    if item.rows:
        content += _table(item, stored)
    if item.settings:
        content += f'<p class="settings">Ours: <code>{html.escape(item.settings)}</code></p>\n'
    return f"{text}{content or _MISSING}</section>\n"


def _table(item: PaperItem, stored: Sequence[StoredRow]) -> str:
    head = "".join(f"<th>{name}</th>" for name in _COLUMNS)
    body = ""
    for row in item.rows:
        body += _paper_row(item, row)
        lines = beside(row, stored)
        body += "".join(_our_row(row, line) for line in lines)
        if not lines:
            body += (
                f'<tr class="missing"><td>{html.escape(row.label)}</td><td>ours</td>'
                f'<td colspan="{len(_COLUMNS) - 2}">missing</td></tr>\n'
            )
    return (
        f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
        "</div>\n"
    )


def _paper_row(item: PaperItem, row: PaperRow) -> str:
    cells = [html.escape(row.label), "paper"]
    for metric in _METRICS:
        values = row.metrics.get(metric)
        if values:
            spread = f" ± {values[1]:g}" if len(values) > 1 else ""
            cells.append(f"{values[0]:.3f}{spread}")
        else:
            cells.append(html.escape(row.said) if metric == "success" else "")
    over_seeds = any(len(values) > 1 for values in row.metrics.values())
    episodes = _PAPER_EPISODES if row.metrics and not row.said else ""
    cells += [_PAPER_SEEDS if over_seeds else "", episodes, "TD3 (no teacher)", "", item.label]
    return f'<tr class="paper" data-source="{item.label}">{_cells(cells)}</tr>\n'


def _our_row(row: PaperRow, line: Line) -> str:
    first, interval = line.first, line.interval()
    success = line.mean("success")
    shown = "" if success is None else f"{success:.3f}"
    if interval is not None:
        shown += f" [{interval[0]:.3f}, {interval[1]:.3f}]"
    metrics = [_number(line.mean(metric), metric) for metric in _METRICS[1:]]
    episodes = " + ".join(str(item.row["episodes"]) for item in line.rows)
    minutes, note = first.minutes, difference(row, line)
    whose = f"<code>{html.escape(first.agent)}</code>" + (f" ({note})" if note else "")
    cells = [
        html.escape(row.label), whose, shown, *metrics,
        str(line.seeds), episodes, html.escape(first.method),
        "" if minutes is None else str(minutes),
        f'<details><summary>{html.escape(Path(first.source).name)}</summary><code>'
        f"{html.escape(first.command)}</code></details>",
    ]  # fmt: skip
    facts = {"episode_set": "episode set", "weights": "weights", "mujoco": "MuJoCo"}
    hover = "; ".join(
        f"{item.agent}: "
        + ", ".join(f"{name} {item.row.get(key, 'not recorded')}" for key, name in facts.items())
        for item in line.rows
    )
    return (
        f'<tr class="ours{" aside" if note else ""}" data-source="{html.escape(first.source)}" '
        f'data-command="{html.escape(first.command)}" title="{html.escape(hover)}">'
        f"{_cells(cells)}</tr>\n"
    )


def _cells(cells: Sequence[str]) -> str:
    return "".join(f"<td>{cell}</td>" for cell in cells)


def _number(value: float | None, metric: str) -> str:
    if value is None:
        return ""
    return f"{value:.4f}" if "distance" in metric else f"{value:.3f}"


def _plot(item: PaperItem, stored: Sequence[StoredRow]) -> str:
    """A plot of stored results, if the item has one."""
    if item.plot == "counts":
        return _counts_plot(stored)
    if item.plot == "yaw":
        histograms = {
            item_row.agent: item_row.row["yaw_error_histogram"]
            for item_row in stored
            if item_row.row["task"] == "PushT"
            and str(item_row.row["objects"]) == item.plot_objects
            and "yaw_error_histogram" in item_row.row
        }
        plot = histogram_plot(histograms, "angle to the goal (radians)", math.pi)
        return _figure(plot, "Ours, final angles of stored evaluations.") if plot else ""
    return ""


def _counts_plot(stored: Sequence[StoredRow]) -> str:
    """Average return against the number of cubes: the paper's Table 4 and ours."""
    _, _, items = read_paper()
    table = next(item for item in items if item.id == "gen")
    paper = {row.objects: row.metrics["average_return"][0] for row in table.rows if row.objects}
    rows = [
        item.row for item in stored if not item.row.get("vary") and item.row["task"] != "Sorting"
    ]
    ours = {name: points for name, points in returns_by_cubes(rows).items() if len(points) > 3}
    lines = {"paper (image)": paper, **ours}
    fits = "; ".join(
        f"{name}: {fit.intercept:.3f} {fit.slope:+.3f} N, R² {fit.r_squared:.2f}"
        for name, points in lines.items()
        for fit in (fit_line(points),)
    )
    plot = line_plot(lines, "cubes", "average return", dashed=("paper (image)",))
    return _figure(plot, f"Linear fits: {fits}.")


def _image(path: Path, name: str) -> str:
    """A picture of the repository, embedded; its absence is named."""
    if not path.is_file() or path.stat().st_size > MAX_IMAGE_BYTES:
        return f'<p class="missing">missing: {html.escape(name)}</p>\n'
    data = base64.b64encode(path.read_bytes()).decode()
    source = f"data:{_MIMES[path.suffix]};base64,{data}"
    return _figure(f'<img alt="{html.escape(name)}" src="{source}">', f"Ours: {name}")


def _figure(content: str, caption: str) -> str:
    return f"<figure>{content}<figcaption>{html.escape(caption)}</figcaption></figure>\n"


assert set(_METRICS) == set(METRICS)

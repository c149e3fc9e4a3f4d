"""Probe reports of encoders: Markdown tables, and one HTML page with embedded images."""

import base64
import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from jostle.probing.examples import FailureCase, SceneExample
from jostle.probing.metrics import EncoderMetrics, metric_descriptions
from jostle.probing.probe import ProbeResult
from jostle.reports.drawing import (
    caption,
    close_up,
    draw_detections,
    draw_glimpses,
    enlarge,
    png,
)
from jostle.reports.video import Frame

MAX_BYTES = 1_400_000
"""Maximum size of a page; images that do not fit are left out."""
_PERCENT, _DECIMAL = "{:.1%}", "{:.2f}"
_HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width">
<style>
body {{ font: 15px/1.45 system-ui, sans-serif; color: #222; margin: 2em auto; max-width: 84em;
  padding: 0 1em; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; margin: 1em 0; }}
th, td {{ padding: .25em .6em; text-align: right; border-bottom: 1px solid #ddd; }}
td {{ white-space: nowrap; }}
th {{ font-weight: 600; vertical-align: bottom; }}
th:first-child, td:first-child {{ text-align: left; }}
.row {{ display: flex; flex-wrap: wrap; gap: .8em; margin: .8em 0; align-items: flex-start; }}
figure {{ margin: 0; }} figcaption {{ font-size: 12px; color: #666; }}
img {{ image-rendering: pixelated; display: block; }}
h2 {{ border-top: 2px solid #222; padding-top: .4em; margin-top: 2em; }} h3 {{ font-size: 15px; }}
dt {{ font-family: monospace; }} dd {{ margin: 0 0 .4em 2em; }} summary {{ cursor: pointer; }}
</style></head><body>
<h1>{title}</h1>
<p>Made by <code>{made_by}</code>. Orange dots and pink boxes are visible particles, gray dots are
particles below the visibility threshold, red rings mark objects that were not recalled. Images/s is
one noisy measurement.</p>
"""


def _cell(name: str, form: str) -> Callable[[EncoderMetrics], str]:
    def cell(metrics: EncoderMetrics) -> str:
        value = getattr(metrics, name)
        return "–" if value is None else form.format(value)

    return cell


def _with_95(name: str, form: str) -> Callable[[EncoderMetrics], str]:
    median, percentile = _cell(name, form), _cell(f"{name}_95", form)
    return lambda metrics: (
        "–" if getattr(metrics, name) is None else f"{median(metrics)} ({percentile(metrics)})"
    )


def _particle_locations(metrics: EncoderMetrics) -> str:
    names = ("on_object", "on_arm", "on_nothing")
    fractions = [getattr(metrics, name) for name in names]
    return "–" if None in fractions else " / ".join(f"{100 * part:.0f}" for part in fractions)


COLUMNS: dict[str, Callable[[EncoderMetrics], str]] = {
    "objects": _cell("objects", "{:d}"),
    "recall": _cell("recall", _PERCENT),
    "error px (95 %)": _with_95("error_px", _DECIMAL),
    "error of all px (95 %)": _with_95("error_all_px", _DECIMAL),
    "below threshold": _cell("below_threshold", _PERCENT),
    "merged": _cell("merged", _PERCENT),
    "color": _cell("color", _PERCENT),
    "jitter px (95 %)": _with_95("jitter_px", _DECIMAL),
    "table cm": _cell("table_cm", _DECIMAL),
    "table cm, true centers": _cell("table_best_cm", _DECIMAL),
    "on object / arm / nothing %": _particle_locations,
    "particles (95 %)": _with_95("particles", "{:.1f}"),
    "PSNR": _cell("psnr", "{:.1f}"),
    "images/s": _cell("images_per_second", "{:.0f}"),
}
"""Cells of the metrics table, by column header."""


@dataclass(frozen=True)
class ProbeSection:
    """Results on one folder of frames."""

    result: ProbeResult
    """Its metrics."""
    examples: Sequence[SceneExample]
    """Some of its scenes."""
    failures: Sequence[FailureCase]
    """Objects with the largest errors."""


def total_by_folder(results: Sequence[ProbeResult]) -> dict[str, EncoderMetrics]:
    """Metrics over all objects, by name of the folder."""
    return {result.name: result.total for result in results}


def metrics_table(rows: Mapping[str, EncoderMetrics], first: str = "scenes") -> str:
    """Markdown table with aligned columns; empty columns are left out."""
    header, cells = _cells(rows, first)
    columns = range(len(header))
    widths = [max(len(line[column]) for line in (header, *cells)) for column in columns]
    lines = [header, ["-" * width for width in widths], *cells]
    padded = [
        [line[0].ljust(widths[0]), *(
            text.rjust(width) for text, width in zip(line[1:], widths[1:], strict=True))]
        for line in lines
    ]  # fmt: skip
    return "".join("| " + " | ".join(line) + " |\n" for line in padded)


def markdown_page(
    title: str, made_by: str, results: Sequence[ProbeResult], images: Sequence[str]
) -> str:
    """A Markdown page: the metrics table, and images by their file names."""
    text = (
        f"# {title}\n\nMade by `{made_by}`. The metrics are defined in `docs/representations.md`.\n"
    )
    text += "Images/s is one measurement on a shared machine.\n\n"
    text += metrics_table(total_by_folder(results))
    for name in images:
        text += f"\n![{name.rsplit('.', 1)[0]}]({name})\n"
    return text


def html_page(title: str, made_by: str, sections: Sequence[ProbeSection]) -> str:
    """One self-contained HTML file."""
    text = _HEAD.format(title=html.escape(title), made_by=html.escape(made_by))
    text += _html_table(total_by_folder([section.result for section in sections]), "scenes")
    text += f"<details><summary>Definitions of the metrics</summary>{_definitions()}</details>"
    breakdowns = [_breakdown(section.result) for section in sections]
    room = (MAX_BYTES - len(text) - sum(map(len, breakdowns))) / max(1, len(sections))
    for section, breakdown in zip(sections, breakdowns, strict=True):
        text += f"<h2>{html.escape(section.result.name)}</h2>"
        text += _images(section, room) + breakdown
    return text + "</body></html>\n"


def _cells(rows: Mapping[str, EncoderMetrics], first: str) -> tuple[list[str], list[list[str]]]:
    """Header and cells of a table, without empty columns."""
    lines = [
        [name, *(column(metrics) for column in COLUMNS.values())] for name, metrics in rows.items()
    ]
    header = [first, *COLUMNS]
    shown = [index for index in range(len(header)) if any(line[index] != "–" for line in lines)]
    return [header[index] for index in shown], [[line[index] for index in shown] for line in lines]


def _html_table(rows: Mapping[str, EncoderMetrics], first: str) -> str:
    header, cells = _cells(rows, first)
    text = "<table><tr>" + "".join(f"<th>{html.escape(name)}</th>" for name in header) + "</tr>"
    for line in cells:
        text += "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in line) + "</tr>"
    return text + "</table>\n"


def _breakdown(result: ProbeResult) -> str:
    """Tables by view, by number of objects and by color."""
    parts = {"view": result.views, "objects in scene": result.counts, "color": result.colors}
    tables = "".join(_html_table(rows, by) for by, rows in parts.items() if len(rows) > 1)
    return f"<details><summary>Breakdown</summary>{tables}</details>\n" if tables else ""


def _images(section: ProbeSection, room: float) -> str:
    """Images of one folder, up to `room` bytes."""
    groups: list[tuple[str, list[tuple[Frame, str]]]] = []
    for scene in section.examples:
        groups += [("", _scene_images(scene, view)) for view in range(len(scene.frames))]
    if section.failures:
        title = "Largest errors: frame and reconstruction"
        groups.append((title, [(close_up(case), caption(case)) for case in section.failures]))
    text = ""
    for title, images in groups:
        figures = ""
        for image, text_below in images:
            figure = _figure(image, text_below)
            if len(text) + len(figures) + len(figure) < room:
                figures += figure
        heading = f"<h3>{title}</h3>" if title and figures else ""
        text += f'{heading}<div class="row">{figures}</div>\n' if figures else ""
    return text


def _scene_images(shown: SceneExample, view: int) -> list[tuple[Frame, str]]:
    """Images of one view of a scene, with captions."""
    images = [(enlarge(shown.frames[view], 2), "frame")]
    if shown.positions is not None:
        images.append((draw_detections(shown, view), "detections"))
    images.append((enlarge(shown.reconstruction[view], 2), "reconstruction"))
    glimpses = draw_glimpses(shown, view)
    return [*images, (glimpses, "glimpses of particles")] if glimpses is not None else images


def _figure(image: Frame, caption: str) -> str:
    data, (height, width) = base64.b64encode(png(image, 256)).decode(), image.shape[:2]
    return (
        f'<figure><img width="{width}" height="{height}" alt="{html.escape(caption)}" '
        f'src="data:image/png;base64,{data}"><figcaption>{html.escape(caption)}</figcaption>'
        "</figure>"
    )


def _definitions() -> str:
    overview = html.escape(" ".join((EncoderMetrics.__doc__ or "").split()))
    items = [
        f"<dt>{name}</dt><dd>{html.escape(text)}</dd>"
        for name, text in metric_descriptions().items()
    ]
    return f"<p>{overview}</p><dl>{''.join(items)}</dl>"

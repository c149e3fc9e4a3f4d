"""Pages about encoders: tables of their numbers, and one HTML file with pictures in it."""

import base64
import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from jostle.probing.measure import Measured
from jostle.probing.numbers import Numbers, meanings
from jostle.probing.showing import Case, Shown
from jostle.reports.films import Frame
from jostle.reports.portraits import caption, close_up, enlarged, found, glimpses, png

LARGEST = 1_400_000
"""Most bytes of a page; pictures that do not fit are left out."""
_SHARE, _PLAIN = "{:.1%}", "{:.2f}"
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
<p>Made by <code>{made_by}</code>. Orange dots and pink boxes are visible particles, gray dots
are particles that are off, red rings are around objects that nothing found. Images/s is one
measurement, and noisy.</p>
"""


def _one(name: str, form: str) -> Callable[[Numbers], str]:
    def cell(numbers: Numbers) -> str:
        value = getattr(numbers, name)
        return "–" if value is None else form.format(value)

    return cell


def _with_95(name: str, form: str) -> Callable[[Numbers], str]:
    first, second = _one(name, form), _one(f"{name}_95", form)
    return lambda n: "–" if getattr(n, name) is None else f"{first(n)} ({second(n)})"


def _grounds(numbers: Numbers) -> str:
    names = ("on_object", "on_arm", "on_nothing")
    shares = [getattr(numbers, name) for name in names]
    return "–" if None in shares else " / ".join(f"{100 * share:.0f}" for share in shares)


COLUMNS: dict[str, Callable[[Numbers], str]] = {
    "objects": _one("objects", "{:d}"),
    "recall": _one("recall", _SHARE),
    "error px (95 %)": _with_95("error_px", _PLAIN),
    "of all px (95 %)": _with_95("error_all_px", _PLAIN),
    "faint": _one("faint", _SHARE),
    "merged": _one("merged", _SHARE),
    "color": _one("color", _SHARE),
    "jitter px (95 %)": _with_95("jitter_px", _PLAIN),
    "table cm": _one("table_cm", _PLAIN),
    "best cm": _one("table_best_cm", _PLAIN),
    "on object / arm / nothing %": _grounds,
    "particles (95 %)": _with_95("particles", "{:.1f}"),
    "PSNR": _one("psnr", "{:.1f}"),
    "images/s": _one("images_per_second", "{:.0f}"),
}
"""What a table shows, by the head of its columns."""


@dataclass(frozen=True)
class Chapter:
    """What a page tells of one folder."""

    measured: Measured
    """Its numbers."""
    examples: Sequence[Shown]
    """Some of its scenes."""
    worst: Sequence[Case]
    """Objects that were seen worst."""


def rows_of(several: Sequence[Measured]) -> dict[str, Numbers]:
    """One row per folder."""
    return {one.name: one.total for one in several}


def table(rows: Mapping[str, Numbers], first: str = "scenes") -> str:
    """Lay numbers out as a Markdown table that can be read as it is; empty columns are left out."""
    head, cells = _cells(rows, first)
    widths = [max(len(line[at]) for line in (head, *cells)) for at in range(len(head))]
    lines = [head, ["-" * width for width in widths], *cells]
    padded = [
        [text.ljust(width) if at == 0 else text.rjust(width) for at, (text, width) in enumerate(
            zip(line, widths, strict=True))]
        for line in lines
    ]  # fmt: skip
    return "".join("| " + " | ".join(line) + " |\n" for line in padded)


def summary(title: str, made_by: str, several: Sequence[Measured], pictures: Sequence[str]) -> str:
    """A Markdown page: the table, what is broken down, and pictures by the names of their files."""
    text = f"# {title}\n\nMade by `{made_by}`. What the numbers mean: `docs/representations.md`.\n"
    text += "Images/s is one measurement on a machine that does other things too.\n\n"
    text += table(rows_of(several))
    for name in pictures:
        text += f"\n![{name.rsplit('.', 1)[0]}]({name})\n"
    return text


def page(title: str, made_by: str, chapters: Sequence[Chapter]) -> str:
    """One HTML file without anything outside of it."""
    text = _HEAD.format(title=html.escape(title), made_by=html.escape(made_by))
    text += _html_table(rows_of([one.measured for one in chapters]), "scenes")
    text += f"<details><summary>What the numbers mean</summary>{_meanings()}</details>"
    plain = [_numbers_of(chapter.measured) for chapter in chapters]
    room = (LARGEST - len(text) - sum(map(len, plain))) / max(1, len(chapters))
    for chapter, numbers in zip(chapters, plain, strict=True):
        text += f"<h2>{html.escape(chapter.measured.name)}</h2>"
        text += _pictures_of(chapter, room) + numbers
    return text + "</body></html>\n"


def _cells(rows: Mapping[str, Numbers], first: str) -> tuple[list[str], list[list[str]]]:
    whole = [[name, *(column(one) for column in COLUMNS.values())] for name, one in rows.items()]
    head = [first, *COLUMNS]
    told = [at for at in range(len(head)) if any(line[at] != "–" for line in whole)]
    return [head[at] for at in told], [[line[at] for at in told] for line in whole]


def _html_table(rows: Mapping[str, Numbers], first: str) -> str:
    head, cells = _cells(rows, first)
    text = "<table><tr>" + "".join(f"<th>{html.escape(name)}</th>" for name in head) + "</tr>"
    for line in cells:
        text += "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in line) + "</tr>"
    return text + "</table>\n"


def _numbers_of(one: Measured) -> str:
    parts = {"view": one.views, "objects in the scene": one.counts, "color": one.colors}
    tables = "".join(_html_table(rows, by) for by, rows in parts.items() if len(rows) > 1)
    return f"<details><summary>In parts</summary>{tables}</details>\n" if tables else ""


def _pictures_of(chapter: Chapter, room: float) -> str:
    """Pictures of one folder, as long as there is room."""
    groups: list[tuple[str, list[tuple[Frame, str]]]] = []
    for shown in chapter.examples:
        groups += [("", _portraits(shown, view)) for view in range(len(shown.frames))]
    if chapter.worst:
        told = "Seen worst: the frame, and what is drawn of it"
        groups.append((told, [(close_up(case), caption(case)) for case in chapter.worst]))
    text = ""
    for title, pictures in groups:
        figures = ""
        for picture, words in pictures:
            figure = _figure(picture, words)
            if len(text) + len(figures) + len(figure) < room:
                figures += figure
        heading = f"<h3>{title}</h3>" if title and figures else ""
        text += f'{heading}<div class="row">{figures}</div>\n' if figures else ""
    return text


def _portraits(shown: Shown, view: int) -> list[tuple[Frame, str]]:
    pictures = [(enlarged(shown.frames[view], 2), "frame")]
    if shown.places is not None:
        pictures.append((found(shown, view), "what was found"))
    pictures.append((enlarged(shown.drawn[view], 2), "drawn again"))
    looks = glimpses(shown, view)
    return [*pictures, (looks, "what particles look like")] if looks is not None else pictures


def _figure(picture: Frame, words: str) -> str:
    data, (height, width) = base64.b64encode(png(picture, 256)).decode(), picture.shape[:2]
    return (
        f'<figure><img width="{width}" height="{height}" alt="{html.escape(words)}" '
        f'src="data:image/png;base64,{data}"><figcaption>{html.escape(words)}</figcaption>'
        "</figure>"
    )


def _meanings() -> str:
    whole = html.escape(" ".join((Numbers.__doc__ or "").split()))
    items = [f"<dt>{name}</dt><dd>{html.escape(said)}</dd>" for name, said in meanings().items()]
    return f"<p>{whole}</p><dl>{''.join(items)}</dl>"

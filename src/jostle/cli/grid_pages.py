"""Pages and film of `jostle generalize`."""

from collections.abc import Sequence
from pathlib import Path

from jostle.cli.video import VideoConfig, make_video
from jostle.core.files import write_text
from jostle.evaluation.retained import CellResult, worst
from jostle.reports.generalization import grid_table, html_map, plot_map

_FILM_SIZE = 240
"""Side of each view of the film, in pixels: small enough for a page."""


def film_worst(agent: str, results: Sequence[CellResult], out: Path) -> Path | None:
    """Record a failed episode of the worst cell; None if there is no failure to show."""
    lowest = worst(results)
    if lowest is None or lowest.row is None or lowest.row["success"] >= 1:
        return None
    cell = lowest.cell
    film, _, _ = make_video(
        VideoConfig(
            task=cell.task,
            agent=(agent,),
            objects=cell.objects,
            colors=(cell.colors,),
            vary=tuple(str(cell.vary).split()),
            seed=lowest.row.get("first_failure") or 0,
            size=_FILM_SIZE,
            out=out.parent,
        )
    )
    return film


def write_pages(
    out: Path, results: Sequence[CellResult], summary: str, made_by: str, film: Path | None
) -> list[Path]:
    """Write OUT.md, OUT.png and OUT.html; returns their paths."""
    base = results[0]
    title = f"Generalization of {base.row['agent']}" if base.row else "Generalization"
    picture = plot_map(results, title, out.with_suffix(".png"))
    page = (
        f"# {title}\n\nMade by `{made_by}`.\n\n{summary}\n\n![map of retained success]"
        f"({picture.name})\n\n{grid_table(results)}"
    )
    if film is not None:
        page += f"\nA failed episode of the worst cell is in {out.with_suffix('.html').name}.\n"
    write_text(out.with_suffix(".md"), page)
    write_text(out.with_suffix(".html"), html_map(results, title, summary, made_by, film))
    paths = [out.with_suffix(suffix) for suffix in (".html", ".md", ".png", ".json")]
    return [*paths, film] if film is not None else paths

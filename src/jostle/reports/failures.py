"""Causes of failures: a table of their shares, and sheets of failed episodes."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from jostle.reports.tables import markdown_table
from jostle.reports.video import Frame, contact_sheet, with_title

if TYPE_CHECKING:
    from jostle.evaluation.evaluate import Evaluation

_TITLE_SIZE = 18
"""Height of the title of a sheet, in pixels."""


def cause_table(evaluations: "Sequence[Evaluation]") -> str:
    """Shares of the causes among all episodes of each evaluation; empty if no cause is known."""
    lines: list[tuple[str, str, str, str]] = []
    for result in evaluations:
        counts = Counter(episode.cause for episode in result.episodes if episode.cause)
        title = result.task + (f" ({result.vary})" if result.vary else "")
        for cause, count in counts.most_common():
            total = len(result.episodes)
            share = f"{count} of {total} episodes ({count / total:.1%})"
            lines.append((title, result.agent, cause, share))
    return markdown_table(("task", "agent", "cause", "share"), lines) if lines else ""


def failure_sheet(
    cause: str, episodes: Sequence[tuple[int, Sequence[Frame]]], moments: Sequence[str]
) -> Frame:
    """A sheet of failed episodes with one cause: a row per episode, named by its seed.

    Args:
        cause: Title of the sheet.
        episodes: Seed and frames of each episode.
        moments: Titles of the frames, such as steps.
    """
    frames = [frame for _, row in episodes for frame in row]
    titles = [
        f"seed {seed}, {moment}" if index == 0 else moment
        for seed, row in episodes
        for index, (moment, _) in enumerate(zip(moments, row, strict=True))
    ]
    return with_title(contact_sheet(frames, len(moments), titles), cause, _TITLE_SIZE)

"""The paper's tables and figures with their numbers, read from `paper.toml`."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jostle.core.goal_metric import METRICS

_FILE = Path(__file__).with_name("paper.toml")


@dataclass(frozen=True, kw_only=True)
class PaperRow:
    """One row of a table of the paper, or one line of a figure."""

    label: str
    """What the paper calls it."""
    task: str
    """Task of ours that it is about."""
    obs: str
    """What the paper's agent observes: state or pixels."""
    also_state: bool = False
    """Whether agents of true state are shown beside agents of pixels."""
    aside: tuple[str, ...] = ()
    """Beginnings of names of agents that were trained on what others are tested on."""
    objects: int | None = None
    """Number of objects; None for the task's own."""
    colors: str = "fixed"
    """Colors of the objects."""
    vary: str = ""
    """What differs from the task."""
    variant: str = ""
    """Baseline or ablation; empty for the method itself."""
    trained: str = ""
    """Number of cubes in training (one, two, three), or the name of an agent; empty for any."""
    said: str = ""
    """What the paper says where it prints no number."""
    metrics: dict[str, tuple[float, ...]]
    """Mean, and standard deviation over seeds if printed, by metric."""


@dataclass(frozen=True, kw_only=True)
class PaperItem:
    """A table or figure of the paper."""

    id: str
    """Its label in the paper's text."""
    label: str
    """Its number, such as Table 6."""
    title: str
    """What it is about."""
    text: str
    """What it shows, in our words."""
    rows: tuple[PaperRow, ...] = ()
    """Its rows."""
    images: tuple[str, ...] = ()
    """Our pictures of the same, as paths in the repository."""
    plot: str = ""
    """A plot of stored results: counts or yaw."""
    plot_objects: str = ""
    """Number of objects of that plot."""
    settings: str = ""
    """For items without results: the page that has ours."""


def read_paper() -> tuple[str, str, tuple[PaperItem, ...]]:
    """Title, source, and all tables and figures in their order."""
    content: dict[str, Any] = tomllib.loads(_FILE.read_text())
    return content["title"], content["source"], tuple(map(_item, content["item"]))


def _item(fields: dict[str, Any]) -> PaperItem:
    rows = tuple(_row(row) for row in fields.pop("row", ()))
    images = tuple(fields.pop("images", ()))
    return PaperItem(rows=rows, images=images, **fields)


def _row(fields: dict[str, Any]) -> PaperRow:
    metrics = {name: tuple(fields.pop(name)) for name in METRICS if name in fields}
    return PaperRow(metrics=metrics, aside=tuple(fields.pop("aside", ())), **fields)

"""Stored results of ours, and which of them belong beside a row of the paper."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from jostle.core.errors import BadValueError, require
from jostle.core.goal_metric import METRICS
from jostle.reports.paper_data import PaperRow
from jostle.reports.seeds import mean_interval

VARIANTS = ("smorl", "mlp", "slots", "front", "no-scale", "no-depth", "no-mask")
"""Parts of agents' names that mark baselines and ablations."""
_IMAGE_REWARD = r"-objects(-|$)|-(chamfer|gdac|gdac-paper|table)$"
"""What names of agents that learned by a reward of images have."""
_CUBES = {"OneCube": 1, "TwoCubes": 2, "ThreeCubes": 3, "FourCubes": 4, "FiveCubes": 5,
          "SixCubes": 6}  # fmt: skip
_VARIED = "-varied"
"""How names of agents end that learned in varied scenes: their rows are not zero-shot."""
_TRAINED = {"one": "one-cube", "two": "two-cubes"}


@dataclass(frozen=True)
class StoredRow:
    """One measurement of ours, and where it is from."""

    row: dict[str, Any]
    """Summary as of `jostle evaluate`."""
    source: str
    """File that has it."""
    command: str
    """Command that made it."""

    @property
    def agent(self) -> str:
        """Name of the agent."""
        return str(self.row["agent"])

    @property
    def obs(self) -> str:
        """What the agent observes."""
        images = "-pixels" in self.agent or "-objects" in self.agent
        return str(self.row.get("obs") or ("pixels" if images else "state"))

    @property
    def variant(self) -> str:
        """Baseline or ablation that the agent is; empty for the method itself."""
        found = [name for name in VARIANTS if re.search(rf"(^|-){name}(-|$)", self.agent)]
        found += ["image-reward"] if re.search(_IMAGE_REWARD, self.agent) else []
        return "-".join(found)

    @property
    def method(self) -> str:
        """How the agent was trained, in a few words."""
        trained = str(self.row.get("trained", ""))
        if not trained:
            return "not recorded"
        if trained == "scripted":
            return "scripted"
        methods = dict.fromkeys(re.findall(r"method ([\w -]+?),", trained))
        teacher = "teacher" if any("dagger" in name for name in methods) else "no teacher"
        if "td3-demos" in methods:
            teacher = "demonstrations"
        return f"{', then '.join(methods)} ({teacher})"

    @property
    def minutes(self) -> int | None:
        """Core-minutes of all training stages together; None if they are not recorded."""
        numbers = re.findall(r"([\d,]+) min", str(self.row.get("trained", "")))
        return sum(int(number.replace(",", "")) for number in numbers) if numbers else None


@dataclass(frozen=True)
class Line:
    """What the page shows of one or several seeds of a training."""

    rows: tuple[StoredRow, ...]

    @property
    def first(self) -> StoredRow:
        """The first seed."""
        return self.rows[0]

    @property
    def seeds(self) -> int:
        """Number of seeds."""
        return len(self.rows)

    def mean(self, metric: str) -> float | None:
        """Mean of a metric over seeds; None if it was not stored."""
        values = [item.row[metric] for item in self.rows if item.row.get(metric) is not None]
        return fmean(values) if values else None

    def interval(self) -> tuple[float, float] | None:
        """95 % interval of success: over seeds if they differ, else over the episodes of one."""
        rates = [item.row["success"] for item in self.rows]
        if len(set(rates)) > 1:  # seeds that are all alike say nothing about others
            _, low, high = mean_interval(rates)
            return max(low, 0.0), min(high, 1.0)
        row = self.first.row
        return (row["success_low"], row["success_high"]) if "success_low" in row else None


def read_stored(files: Iterable[tuple[Path, str]]) -> list[StoredRow]:
    """Rows of result files, each with the name that the page gives it; later files add only."""
    rows: dict[tuple[Any, ...], StoredRow] = {}
    for path, name in files:
        command = _command(path)
        for row in _rows(path):
            key = tuple(
                str(row.get(part))
                for part in ("weights", "agent", "task", "objects", "colors", "vary", "episode_set")
            )
            rows.setdefault(key, StoredRow(row, name, command or _own_command(row)))
    return list(rows.values())


def beside(paper: PaperRow, stored: Sequence[StoredRow]) -> list[Line]:
    """Our results that belong beside a row of the paper; seeds are one line.

    The best comes first, and those that are not like for like come last.
    """
    groups: dict[Any, list[StoredRow]] = {}
    for item in stored:
        if _matches(paper, item):
            groups.setdefault(item.row.get("training") or item.agent, []).append(item)
    lines = [line for rows in groups.values() for line in _lines(rows)]
    return sorted(lines, key=lambda line: (difference(paper, line), -(line.mean("success") or 0)))


def difference(paper: PaperRow, line: Line) -> str:
    """Why a result is not like for like with a row of the paper; empty if it is."""
    if line.first.obs != paper.obs:
        return f"observes {line.first.obs}"
    if paper.vary and line.first.agent.endswith(_VARIED):
        return "trained with variations"
    return "trained on this task" if line.first.agent.startswith(paper.aside or ("?",)) else ""


def like_for_like(paper: PaperRow, stored: Sequence[StoredRow]) -> list[Line]:
    """Our results that can be compared with a row of the paper, the best first."""
    return [line for line in beside(paper, stored) if not difference(paper, line)]


def _lines(rows: list[StoredRow]) -> list[Line]:
    """Seeds as one line; an agent that was measured twice has its longest measurement."""
    longest: dict[str, StoredRow] = {}
    for item in sorted(rows, key=lambda item: item.row["episodes"]):
        longest[item.agent] = item
    return [Line(tuple(longest.values()))]


def _matches(paper: PaperRow, item: StoredRow) -> bool:
    row = item.row
    same_task = _task(row["task"], row.get("objects")) == _task(paper.task, paper.objects)
    same_obs = paper.obs == item.obs or (paper.also_state and item.obs == "state")
    same_look = row.get("colors", "fixed") == paper.colors and row.get("vary", "") == paper.vary
    learned = row.get("trained") != "scripted" and item.variant == paper.variant
    return same_task and same_obs and same_look and learned and _trained_with(paper, item.agent)


def _task(task: str, objects: Any) -> tuple[str, Any]:
    """Tasks of the same name and number: ThreeCubes is NCubes with 3 objects."""
    if task in _CUBES:
        return "NCubes", _CUBES[task]
    return (task, objects) if task in ("NCubes", "PushT", "Sorting") else (task, None)


def _trained_with(paper: PaperRow, agent: str) -> bool:
    if not paper.trained:
        return True
    if paper.trained == "three":
        return not agent.startswith(tuple(_TRAINED.values()))
    if paper.trained in _TRAINED:
        return agent.startswith(_TRAINED[paper.trained])
    return agent == paper.trained


def _rows(path: Path) -> list[dict[str, Any]]:
    try:
        rows = json.loads(path.read_text())["rows"]
        require(
            all({"agent", "task", "episodes", *METRICS} <= set(row) for row in rows),
            "a row lacks its agent, task, episodes or one of the five metrics",
        )
    except (OSError, ValueError, KeyError, TypeError, BadValueError) as error:
        raise BadValueError(
            f"{path} holds no results that this version can read ({error}). Make them again with "
            "'jostle benchmark' or 'jostle generalize', or leave the file out."
        ) from error
    return list(rows)


def _command(path: Path) -> str:
    """The command that a page beside the results names."""
    page = path.with_suffix(".md")
    found = re.search(r"Made by `(jostle (?:benchmark|generalize) [^`]*)`", _text(page))
    return found[1] if found else ""


def _own_command(row: dict[str, Any]) -> str:
    """The command that evaluates a row again."""
    words = ["jostle evaluate", row["agent"], "--task", row["task"]]
    if row.get("requested_objects"):
        words += ["--objects", str(row["requested_objects"])]
    if row.get("colors", "fixed") != "fixed":
        words += ["--colors", row["colors"]]
    if row.get("vary"):
        words += ["--vary", row["vary"]]
    return " ".join((*words, "--episodes", str(row["episodes"])))


def _text(path: Path) -> str:
    return path.read_text() if path.is_file() else ""

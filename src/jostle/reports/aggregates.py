"""Trainings with several seeds, aggregated over their tasks: mean, IQM, who beats whom."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from jostle.evaluation.statistics import (
    Scores,
    bootstrap_interval,
    improvement_over_tasks,
    interquartile_mean,
    scores_of_rate,
)
from jostle.reports.tables import markdown_table, task_title

_SEED = 0
"""Seed of the bootstrap: a page made twice is the same page."""
Tasks = dict[tuple[str, Any], list[Scores]]
"""Successes (1, E) of each seed, by task and number of objects."""


def aggregate_table(results: Sequence[dict[str, Any]]) -> str:
    """Mean and IQM of the run scores of each training with several seeds; empty without any."""
    trainings = {
        name: tasks
        for name, tasks in _successes(results).items()
        if any(len(seeds) > 1 for seeds in tasks.values())
    }
    if not trainings:
        return ""
    lines = []
    for name, tasks in trainings.items():
        seeds = sorted({len(scores) for scores in tasks.values()})
        scores = _stacked(tasks)
        mean, iqm = (
            bootstrap_interval(scores, np.random.default_rng(_SEED), *statistic)
            for statistic in ((), (interquartile_mean,))
        )
        count = "–".join(str(end) for end in dict.fromkeys((seeds[0], seeds[-1])))
        lines.append((name, len(tasks), count, mean.text(), iqm.text()))
    header = ("training", "tasks", "seeds", "mean success [95 %]", "IQM of success [95 %]")
    text = (
        "Over all tasks of a training, with stratified bootstrap intervals over seeds and "
        "episodes; a run score is the success of one seed on one task:\n\n"
    )
    return f"{text}{markdown_table(header, lines)}\n{_improvements(trainings)}"


def _improvements(trainings: dict[str, Tasks]) -> str:
    """Probability of improvement for each pair of trainings, on the tasks that both have."""
    lines = []
    for first, second in combinations(trainings, 2):
        common = [key for key in trainings[first] if key in trainings[second]]
        if common:
            own, other = (
                _stacked({key: trainings[name][key] for key in common}) for name in (first, second)
            )
            rng = np.random.default_rng(_SEED)
            probability = improvement_over_tasks(own, other, rng)
            lines.append((first, second, len(common), probability.text()))
    if not lines:
        return ""
    header = ("training", "against", "common tasks", "probability of improvement [95 %]")
    return markdown_table(header, lines) + "\n"


def _successes(results: Sequence[dict[str, Any]]) -> dict[str, Tasks]:
    """Successes of all finished rows that name their training, by its name."""
    trainings: dict[str, Tasks] = {}
    for row in results:
        if row.get("training") and not row.get("pending"):
            key = (task_title(row), row["objects"])
            seeds = trainings.setdefault(row["training"], {}).setdefault(key, [])
            seeds.append(scores_of_rate(row["success"], row["episodes"]))
    return trainings


def _stacked(tasks: Tasks) -> list[Scores]:
    """Scores (S, E) of each task; seeds with more episodes are cut to those that all have."""
    stacked = []
    for seeds in tasks.values():
        rates, episodes = [scores.mean() for scores in seeds], min(x.shape[1] for x in seeds)
        stacked.append(np.concatenate([scores_of_rate(rate, episodes) for rate in rates]))
    return stacked

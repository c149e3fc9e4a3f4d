"""Which runs are the same experiment with different seeds."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jostle.runs.config import flatten
from jostle.runs.run_dir import RunDir

_NEUTRAL = {"seed", "threads", "device", "wandb", "save_every"}
"""Fields of a config in which runs of the same experiment may differ."""


def group_by_experiment(runs: Sequence[RunDir]) -> dict[str, list[RunDir]]:
    """Groups of runs that differ in their seed alone, by name and in order of appearance.

    A second run with the same seed starts a group of its own: it is no further sample.
    """
    groups: dict[tuple[str, int], list[RunDir]] = {}
    repeats: Counter[tuple[str, Any]] = Counter()
    for run in runs:
        identity, seed = _identity(run)
        groups.setdefault((identity, repeats[identity, seed]), []).append(run)
        repeats[identity, seed] += 1
    return dict(zip(_group_names(list(groups.values())), groups.values(), strict=True))


def unique_names(paths: Sequence[Path]) -> list[str]:
    """Names of directories, with as many parents as are needed to make them different."""
    parts = [path.resolve().parts for path in paths]
    names: list[str] = []
    for depth in range(1, max(map(len, parts)) + 1):
        names = ["/".join(part[-depth:]) for part in parts]
        if len(set(names)) == len(names):
            break
    return names


def _identity(run: RunDir) -> tuple[str, Any]:
    """Everything that defines a run apart from its seed, as text; and the seed."""
    if not run.experiment.is_file():
        return str(run.path.resolve()), 0
    config = run.read_experiment()
    kept = {
        name: value
        for name, value in flatten(config).items()
        if name.rpartition(".")[2] not in _NEUTRAL
    }
    parts = ("recipe", "method", "kind", "preset")
    start = [[stage.get(part) for part in parts] for stage in run.read_history()]
    return json.dumps([kept, start], sort_keys=True), config.get("seed")


def _group_names(groups: Sequence[list[RunDir]]) -> list[str]:
    """Name of the experiment for several seeds, of the directory for one run."""
    folders = unique_names([group[0].path for group in groups])
    names = [
        str(group[0].read_experiment().get("name", folder)) if len(group) > 1 else folder
        for group, folder in zip(groups, folders, strict=True)
    ]
    return names if len(set(names)) == len(names) else folders

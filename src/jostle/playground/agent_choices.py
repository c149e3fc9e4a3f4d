"""The agents that can be chosen, each with the reason why it does not fit, if it does not."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jostle.core.errors import JostleError
from jostle.core.extras import missing_package, require_packages
from jostle.oracles.catalog import SCRIPTED
from jostle.playground.setup import YOU
from jostle.runs.run_dir import RunDir
from jostle.tasks.catalog import TASKS
from jostle.zoo.registry import agents, read_meta

_LABELS = {YOU: "you (keyboard)", "oracle": "oracle (scripted expert)", "random": "random"}
_NO_IDS = ("paper", "flat")
"""State features with as many object ids as objects in training, or none."""


@dataclass(frozen=True)
class AgentChoice:
    """An agent in the list of the page."""

    name: str
    """How it is loaded."""
    label: str
    """How it is shown."""
    group: str
    """Scripted, zoo or runs."""
    reason: str = ""
    """Why it does not fit; empty if it does."""


def agent_choices(task: str, objects: int, runs: Path | None) -> list[AgentChoice]:
    """All agents: scripted ones, those of the zoo, and the runs in a folder."""
    choices = [AgentChoice(name, _LABELS.get(name, name), "scripted") for name in (YOU, *SCRIPTED)]
    files = [(name, "zoo", entry.weights) for name, entry in agents().items()]
    files += [(str(run), "own runs", run) for run in find_runs(runs)]
    missing = _missing_package()
    for name, group, path in files:
        label = name if group == "zoo" else Path(name).name
        reason = missing or misfit(path, task, objects)
        choices.append(AgentChoice(name, label, group, reason))
    return choices


def misfit(path: Path, task: str, objects: int) -> str:
    """Why the agent in a file or run does not fit a task; empty if it does, as far as known."""
    try:
        file = RunDir(path).weights() if path.is_dir() else path
    except JostleError as error:
        return str(error)
    if not file.is_file():
        return "its file is gone"
    experiment: dict[str, Any] = read_meta(file).get("experiment", {})
    if not experiment or experiment.get("task") not in TASKS:
        return "its file does not say what it was trained for"
    trained, wanted = TASKS[experiment["task"]], TASKS[task]
    if trained.goal_type != wanted.goal_type:
        what = {"yaw": "to turn T-blocks", "position": "to push objects to places"}
        return f"it was trained {what[trained.goal_type]}"
    given = experiment.get("objects") or trained.objects
    most = max(given) if isinstance(given, list) else given
    fixed = experiment.get("net", {}).get("arch") == "mlp"
    fixed |= experiment.get("state_features", "full") in _NO_IDS and not experiment.get("encoder")
    if fixed and most != objects:
        return f"it was trained with {most} objects and takes no other number"
    return ""


def find_runs(folder: Path | None) -> list[Path]:
    """Folders of runs of agents within a folder."""
    if folder is None or not folder.is_dir():
        return []
    configs = sorted((*folder.glob("*/experiment.json"), *folder.glob("*/*/experiment.json")))
    runs = [path.parent for path in configs]
    return [run for run in runs if (run / "checkpoints").is_dir()]


def _missing_package() -> str:
    try:
        require_packages("A trained agent", "torch", "safetensors")
    except ImportError:
        return str(missing_package("it", "torch"))
    return ""

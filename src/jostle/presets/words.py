"""Words of `jostle train` to an experiment: a task, the axes, and fields set by hand."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from jostle.core.checks import check_minutes
from jostle.core.errors import BadValueError, UnknownNameError, require
from jostle.presets.axes import Axes
from jostle.presets.experiments import make_experiment
from jostle.training.experiment import Carry, Experiment

_OLD_PRESETS = {
    "": "td3", "paper": "td3 --size paper", "distill": "dagger", "finetune": "td3 --finetune",
    "privileged": "td3-privileged", "mlp": "td3 --arch mlp", "smorl": "td3 --arch smorl",
}  # fmt: skip
"""How the last part of an old preset's name is said now."""


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """Every field of the experiment can be set by a flag."""

    experiment: tyro.conf.OmitArgPrefixes[Experiment]
    """What to train."""
    out: Path = Path("runs")
    """Folder for runs."""
    start: Annotated[str | None, tyro.conf.arg(name="from")] = None
    """Start from the weights of a run, a file or a name of the zoo; replay starts empty."""
    carry: Carry = "actor"
    """What to take over from --from: the actor, or all: also critics and target networks."""
    critics_from: str | None = None
    """With --method td3-privileged: start from the critics of an agent of true state, a name of the
    zoo, a run or a file."""
    minutes: float | None = None
    """Stop after so many minutes and save; resume later with --resume."""

    def __post_init__(self) -> None:
        """Refuse time limits that leave no time, and critics from two sources."""
        check_minutes(self.minutes)
        require(
            self.critics_from is None or self.carry == "actor",
            "--carry all takes the critics of --from, --critics-from those of another agent: give "
            "one of them.",
        )


def parse_words(words: list[str]) -> TrainConfig:
    """Read the words behind `jostle train`; raises SystemExit on unknown flags, as tyro does."""
    task, prog = words[0], f"jostle train {words[0]}"
    flags = [word for word in words[1:] if word not in ("-h", "--help")]
    axes, rest = tyro.cli(Axes, prog=prog, args=flags, return_unknown_args=True)
    try:
        experiment = make_experiment(task, axes)
    except UnknownNameError as error:
        raise _renamed_preset(task) or error from None
    if len(flags) < len(words) - 1:
        rest = ["--help"]
    default = TrainConfig(experiment=experiment)
    config = tyro.cli(TrainConfig, prog=prog, default=default, args=rest)
    if axes.finetune and config.start is None:
        raise BadValueError("--finetune improves trained weights: name them with --from.")
    return config


def _renamed_preset(name: str) -> UnknownNameError | None:
    """Say how a preset of the old version is called now."""
    match = re.fullmatch(r"(.+?)-(state|pixels)(?:-([\w-]+))?", name)
    if match is None:
        return None
    task, obs, way = match.groups(default="")
    words = f"jostle train {task} --obs {obs} --method {_OLD_PRESETS.get(way, 'METHOD')}"
    return UnknownNameError(f"Presets are flags now: instead of '{name}' say '{words}'.")

"""Commands that repeat a training, for model cards."""

from dataclasses import replace
from typing import Literal

from jostle.core.errors import JostleError
from jostle.encoders.catalog import ENCODERS, EncoderConfig
from jostle.presets.axes import Axes
from jostle.presets.experiments import make_experiment
from jostle.pretraining.config import Pretraining, preset
from jostle.pretraining.config import differences as pretraining_differences
from jostle.training.experiment import Experiment, differences

_IGNORED = ("name", "seed", "training.threads", "training.device", "collection.ray")
_IGNORED_OF_ENCODERS = ("name", "data", "scenes", "seed", "threads", "device")
"""Fields that are not listed as changed."""


def train_command(experiment: Experiment) -> str:
    """The `jostle train` command of an experiment, and the fields that were changed besides."""
    guess = _axes(experiment)
    if guess is None:
        return f"experiment `{experiment.name}`, seed {experiment.seed}"
    task, axes = guess
    words = [task, *_flags(axes), "--seed", str(experiment.seed)]
    texts = differences(make_experiment(task, axes), experiment)
    changed = [text for text in texts if not text.startswith(_IGNORED)]
    return _describe(f"jostle train {' '.join(words)}", changed)


def pretrain_command(config: Pretraining[EncoderConfig]) -> str:
    """The `jostle pretrain` command of a pretraining, and the fields that were changed besides."""
    command = f"jostle pretrain {config.kind} --preset {config.preset} --seed {config.seed}"
    if config.preset not in ENCODERS[config.kind].presets:
        return f"`{command}`"
    base = preset(config.kind, config.preset)
    return _describe(command, pretraining_differences(base, config, _IGNORED_OF_ENCODERS))


def _axes(experiment: Experiment) -> tuple[str, Axes] | None:
    """Task and axes of an experiment by its fields; None if its name does not start with a task."""
    obs: Literal["state", "pixels", "objects"] = "pixels" if experiment.encoder else "state"
    obs = "objects" if experiment.entities == "objects" else obs
    task, _, suffix = experiment.name.partition(f"-{obs}-")
    parts = suffix.split("-")
    try:
        axes = Axes(
            obs=obs,
            method=experiment.training.method,
            size="paper" if parts[-1] == "paper" else "fast",
            arch=experiment.net.arch,
            views=1 if len(experiment.cameras) == 1 else 2,
            colors=experiment.colors,
            finetune="finetune" in parts,
        )
        if axes.method.startswith("td3") and axes.per_entity != (experiment.net.values != "pooled"):
            axes = replace(axes, values=experiment.net.values)
        for encoder in dict.fromkeys(("", experiment.encoder)):  # the default of the task first
            axes = replace(axes, encoder=encoder)
            if make_experiment(task, axes).encoder == experiment.encoder:
                return task, axes
    except JostleError:  # the name does not start with a task
        pass
    return None


def _flags(axes: Axes) -> list[str]:
    """Flags of the axes that are not at their defaults."""
    flags = []
    for name, field in Axes.__dataclass_fields__.items():
        value = getattr(axes, name)
        if value != field.default:
            flags += [f"--{name}"] if value is True else [f"--{name}", str(value)]
    return flags


def _describe(command: str, changed: list[str]) -> str:
    return f"`{command}`" + (f"; changed fields: {'; '.join(changed)}" if changed else "")

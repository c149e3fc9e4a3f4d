"""Commands on model cards, and old presets as new commands."""

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch")

from jostle.presets.axes import Axes
from jostle.presets.experiments import make_experiment
from jostle.presets.words import parse_words
from jostle.pretraining.config import preset
from jostle.zoo.commands import pretrain_command, train_command

AXES = [
    Axes(),
    Axes(method="td3", arch="smorl"),
    Axes(obs="pixels", colors="random", views=1),
    Axes(obs="pixels", encoder="slots-6cubes"),
    Axes(obs="objects", colors="random"),
    Axes(obs="pixels", method="td3-privileged", finetune=True),
    Axes(method="td3", size="paper"),
]


@pytest.mark.parametrize("axes", AXES, ids=lambda axes: axes.suffix())
def test_the_command_of_an_experiment_makes_it_again(axes):
    experiment = make_experiment("three-cubes", axes)
    command = train_command(experiment)
    assert command.startswith("`jostle train three-cubes ")
    words = command.strip("`").split()[2:]
    if axes.finetune:
        words += ["--from", "three-cubes-state"]
    assert parse_words(words).experiment == experiment


def test_changed_fields_are_listed():
    experiment = make_experiment("three-cubes", Axes())
    longer = replace(experiment, seed=3, training=replace(experiment.training, env_steps=7))
    command = train_command(longer)
    assert command.startswith("`jostle train three-cubes --method td3 --seed 3`; changed fields: ")
    assert "training.env_steps" in command
    assert "seed:" not in command
    assert "my-run" in train_command(replace(experiment, name="my-run"))


def test_the_command_of_a_pretraining_lists_changed_fields():
    config = preset("slots", "lite")
    command = "`jostle pretrain slots --preset lite --seed 0`"
    assert pretrain_command(replace(config, data="frames")) == command
    changed = pretrain_command(replace(config, steps=7))
    assert changed.startswith(f"{command}; changed fields: steps: ")


def load_script(name: str):
    """Import a script, and those beside it."""
    folder = Path(__file__).parents[2] / "scripts"
    spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(folder))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(folder))
    return module


@pytest.mark.parametrize(
    "old",
    [
        "one-cube-state", "one-cube-state-paper", "two-cubes-state-distill", "push-t-state-mlp",
        "one-cube-state-paper-smorl", "three-cubes-pixels-distill-colors",
        "one-cube-pixels-privileged-front", "one-cube-pixels-distill-mlp",
        "two-cubes-pixels-distill-slots", "mixed-goals-pixels-finetune-colors",
    ],
)  # fmt: skip
def test_old_presets_have_new_names_and_commands(old):
    name, words = load_script("old_presets").new_preset(old)
    start = ["--from", "one-cube-state"] if "finetune" in old else []
    assert parse_words([*words.split(), *start]).experiment.name == name

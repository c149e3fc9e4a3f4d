"""Learning without a teacher: critics with a value per object, and a curriculum of stages."""

from dataclasses import replace
from typing import Literal

from jostle.presets.axes import Axes
from jostle.tasks.catalog import task_with
from jostle.tasks.task import Task
from jostle.training.experiment import CurriculumConfig, Experiment

_HORIZONS = {1: 30, 2: 50, 3: 70}
"""Steps of a training episode by number of cubes; a hundred for more."""
_ENV_STEPS = {1: 28_800, 2: 33_600, 3: 44_800}
"""Environment steps by number of objects; the last also holds for more."""
_SUCCESS = 0.8
"""Success at which a stage of the curriculum ends early: the last stage learns to be precise."""
_PIXEL_STEPS = 1.5
"""How many times as long a training from images is."""


def from_scratch(axes: Axes, task: Task, experiment: Experiment) -> Experiment:
    """Settings for TD3 that starts from nothing."""
    pixels, eit = axes.pixels, experiment.net.arch == "eit"
    if eit:
        values: Literal["pooled", "per-entity"] = "per-entity" if axes.per_entity else "pooled"
        net = replace(experiment.net, critic_arch="same", values=values)
        experiment = replace(experiment, net=net)
    experiment = replace(
        experiment,
        td3=replace(
            experiment.td3, potential_baseline=True, self_imitation_weight=2.0,
            batch_size=192 if pixels else 256, lr=3e-4 if pixels else experiment.td3.lr,
        ),
        explore=replace(
            experiment.explore, reach_avoid_edge=True,
            reach_from="particles" if pixels and axes.method == "td3" else "truth",
        ),
        hindsight=replace(
            experiment.hindsight, skip_fallen_goals=task.goal_type == "position",
            goal_render_every=5 if pixels else 0,
        ),
        training=replace(
            experiment.training, env_steps=_env_steps(experiment.max_objects, pixels),
            lr_decay_fraction=0.4, eval_every=5,
        ),
    )  # fmt: skip
    if not eit or not isinstance(experiment.objects, int | None):
        return experiment
    return _with_curriculum(task, experiment, pixels)


def _with_curriculum(task: Task, experiment: Experiment, pixels: bool) -> Experiment:
    """Fewer objects first, where the task has them; later stages explore less."""
    objects = experiment.max_objects
    horizon = _HORIZONS.get(objects, 100) if task.goal_type == "position" else None
    training = replace(experiment.training, horizon=horizon, shuffle_object_ids=True)
    numbers = tuple(number for number in range(1, min(objects, 4)) if task_with(task.name, number))
    if not numbers:
        return replace(experiment, training=training)
    first, later = (
        experiment.explore,
        replace(experiment.explore, epsilon=0.1, sigma=0.15, reach_prob=0.05),
    )
    explore = [first if number == numbers[0] else later for number in numbers]
    return replace(
        experiment,
        explore=later,
        training=replace(training, curriculum=True, random_episodes=0),
        curriculum=CurriculumConfig(
            stage_objects=numbers,
            stage_env_steps=tuple(_env_steps(number, pixels) for number in numbers),
            stage_success=(_SUCCESS,) * len(numbers),
            stage_horizons=tuple(
                _HORIZONS[number] if horizon else task.horizon(number) for number in numbers
            ),
            stage_epsilon=tuple(config.epsilon for config in explore),
            stage_sigma=tuple(config.sigma for config in explore),
            stage_reach_prob=tuple(config.reach_prob for config in explore),
            random_episodes_first=experiment.training.random_episodes,
        ),
    )


def _env_steps(objects: int, pixels: bool) -> int:
    steps = _ENV_STEPS[min(objects, max(_ENV_STEPS))]
    return int(steps * _PIXEL_STEPS) if pixels else steps

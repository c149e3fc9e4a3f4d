"""Learning from recorded episodes: behavior cloning, and IQL with a value per object."""

from dataclasses import replace
from typing import Literal

from jostle.presets.axes import Axes
from jostle.replay.config import HindsightConfig
from jostle.tasks.task import Task
from jostle.training.experiment import Experiment


def offline(axes: Axes, task: Task, experiment: Experiment) -> Experiment:
    """Settings of `bc`, `iql` and `iql-privileged`, on top of those for two cores."""
    on_table = task.goal_type == "position"
    experiment = replace(
        experiment,
        td3=replace(experiment.td3, potential_baseline=axes.method != "bc", batch_size=256),
        hindsight=HindsightConfig(her_ratio=0.5, skip_fallen_goals=on_table),
        training=replace(experiment.training, eval_every=20, save_every=10, lr_decay_fraction=0.4),
    )
    return experiment if axes.method == "bc" else _iql(axes, experiment, on_table)


def _iql(axes: Axes, experiment: Experiment, on_table: bool) -> Experiment:
    """Critics of sets; from true state, goals are mixed object by object.

    Of the objects with hindsight goals some stay where they are, and some get a position of
    another episode; the rest of the samples keep the episode's own goal.
    """
    values: Literal["pooled", "per-entity"] = "per-entity" if axes.per_entity else "pooled"
    experiment = replace(experiment, net=replace(experiment.net, critic_arch="same", values=values))
    hindsight = experiment.hindsight
    if on_table and not experiment.encoder:
        hindsight = replace(
            hindsight, strategy="per-object", other_episode_fraction=0.2, stay_fraction=0.1
        )
    return replace(
        experiment,
        td3=replace(experiment.td3, policy_delay=1),
        iql=replace(experiment.iql, bc_alpha=3.0, bc_by_advantage=True),
        hindsight=hindsight,
    )

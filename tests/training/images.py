"""Trainings from images alone that take seconds, and environments that hide the truth."""

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from experiments import tiny
from jostle.core.object_classifier import save_classifier
from jostle.encoders.saving import load_encoder
from jostle.envs.vector import TabletopVectorEnv
from jostle.presets.axes import Axes
from jostle.training.experiment import Experiment
from jostle.training.fit_objects import FitObjectsConfig, fit_object_classifier

ENCODER = Path(__file__).parents[2] / "src/jostle/zoo/weights/dlp-6cubes.safetensors"
_TRUE = ("observation", "achieved_goal", "desired_goal")


def by_images(
    classifier: Path | None,
    reward: str = "table",
    task: str = "one-cube",
    values: Literal["pooled", "per-entity"] = "pooled",
    **training: Any,
) -> Experiment:
    """A training of four iterations of two episodes of three steps."""
    axes = Axes(obs="pixels", method="td3", encoder=str(ENCODER), reward=reward, values=values)
    settings = {
        "num_envs": 2, "horizon": 3, "env_steps": 2 * 3 * 4, "replay_size": 60, "utd_ratio": 0.4,
        "eval_every": 4, "eval_episodes": 2, "random_episodes": 2,
    }  # fmt: skip
    experiment = tiny(task, axes, **{**settings, **training})
    return replace(experiment, object_classifier="" if classifier is None else str(classifier))


def hide_truth(monkeypatch: Any, keep_gripper: bool) -> None:
    """Let environments show images only: everything true is NaN, in rewards and infos, too.

    The position of the gripper is known from the robot's joints; `keep_gripper` leaves it.
    """
    reset, step = TabletopVectorEnv.reset, TabletopVectorEnv.step

    def blind(observation: Any) -> Any:
        hidden = {key: np.full_like(observation[key], np.nan) for key in _TRUE}
        if keep_gripper:
            hidden["observation"][:, 0] = observation["observation"][:, 0]
        return {**observation, **hidden}

    def blind_infos(infos: Any) -> Any:
        floats = {key for key, x in infos.items() if np.asarray(x).dtype.kind == "f"}
        return {key: np.full_like(x, np.nan) if key in floats else x for key, x in infos.items()}

    def blind_reset(self: Any, **options: Any) -> Any:
        observation, infos = reset(self, **options)
        return blind(observation), blind_infos(infos)

    def blind_step(self: Any, actions: Any) -> Any:
        observation, rewards, terminated, truncated, infos = step(self, actions)
        hidden = np.full_like(rewards, np.nan)
        return blind(observation), hidden, terminated, truncated, blind_infos(infos)

    monkeypatch.setattr(TabletopVectorEnv, "reset", blind_reset)
    monkeypatch.setattr(TabletopVectorEnv, "step", blind_step)


def quick_classifier(folder: Path) -> Path:
    """File of a classifier that is fitted to few random actions."""
    config = FitObjectsConfig(episodes=20, steps=8)
    fitted = fit_object_classifier(load_encoder(ENCODER)[0], ("front", "side"), config)
    save_classifier(folder / "objects.safetensors", fitted, {})
    return folder / "objects.safetensors"


def with_stages(experiment: Experiment) -> Experiment:
    """One cube first, in a stage that ends early when it is solved."""
    stages = replace(
        experiment.curriculum, stage_objects=(1,), stage_env_steps=(18,), stage_success=(0.9,),
        stage_horizons=(3,), stage_epsilon=(0.3,), stage_sigma=(0.2,), stage_reach_prob=(0.5,),
        random_episodes_first=2,
    )  # fmt: skip
    training = replace(experiment.training, curriculum=True, eval_every=2, save_every=1)
    return replace(experiment, curriculum=stages, training=training)

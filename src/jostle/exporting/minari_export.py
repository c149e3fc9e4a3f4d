"""Recordings as a Minari dataset, from which Minari recovers the environment."""

import os
import re
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from jostle.core.errors import require
from jostle.core.files import new_folder
from jostle.exporting.options import MinariOptions
from jostle.recordings.reader import RecordedEpisode, RecordedEpisodes
from jostle.tasks.catalog import dashed, task_id

_ROOT = "MINARI_DATASETS_PATH"
"""Environment variable by which Minari finds its datasets."""
_ID = r"(?:[-\w]+/)*[-\w]+-v\d+"
"""Names of datasets."""


def dataset_id(recorded: RecordedEpisodes, options: MinariOptions) -> str:
    """Name of the dataset: the chosen one, or one after the task and the agents."""
    agents = re.sub(r"[^a-zA-Z0-9]+", "-", "-".join(recorded.agents)).strip("-")
    name = options.id or f"jostle/{dashed(recorded.task)}/{agents}-v0"
    require(
        re.fullmatch(_ID, name) is not None,
        f"'{name}' is no name of a Minari dataset: it is like jostle/three-cubes/oracle-v0.",
    )
    return name


def export_minari(recorded: RecordedEpisodes, root: Path, options: MinariOptions) -> Path:
    """Write a dataset into the folder `root` of Minari datasets; returns the dataset's folder."""
    import minari

    name = dataset_id(recorded, options)
    env = gym.make(task_id(recorded.task), **recorded.env_kwargs)
    try:
        with new_folder(root / name) as part, _minari_root(part / "root"), _no_advice():
            minari.create_dataset_from_buffers(
                name,
                (_buffer(episode) for episode in recorded),
                env=env,
                observation_space=_observation_space(env, recorded),
                algorithm_name=", ".join(recorded.agents),
                description=f"{len(recorded)} episodes of {recorded.task}, by jostle record.",
                jpeg_encoding=options.jpeg,
            )
            (part / "root" / name / "data").replace(part / "data")
            shutil.rmtree(part / "root")
    finally:
        env.close()
    return root / name


def _observation_space(env: gym.Env[Any, Any], recorded: RecordedEpisodes) -> gym.spaces.Dict:
    """What is stored of every step: goal images are not."""
    space = env.observation_space
    assert isinstance(space, gym.spaces.Dict)
    keys = ("observation", "achieved_goal", "desired_goal", *recorded.cameras)
    return gym.spaces.Dict({key: space[key] for key in keys})


def _buffer(episode: RecordedEpisode) -> Any:
    """One episode in Minari's terms; goal images are in its infos, once."""
    from minari.data_collector import EpisodeBuffer

    steps = len(episode.action)
    goals = np.repeat(episode.desired_goal[None], steps + 1, axis=0)  # (T + 1, N, w)
    truncated = np.arange(steps) == steps - 1
    goal_images = {f"goal_{name}": image[None] for name, image in episode.goal_frames.items()}
    return EpisodeBuffer(
        seed=episode.seed,
        observations={
            "observation": episode.observation,
            "achieved_goal": episode.achieved_goal,
            "desired_goal": goals,
            **episode.frames,
        },
        actions=episode.action,
        rewards=episode.reward,
        terminations=np.zeros(steps, bool),
        truncations=truncated,
        infos={"is_success": episode.success, **goal_images},
    )


@contextmanager
def _minari_root(folder: Path) -> Iterator[None]:
    """Let Minari write into a folder: it knows no other way to choose one."""
    before = os.environ.get(_ROOT)
    os.environ[_ROOT] = str(folder.absolute())
    try:
        yield
    finally:
        if before is None:
            del os.environ[_ROOT]
        else:
            os.environ[_ROOT] = before


@contextmanager
def _no_advice() -> Iterator[None]:
    """Silence Minari's advice to name authors and permalinks."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield

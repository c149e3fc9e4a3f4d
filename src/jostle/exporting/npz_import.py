"""Recordings from npz files in the layouts of OGBench and of HECRL (see `npz_export`).

A file must come from one of our tasks: its actions and its state vectors must fit the spaces of
the task's environment.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from jostle.core.errors import BadValueError, require
from jostle.core.files import new_folder
from jostle.envs.vector import TabletopVectorEnv
from jostle.exporting.npz_files import NpzReader
from jostle.exporting.options import ImportOptions
from jostle.recordings.manifest import EPISODE
from jostle.recordings.writer import RecordingFolder
from jostle.rollout.episode_recorder import RecordedAgent, RecordingSpec, check_space
from jostle.tasks.catalog import TASKS, task_id

_SHARD = 256
"""Episodes per shard."""
_PER_EPISODE = ("desired_goals", "goal_images", "seeds")
"""Arrays that our own exports add, with a row per episode."""
_SLACK = 1e-3
"""By how much values may exceed the limits of their space: other programs round otherwise."""


@dataclass(frozen=True)
class _Layout:
    """What a file holds."""

    states: str
    """Name of the state vectors."""
    frames: str | None
    """Name of the images, if there are any."""
    episodes: int
    steps: int


def import_npz(path: Path, out: Path, options: ImportOptions) -> int:
    """Write the episodes of a file as a recording, at once or not at all; returns their number."""
    file = NpzReader(path)
    try:
        layout = _layout(file)
        spec = _spec(file, layout, options)
        env = spec.make_env(threads=1)
        try:
            _check_spaces(file, layout, env)
            with new_folder(out) as part:
                _write(file, layout, spec, env, part)
        finally:
            env.close()
    except ValueError as error:
        if isinstance(error, BadValueError):
            raise
        raise BadValueError(f"{path} is damaged: {error}.") from error
    finally:
        file.close()
    return layout.episodes


def _layout(file: NpzReader) -> _Layout:
    """Recognize the layout, and where episodes end."""
    for name in ("observations", "actions", "terminals"):
        known = ", ".join(file.arrays)
        require(
            name in file,
            f"{file.path} has no '{name}', which files of OGBench and HECRL have; it has: {known}.",
        )
    images = len(file.arrays["observations"].shape) > 2
    require(
        not images or "state_observations" in file,
        f"{file.path} has images and no 'state_observations': recordings need the true state.",
    )
    ends = np.flatnonzero(file.all("terminals"))
    total = file.arrays["terminals"].shape[0]
    require(
        len(ends) > 0 and ends[-1] == total - 1,
        f"{file.path} does not end with an episode: the last of 'terminals' is not 1.",
    )
    lengths = np.diff(ends, prepend=-1)
    require(
        lengths.min() == lengths.max(),
        f"{file.path} has episodes of {lengths.min() - 1} to {lengths.max() - 1} steps; those of a "
        "recording all have the same length.",
    )
    require(lengths[0] > 1, f"{file.path} has episodes without any step.")
    states, frames = ("state_observations", "observations") if images else ("observations", None)
    for name in (states, "actions"):
        shape = file.arrays[name].shape
        require(
            len(shape) == 2 and shape[0] == total,
            f"'{name}' of {file.path} has the shape {shape} instead of ({total}, width).",
        )
    for name in _PER_EPISODE:
        rows = file.arrays[name].shape[0] if name in file else len(ends)
        require(
            rows == len(ends),
            f"'{name}' of {file.path} has {rows} rows for {len(ends)} episodes: one each is "
            "expected.",
        )
    return _Layout(states, frames, len(ends), int(lengths[0]) - 1)


def _spec(file: NpzReader, layout: _Layout, options: ImportOptions) -> RecordingSpec:
    """The recording that a file becomes."""
    kwargs: dict[str, Any] = {} if options.objects is None else {"objects": options.objects}
    if layout.frames is not None:
        shape = file.arrays[layout.frames].shape  # (M, V, H, W, 3)
        views = len(options.cameras)
        require(
            len(shape) == 5 and shape[1] == views and shape[2] == shape[3] and shape[4] == 3,
            f"The images of {file.path} have the shape {shape[1:]} instead of ({views}, side, "
            f"side, 3) for the cameras {', '.join(options.cameras)}. Name its --cameras.",
        )
        kwargs |= {"obs_type": "both", "cameras": options.cameras, "image_size": shape[2]}
    return RecordingSpec(
        task=TASKS[options.task].name,
        env_kwargs=kwargs,
        agents=(RecordedAgent(name=f"import of {file.path.name}"),),
        frames=layout.frames is not None,
        steps=layout.steps,
        seed=0,
        num_envs=1,
    )


def _check_spaces(file: NpzReader, layout: _Layout, env: TabletopVectorEnv) -> None:
    """Refuse a file of another environment."""
    name, space = task_id(env.episode_sampler.task.name), env.single_observation_space
    assert isinstance(space, gym.spaces.Dict)
    boxes = {"actions": env.single_action_space, layout.states: space["observation"]}
    for key, box in boxes.items():
        assert isinstance(box, gym.spaces.Box)
        width, expected = file.arrays[key].shape[1], int(np.prod(box.shape))
        require(
            width == expected,
            f"{file.path} is of another environment: its '{key}' have {width} numbers, and those "
            f"of {name} have {expected} {tuple(box.shape)}.",
        )
        values = file.all(key).reshape(-1, *box.shape)
        inside = (values >= box.low - _SLACK) & (values <= box.high + _SLACK)  # NaN is not
        require(
            bool(inside.all()),
            f"{file.path} is of another environment: its '{key}' exceed the limits of {name}.",
        )


def _write(
    file: NpzReader, layout: _Layout, spec: RecordingSpec, env: TabletopVectorEnv, folder: Path
) -> None:
    """Write all episodes, some at a time."""
    manifest = spec.manifest(env)
    check_space(folder, layout.episodes * manifest.episode_bytes)
    for array in file.arrays.values():
        array.rewind()
    with RecordingFolder(folder, manifest) as out:
        for first in range(0, layout.episodes, _SHARD):
            count = min(_SHARD, layout.episodes - first)
            with out.open_shard(count) as files:
                for number in range(first, first + count):
                    for stream, values in _episode(file, layout, env, number).items():
                        files.append(stream, values[None])


def _episode(
    file: NpzReader, layout: _Layout, env: TabletopVectorEnv, number: int
) -> dict[str, NDArray[Any]]:
    """The streams of the next episode."""
    rows, metric, reader = layout.steps + 1, env.goal_metric, env.state_reader
    vectors = file.arrays[layout.states].read(rows).astype(np.float32)
    observation = vectors.reshape(rows, 1 + reader.objects, -1)
    actions = file.arrays["actions"].read(rows).astype(np.float32)[:-1].clip(-1, 1)
    achieved = reader.achieved(observation)

    # The goal of the file, or where the episode ended
    desired = achieved[-1]
    if "desired_goals" in file:
        desired = file.arrays["desired_goals"].read(1)[0].astype(np.float32).reshape(desired.shape)
    reward = np.asarray(env.compute_reward(achieved[1:], desired, {}), np.float32)

    entry = np.zeros((), EPISODE)
    entry["number"] = number
    entry["seed"] = int(file.arrays["seeds"].read(1)[0]) if "seeds" in file else -1
    for name, value in metric.metrics(achieved[-1], desired).items():
        entry[name] = value
    entry["average_return"] = reward.mean()
    streams = {
        "observation": observation, "achieved_goal": achieved, "desired_goal": desired,
        "action": actions, "reward": reward, "success": metric.success(achieved, desired),
        "episodes": entry,
    }  # fmt: skip
    if layout.frames is not None:
        frames = file.arrays[layout.frames].read(rows)
        goal = file.arrays["goal_images"].read(1)[0] if "goal_images" in file else frames[-1]
        streams |= {"frames": frames, "goal_frames": goal}
    return streams

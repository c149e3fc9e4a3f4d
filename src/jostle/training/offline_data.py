"""A recording as replay episodes: its states through the observers that an online agent has."""

from collections.abc import Iterator

import numpy as np

from jostle.core.errors import BadValueError, require
from jostle.core.protocols import Observation
from jostle.envs.vector import TabletopVectorEnv
from jostle.recordings.reader import RecordedEpisodes
from jostle.replay.episodes import Episodes
from jostle.rollout.collector import Collector, TrajectoryRecorder
from jostle.training.experiment import Experiment


def open_recording(experiment: Experiment, env: TabletopVectorEnv) -> RecordedEpisodes:
    """Open the experiment's recording; one of other spaces than the task's is refused."""
    recorded = RecordedEpisodes(experiment.offline.data)
    space = env.single_observation_space
    for key in ("observation", "desired_goal"):
        name = "goal" if key == "desired_goal" else key
        own = env.state_reader.goal_columns if name == "goal" else env.state_reader.columns
        given = tuple(recorded.manifest.columns[name])
        rows = recorded.manifest.streams[key].shape[-2]
        needed = (space[key].shape or (0,))[0]  # type: ignore[index]
        if given != own or rows != needed:
            raise BadValueError(
                f"The recording in {recorded.folder} is of {recorded.task}, whose {key} has {rows} "
                f"rows of {', '.join(given)}; {experiment.task} has {needed} rows of "
                f"{', '.join(own)} here. Record {experiment.task}, or train on {recorded.task}."
            )
    if experiment.encoder:
        _check_frames(recorded, env, experiment)
    return recorded


def _check_frames(
    recorded: RecordedEpisodes, env: TabletopVectorEnv, experiment: Experiment
) -> None:
    """Refuse a recording without the images that the encoder needs."""
    missing = [camera for camera in experiment.cameras if camera not in recorded.cameras]
    require(
        not missing,
        f"The recording in {recorded.folder} has images of "
        f"{', '.join(recorded.cameras) or 'no camera'}; this agent needs "
        f"{', '.join(experiment.cameras)}. Record with --obs pixels.",
    )
    size = recorded.manifest.streams["frames"].shape[2:4]
    require(
        size == env.options.size,
        f"The images in {recorded.folder} are {size[0]} x {size[1]} pixels, but the encoder needs "
        f"{env.options.size[0]} x {env.options.size[1]}. Record with --image-size.",
    )


def read_episodes(
    recorded: RecordedEpisodes, collector: Collector, limit: int | None = None
) -> Iterator[Episodes]:
    """Replay episodes of a recording, as many at a time as the collector has environments.

    Images are encoded here, once. Episodes in which physics diverged are left out.

    Args:
        recorded: The recording.
        collector: Whose observers look at the states.
        limit: Read the first episodes only; all by default.
    """
    usable = np.flatnonzero(~recorded.table["diverged"])[:limit]
    require(len(usable) > 0, f"The recording in {recorded.folder} has no episode to learn from.")
    num_envs = collector.env.num_envs
    for start in range(0, len(usable), num_envs):
        chosen = usable[start : start + num_envs]
        padded = np.resize(chosen, num_envs)  # observers look at all environments at once
        episodes = _observe(recorded, collector, padded)
        arrays = {name: values[: len(chosen)] for name, values in episodes.arrays().items()}
        yield Episodes.from_arrays(arrays)


def _observe(
    recorded: RecordedEpisodes, collector: Collector, chosen: np.ndarray[tuple[int], np.dtype]
) -> Episodes:
    """Some episodes as the collector's observers see them."""
    # What the environments showed
    names = ("observation", "achieved_goal", "desired_goal", "action")
    state, achieved, desired, actions = (recorded.read(name, chosen) for name in names)
    images = {name: recorded.read(name, chosen) for name in recorded.streams if "frames" in name}

    def shown(step: int) -> Observation:
        observation = {"observation": state[:, step], "desired_goal": desired}
        for view, camera in enumerate(recorded.cameras if images else ()):
            observation[camera] = images["frames"][:, step, view]
            observation[f"goal_{camera}"] = images["goal_frames"][:, view]
        return observation

    # What the observers make of it
    observer, privileged = collector.observer, collector.privileged_observer
    trajectories = []
    for looking in (observer, *((privileged,) if privileged is not None else ())):
        looking.reset(np.arange(len(chosen)))
        recorder = TrajectoryRecorder(looking, shown(0))
        for step in range(1, recorded.steps + 1):
            recorder.add(shown(step))
        trajectories.append(recorder.trajectory())
    return Episodes(
        actor=trajectories[0],
        critic=trajectories[1] if privileged is not None else None,
        achieved=observer.coordinates(achieved),
        desired=observer.coordinates(desired),
        actions=actions,
    )

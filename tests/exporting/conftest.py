"""Small recordings that tests of exports share."""

import pytest

from jostle.oracles.catalog import oracle
from jostle.recordings.reader import RecordedEpisodes
from jostle.rollout.episode_recorder import (
    EpisodeRecorder,
    RecordedAgent,
    RecordingSpec,
    record_episodes,
)

PIXELS = {"obs_type": "both", "cameras": ("front", "side"), "image_size": 32}


def record(folder, task, episodes, steps, env_kwargs):
    agents = (RecordedAgent(name="oracle"),)
    frames = "cameras" in env_kwargs
    spec = RecordingSpec(
        task=task, env_kwargs=env_kwargs, agents=agents, frames=frames, steps=steps, num_envs=2
    )
    env = spec.make_env(threads=1)
    try:
        record_episodes(
            EpisodeRecorder(spec, env, [oracle(env.episode_sampler.task)]), episodes, folder, 4
        )
    finally:
        env.close()
    return RecordedEpisodes(folder)


@pytest.fixture(scope="session")
def states(tmp_path_factory):
    """Six episodes of two cubes."""
    return record(tmp_path_factory.mktemp("recordings") / "states", "TwoCubes", 6, 7, {})


@pytest.fixture(scope="session")
def pixels(tmp_path_factory):
    """Three episodes of a cube with images of two cameras."""
    return record(tmp_path_factory.mktemp("recordings") / "pixels", "OneCube", 3, 5, PIXELS)

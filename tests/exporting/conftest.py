"""Small recordings that tests of exports share."""

import pytest

from jostle.recordings.reader import RecordedEpisodes
from jostle.rollout.episode_recorder import RecordedAgent
from recorded import record

ORACLE = (RecordedAgent(name="oracle"),)
PIXELS = {"obs_type": "both", "cameras": ("front", "side"), "image_size": 32}


@pytest.fixture(scope="session")
def states(tmp_path_factory):
    """Six episodes of two cubes."""
    folder = tmp_path_factory.mktemp("recordings") / "states"
    record(folder, 6, task="TwoCubes", env_kwargs={}, agents=ORACLE, steps=7, epsilon=0.0)
    return RecordedEpisodes(folder)


@pytest.fixture(scope="session")
def pixels(tmp_path_factory):
    """Three episodes of a cube with images of two cameras."""
    folder = tmp_path_factory.mktemp("recordings") / "pixels"
    options = {"task": "OneCube", "env_kwargs": PIXELS, "agents": ORACLE, "frames": True}
    record(folder, 3, steps=5, epsilon=0.0, num_envs=2, **options)
    return RecordedEpisodes(folder)

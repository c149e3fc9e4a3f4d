"""Shared fixtures."""

import numpy as np
import pytest

from jostle.envs.vector import TabletopVectorEnv


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture
def make_env():
    """Build vectorized environments that are closed when the test ends."""
    envs = []

    def make(num_envs: int, task: str = "ThreeCubes", **options) -> TabletopVectorEnv:
        options.setdefault("threads", 2)
        envs.append(TabletopVectorEnv(num_envs, task, **options))
        return envs[-1]

    yield make
    for env in envs:
        env.close()

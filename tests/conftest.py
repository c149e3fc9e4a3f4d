"""Shared small real things."""

import numpy as np
import pytest

from jostle.envs.vector import TabletopVectorEnv


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture
def make_env():
    """Build vector environments that are closed when the test ends."""
    made = []

    def make(copies: int, task: str = "ThreeCubes", **options) -> TabletopVectorEnv:
        options.setdefault("threads", 2)
        made.append(TabletopVectorEnv(copies, task, **options))
        return made[-1]

    yield make
    for env in made:
        env.close()

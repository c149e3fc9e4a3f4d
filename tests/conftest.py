"""Shared fixtures."""

import os
import weakref
from pathlib import Path

import numpy as np
import pytest

from jostle.envs.vector import TabletopVectorEnv

os.environ["JOSTLE_ZOO"] = str(Path(__file__).parent / "no-zoo")  # tests see no models of the user


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture(autouse=True)
def environments_are_closed(monkeypatch):
    """Close what a test leaves open: open renderers of many tests add up to gigabytes."""
    opened: weakref.WeakSet[TabletopVectorEnv] = weakref.WeakSet()
    build = TabletopVectorEnv.__init__

    def record(self, *args, **kwargs):
        build(self, *args, **kwargs)
        opened.add(self)

    monkeypatch.setattr(TabletopVectorEnv, "__init__", record)
    yield
    for env in list(opened):
        env.close()


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

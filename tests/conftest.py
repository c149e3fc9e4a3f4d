"""Shared fixtures."""

import os
import weakref
from pathlib import Path

import numpy as np
import pytest

from jostle.cli.bars import set_quiet
from jostle.core.log_keys import explain_key
from jostle.envs.vector import TabletopVectorEnv
from jostle.runs.run_dir import RunDir

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


@pytest.fixture(autouse=True)
def logged_keys_are_explained(monkeypatch, request):
    """Fail a test in which a training logs a key without an entry in jostle.core.log_keys."""
    unexplained: set[str] = set()
    log = RunDir.log

    def check(self, row):
        unexplained.update(key for key in row if explain_key(key) is None)
        log(self, row)

    monkeypatch.setattr(RunDir, "log", check)
    yield
    if request.node.get_closest_marker("own_log_keys") is None:
        assert not unexplained, f"explain in src/jostle/core/log_keys.py: {sorted(unexplained)}"


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


@pytest.fixture(autouse=True)
def progress_is_shown():
    """Undo --quiet of commands that ran in this process."""
    yield
    set_quiet(False)

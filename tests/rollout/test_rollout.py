"""Episodes are scored only where they run to their end."""

import pytest

pytest.importorskip("torch")

from jostle.core.errors import BadValueError
from jostle.oracles.catalog import oracle
from jostle.rollout.rollout import rollout


def test_environments_that_restart_half_way_are_refused(make_env):
    env = make_env(2, "OneCube", threads=1)  # autoreset is on by default
    policy = oracle(env.episode_sampler.task)
    with pytest.raises(BadValueError, match="autoreset_mode='Disabled'"):
        rollout(env, policy, 3, seed=0)


def test_every_step_is_reported(make_env):
    env = make_env(2, "OneCube", autoreset_mode="Disabled", threads=1)
    steps = []
    last = rollout(env, oracle(env.episode_sampler.task), 3, seed=0, on_step=steps.append)
    assert len(steps) == 4
    assert steps[-1] is last

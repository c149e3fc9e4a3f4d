"""Every set of weights on the shelf has a card, is small, loads, and does what its card says."""

import pytest

torch = pytest.importorskip("torch")

from jostle.envs.vector import TabletopVectorEnv  # noqa: E402
from jostle.evaluation.examine import examine  # noqa: E402
from jostle.training.recall import recall  # noqa: E402
from jostle.training.workshop import policy_for  # noqa: E402
from jostle.zoo.shelf import shelf  # noqa: E402


@pytest.mark.parametrize("name", shelf())
def test_weights_have_a_card_and_load(name):
    entry = shelf()[name]
    assert entry.headline().startswith(name)
    assert entry.size() < 15 * 2**20
    experiment, agent = recall(entry.weights)
    env = TabletopVectorEnv(2, experiment.task, objects=experiment.objects)
    observation, _ = env.reset(seed=0)
    assert policy_for(agent, env).act(observation).shape == (2, 3)


def test_the_cubes_agent_pushes_one_cube_home():
    _, agent = recall(shelf()["cubes-state"].weights)
    env = TabletopVectorEnv(40, "OneCube", autoreset_mode="Disabled")
    assert examine(env, policy_for(agent, env), "cubes-state", 40).mean("success") > 0.85

"""Attention of the actor's pooling query, reported for every entity."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from experiments import observation_spec  # noqa: E402
from jostle.agents.config import TD3Config  # noqa: E402
from jostle.agents.td3 import TD3Agent  # noqa: E402
from jostle.core.entities import Entities  # noqa: E402
from jostle.core.errors import BadValueError  # noqa: E402
from jostle.nets.config import FAST_NET, MLP_NET, PAPER_NET  # noqa: E402

VIEWS, COUNT, WIDTH = 2, 7, 5
NETS = pytest.mark.parametrize("net", [FAST_NET, PAPER_NET], ids=["fast", "paper"])
VISIBLE_FRACTIONS = pytest.mark.parametrize("fraction", [0.3, 0.8, 1.0])


def make_agent(net) -> TD3Agent:
    shape = (VIEWS, COUNT, WIDTH)
    agent = TD3Agent(net, TD3Config(), observation_spec(shape, shape), seed=0)
    agent.normalizer.update(random_sets(0.9, seed=5))
    return agent


def random_sets(fraction: float, seed: int = 0, batch: int = 6) -> Entities:
    rng = torch.Generator().manual_seed(seed)
    values = 3 + 2 * torch.randn(batch, VIEWS, COUNT, WIDTH, generator=rng)
    visible = torch.rand(batch, VIEWS, COUNT, generator=rng) < fraction
    visible[:, 0, 2] = True
    return Entities(values * visible[..., None], visible)


@NETS
@VISIBLE_FRACTIONS
def test_attention_sums_to_one_over_visible_entities_and_is_zero_elsewhere(net, fraction):
    state, goal = random_sets(fraction), random_sets(0.6, seed=1)
    weights = make_agent(net).attention(state, goal)
    assert weights.shape == (6, VIEWS, COUNT)
    assert (weights[~state.visible.numpy()] == 0).all()
    assert (weights[state.visible.numpy()] > 0).all()
    np.testing.assert_allclose(weights.sum((1, 2)), 1, rtol=1e-5)


def test_attention_follows_an_entity_to_another_row():
    state, goal, agent = random_sets(0.5), random_sets(0.6, seed=1), make_agent(FAST_NET)
    order = torch.randperm(COUNT, generator=torch.Generator().manual_seed(0))
    permuted = state.map(lambda array: array[:, :, order])
    expected = agent.attention(state, goal)[:, :, order.numpy()]
    np.testing.assert_allclose(agent.attention(permuted, goal), expected, rtol=1e-3, atol=1e-6)


def test_attention_is_zero_everywhere_if_nothing_is_visible():
    state, goal = random_sets(0.5), random_sets(0.6, seed=1)
    empty = Entities(state.values, torch.zeros_like(state.visible))
    assert (make_agent(FAST_NET).attention(empty, goal) == 0).all()


def test_an_actor_that_does_not_pool_refuses_to_report_attention():
    sets = random_sets(1.0)
    with pytest.raises(BadValueError, match="'mlp' does not pool"):
        make_agent(MLP_NET).attention(sets, sets)

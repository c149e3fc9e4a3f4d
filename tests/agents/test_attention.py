"""What the actor attends to, told about every entity that it was given."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from jostle.agents.build import Shapes  # noqa: E402
from jostle.agents.config import TD3Config  # noqa: E402
from jostle.agents.td3 import TD3Agent  # noqa: E402
from jostle.core.entities import Entities  # noqa: E402
from jostle.core.errors import BadValueError  # noqa: E402
from jostle.nets.config import FAST_NET, MLP_NET, PAPER_NET  # noqa: E402
from jostle.nets.crowd import Crowd  # noqa: E402

VIEWS, COUNT, WIDTH = 2, 7, 5
NETS = pytest.mark.parametrize("net", [FAST_NET, PAPER_NET], ids=["fast", "paper"])
SHARES = pytest.mark.parametrize("share", [0.3, 0.8, 1.0])


def agent(net) -> TD3Agent:
    sets = (VIEWS, COUNT, WIDTH)
    made = TD3Agent(net, TD3Config(), Shapes(state=sets, goal=sets), seed=0)
    made.normalizer.update(random_sets(0.9, seed=5))
    return made


def random_sets(share: float, seed: int = 0, batch: int = 6) -> Entities:
    rng = torch.Generator().manual_seed(seed)
    values = 3 + 2 * torch.randn(batch, VIEWS, COUNT, WIDTH, generator=rng)
    visible = torch.rand(batch, VIEWS, COUNT, generator=rng) < share
    visible[:, 0, 2] = True
    return Entities(values * visible[..., None], visible)


@NETS
@SHARES
def test_attention_is_shared_among_what_is_visible_and_nothing_else(net, share):
    state, goal = random_sets(share), random_sets(0.6, seed=1)
    weights = agent(net).attention(state, goal)
    assert weights.shape == (6, VIEWS, COUNT)
    assert (weights[~state.visible.numpy()] == 0).all()
    assert (weights[state.visible.numpy()] > 0).all()
    np.testing.assert_allclose(weights.sum((1, 2)), 1, rtol=1e-5)


@NETS
@SHARES
def test_packing_does_not_mix_up_what_is_attended_to(net, share, monkeypatch):
    state, goal, looker = random_sets(share), random_sets(0.6, seed=1), agent(net)
    packed = looker.attention(state, goal)
    monkeypatch.setattr(Crowd, "packed", lambda crowd: crowd)
    whole = looker.attention(state, goal)
    assert np.ptp(whole[state.visible.numpy()]) > 1e-3, "all alike would prove nothing"
    np.testing.assert_allclose(packed, whole, rtol=1e-3, atol=1e-6)


def test_attention_follows_its_entity_to_another_row():
    state, goal, looker = random_sets(0.5), random_sets(0.6, seed=1), agent(FAST_NET)
    order = torch.randperm(COUNT, generator=torch.Generator().manual_seed(0))
    moved = Entities(state.values[:, :, order], state.visible[:, :, order])
    there = looker.attention(state, goal)[:, :, order.numpy()]
    np.testing.assert_allclose(looker.attention(moved, goal), there, rtol=1e-3, atol=1e-6)


def test_nobody_is_attended_to_where_nothing_is_visible():
    state, goal = random_sets(0.5), random_sets(0.6, seed=1)
    dark = Entities(state.values, torch.zeros_like(state.visible))
    assert (agent(FAST_NET).attention(dark, goal) == 0).all()


def test_a_network_that_does_not_pool_says_so():
    sets = random_sets(1.0)
    with pytest.raises(BadValueError, match="'mlp' does not pool"):
        agent(MLP_NET).attention(sets, sets)

"""Random batches, and small agents that learn from them."""

import torch

from experiments import observation_spec
from jostle.agents.config import TD3Config
from jostle.agents.td3 import TD3Agent
from jostle.core.entities import Entities
from jostle.nets.config import FAST_NET
from jostle.replay.batch import Batch, GoalTransition

SPEC = observation_spec((1, 3, 6), (1, 2, 6))


def make_agent(net=FAST_NET, seed: int = 0, **options) -> TD3Agent:
    """An agent for two objects."""
    return TD3Agent(net, TD3Config(batch_size=32, **options), SPEC, seed)


def random_batch(size: int = 32, seed: int = 0, reward=None) -> Batch:
    """Random transitions; `reward` is a function of the action."""
    rng = torch.Generator().manual_seed(seed)

    def entities(count: int) -> Entities:
        return Entities.all_visible(torch.randn(size, 1, count, 6, generator=rng))

    action = torch.rand(size, 3, generator=rng) * 2 - 1
    rewards = -torch.rand(size, generator=rng) if reward is None else reward(action)
    seen = GoalTransition(state=entities(3), goal=entities(2), next_state=entities(3))
    return Batch(seen, seen, action, rewards, torch.full((size,), 0.98))

"""Learning works: TD3 with hindsight solves a toy task from scratch within seconds."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from jostle.agents.config import ExploreConfig, TD3Config  # noqa: E402
from jostle.agents.exploration import explore  # noqa: E402
from jostle.agents.networks import ObservationSpec  # noqa: E402
from jostle.agents.td3 import TD3Agent  # noqa: E402
from jostle.core.entities import Entities, EntityLayout  # noqa: E402
from jostle.core.goal_metric import GoalMetric  # noqa: E402
from jostle.core.protocols import GoalSpec  # noqa: E402
from jostle.nets.config import FAST_NET  # noqa: E402
from jostle.replay.buffer import EpisodeBuffer  # noqa: E402
from jostle.replay.episodes import Episodes, Trajectory  # noqa: E402
from jostle.replay.sampler import HindsightConfig, HindsightSampler  # noqa: E402
from jostle.replay.transition_rewards import RewardSpec  # noqa: E402
from jostle.rewards.distance import DistanceReward  # noqa: E402

POINTS, STEPS, ENVS, SPEED = 1, 10, 32, 0.25
LAYOUT = EntityLayout((("position", 2), ("object_id", POINTS)))
METRIC = GoalMetric(goal_type="position", radius=0.15, scale=1.0)


def entities(positions):
    """Points (B, N, 2) with ids, as sets (B, 1, N, D)."""
    ids = np.broadcast_to(np.eye(POINTS), (len(positions), POINTS, POINTS))
    values = np.concatenate((positions, ids), axis=-1).astype(np.float32)[:, None]
    return Entities(values, np.ones(values.shape[:-1], bool))


def play(agent, rng, noise):
    """Episodes in which an action moves the point."""
    position, goal = (rng.uniform(-1, 1, (ENVS, POINTS, 2)).astype(np.float32) for _ in range(2))
    states, actions, path = [entities(position)], [], [position]
    for _ in range(STEPS):
        action = agent.act(states[-1].to_torch(), entities(goal).to_torch())
        if noise:
            action = explore(action, noise, 0, rng)
        position = (position + SPEED * action.reshape(ENVS, POINTS, 2)).clip(-1, 1)
        states.append(entities(position))
        actions.append(action)
        path.append(position)
    steps = Entities(*(np.stack(arrays, axis=1) for arrays in zip(*states, strict=True)))
    return Episodes(
        actor=Trajectory(steps, entities(goal)),
        achieved=np.stack(path, axis=1),
        desired=goal,
        actions=np.stack(actions, axis=1),
    )


def success(episodes):
    return METRIC.reached(episodes.achieved[:, -1], episodes.desired).mean()


def test_td3_with_hindsight_learns_to_move_a_point_to_its_goal():
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    shape = (1, POINTS, LAYOUT.width)
    agent = TD3Agent(
        replace(
            FAST_NET,
            embed_dim=32,
            heads=2,
            block_hidden=(32,),
            head_hidden=(64,),
            critic_arch="mlp",
        ),
        TD3Config(
            gamma=0.8,
            tau=0.05,
            target_update="actor-step",
            action_penalty=0.01,
            lr=1e-3,
            self_imitation_weight=2.0,
            potential_baseline=True,
            reward_min=-6.0,
        ),
        ObservationSpec(state=shape, goal=shape, layout=LAYOUT, actions=2 * POINTS),
        seed=0,
    )
    buffer, columns = EpisodeBuffer(400), np.ones(LAYOUT.width, np.float32)
    sampler = HindsightSampler(
        buffer,
        RewardSpec(DistanceReward(METRIC, 3.0), 0.8, potential_baseline=True),
        GoalSpec(0, columns, columns, whole_sets=True),
        HindsightConfig(),
        rng,
    )
    noise = ExploreConfig(epsilon=0.3, sigma=0.2, per_env_epsilon=True)
    before = success(play(agent, rng, None))
    for _ in range(20):
        episodes = play(agent, rng, noise)
        buffer.add(episodes)
        states = episodes.actor.states.map(lambda x: x.reshape(-1, *x.shape[2:]))
        agent.normalizer.update(states.to_torch())
        for _ in range(30):
            agent.update(sampler.sample(64))
    after = np.mean([success(play(agent, rng, None)) for _ in range(4)])
    assert before < 0.3
    assert after > 0.8

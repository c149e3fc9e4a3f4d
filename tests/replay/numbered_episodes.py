"""Episodes whose entities hold their own coordinates, episode number and step."""

import numpy as np

from jostle.core.entities import Entities
from jostle.core.goal_metric import GoalMetric
from jostle.core.protocols import GoalSpec, Reward
from jostle.replay.buffer import EpisodeBuffer
from jostle.replay.episodes import Episodes, Trajectory
from jostle.replay.sampler import HindsightConfig, HindsightSampler
from jostle.replay.transition_rewards import RewardSpec
from jostle.rewards.distance import DistanceReward

REWARD = DistanceReward(GoalMetric(goal_type="position", radius=0.04, scale=0.39), 1.0)
STEPS, OBJECTS, FEATURES = 9, 2, 6
STEP, EPISODE = 2, 3
"""Columns with the number of the step and of the episode."""
COORDINATES = np.array([1, 1, 0, 0, 0, 0], np.float32)
GOAL_SPEC = GoalSpec(1, np.array([1, 1, 0, 1, 1, 1], np.float32), COORDINATES)


def all_visible(values: np.ndarray) -> Entities:
    """Sets of which every entity is visible."""
    return Entities(values, np.ones(values.shape[:-1], bool))


def numbered_episodes(count: int, seed: int = 0) -> Episodes:
    """Episodes of two objects and a gripper; numbers of episodes start at 100 * seed."""
    rng = np.random.default_rng(seed)
    achieved = rng.uniform(-0.2, 0.2, (count, STEPS + 1, OBJECTS, 2)).astype(np.float32)
    states = np.zeros((count, STEPS + 1, 1, 1 + OBJECTS, FEATURES), np.float32)
    states[..., 0, 1:, :2] = achieved
    states[..., STEP] = np.arange(STEPS + 1)[None, :, None, None]
    states[..., EPISODE] = np.arange(count)[:, None, None, None] + 100 * seed
    states[..., 0, 1:, 4:] = np.eye(2)
    goals = np.zeros((count, 1, OBJECTS, FEATURES), np.float32)
    goals[..., 4:] = np.eye(2)
    desired = rng.uniform(-0.2, 0.2, (count, OBJECTS, 2)).astype(np.float32)
    goals[:, 0, :, :2] = desired
    return Episodes(
        actor=Trajectory(all_visible(states), all_visible(goals)),
        achieved=achieved,
        desired=desired,
        actions=rng.uniform(-1, 1, (count, STEPS, 3)).astype(np.float32),
    )


def buffer_of(count: int) -> EpisodeBuffer:
    """A buffer filled with numbered episodes."""
    buffer = EpisodeBuffer(count)
    buffer.add(numbered_episodes(count))
    return buffer


def make_sampler(
    buffer: EpisodeBuffer,
    goal_spec: GoalSpec = GOAL_SPEC,
    gamma: float = 0.9,
    potential_baseline: bool = False,
    per_object: bool = False,
    shared: bool = False,
    reward: Reward = REWARD,
    **options,
) -> HindsightSampler:
    """A sampler of batches with the distance as reward."""
    reward_spec = RewardSpec(reward, gamma, potential_baseline, per_object, shared)
    rng = np.random.default_rng(3)
    return HindsightSampler(buffer, reward_spec, goal_spec, HindsightConfig(**options), rng)

"""The behavior policy of off-policy training: the actor with exploration, and demonstrations."""

import numpy as np
from numpy.typing import NDArray

from jostle.agents.exploration import ReachExploration, explore, random_actions
from jostle.core.entities import Entities
from jostle.core.profiler import PROFILER
from jostle.core.protocols import Agent, Observation, Policy
from jostle.envs.vector import TabletopVectorEnv
from jostle.rollout.reach import away_from_edge, present, reach
from jostle.training.components import table_half_size
from jostle.training.experiment import Experiment


class BehaviorPolicy:
    """Acts in one group of environments; all its randomness is `rng`."""

    def __init__(
        self,
        experiment: Experiment,
        env: TabletopVectorEnv,
        agent: Agent,
        rng: np.random.Generator,
        teacher: Policy | None = None,
    ) -> None:
        """Let the teacher, if there is one, control its fraction of the environments."""
        self._experiment, self._env, self._agent = experiment, env, agent
        self.rng, self._teacher = rng, teacher
        self._reaching = ReachExploration(env.num_envs)
        fraction = experiment.training.expert_fraction
        self._expert = np.arange(env.num_envs) < fraction * env.num_envs
        self._episodes = 0

    def reset(self, episodes: int) -> None:
        """Start an episode in every environment, after so many episodes of the training."""
        self._reaching.reset()
        self._episodes = episodes

    def act(self, observation: Observation, state: Entities, goal: Entities) -> NDArray[np.float32]:
        """Actions of the actor with exploration."""
        config, rng = self._experiment.explore, self.rng

        # Actor with noise, or random actions before learning starts
        if self._episodes < self._experiment.training.random_episodes:
            actions = random_actions(self._env.num_envs, 3, rng, config.sigma)
        else:
            with PROFILER("acting"):
                chosen = self._agent.act(state.to_torch(), goal.to_torch())
            actions = explore(chosen, config, self._episodes, rng)

        # Moves towards objects
        if config.reach_prob > 0:
            actions = self._reach(observation["observation"], actions)

        # Demonstrations
        if self._teacher is not None:
            actions = np.where(self._expert[:, None], self._teacher.act(observation), actions)
        return actions

    def _reach(
        self, rows: NDArray[np.float32], actions: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """Replace actions of environments that move towards an object of true state (B, 1+N, F)."""
        config, rng, env = self._experiment.explore, self.rng, self._env
        available = present(rows[:, 1:], env.goal_metric.padded)
        if config.reach_avoid_edge:
            available &= away_from_edge(rows, table_half_size(env))
        reaching = self._reaching.step(config, available, rng)
        moves = reach(rows, np.maximum(self._reaching.target, 0))
        moves = np.clip(moves + config.sigma * rng.standard_normal(moves.shape), -1, 1)
        return np.where(reaching[:, None], moves, actions).astype(np.float32)

"""The behavior policy of off-policy training: the actor with exploration, and demonstrations."""

import numpy as np
from numpy.typing import NDArray

from jostle.agents.exploration import ReachExploration, explore, random_actions
from jostle.core.entities import TABLE_XY, Entities
from jostle.core.profiler import PROFILER
from jostle.core.protocols import Agent, Observation, Policy
from jostle.envs.vector import TabletopVectorEnv
from jostle.rollout.reach import away_from_edge, present, reach
from jostle.rollout.reach_particles import ParticleTargets
from jostle.rollout.table_projection import COLUMNS, TableProjection
from jostle.training.components import table_half_size
from jostle.training.experiment import Experiment
from jostle.training.images import table_projection


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
        self._particles: ParticleTargets | None = None
        self._projection: TableProjection | None = None
        self._found = experiment.entities == "objects"
        if experiment.explore.reach_from == "particles" and not self._found:
            half_size, layout = table_half_size(env), agent.spec.layout
            if experiment.net.arch == "smorl":  # its network does not know the table
                self._projection = table_projection(env, agent.sensor)
                layout = layout.plus(TABLE_XY, COLUMNS)
            self._particles = ParticleTargets(layout, env.num_envs, half_size)
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
            actions = self._reach(observation["observation"], state, goal, actions)

        # Demonstrations
        if self._teacher is not None:
            actions = np.where(self._expert[:, None], self._teacher.act(observation), actions)
        return actions

    def _reach(
        self,
        rows: NDArray[np.float32],
        state: Entities,
        goal: Entities,
        actions: NDArray[np.float32],
    ) -> NDArray[np.float32]:
        """Replace actions of environments that move towards an object.

        Objects are those of true state (B, 1+N, F), or, but for the gripper, those of particles,
        or those that the actor observes.
        """
        config, rng, env = self._experiment.explore, self.rng, self._env
        if self._found:
            rows, available = state.values[:, 0, :, :3], state.visible[:, 0, 1:].copy()
        elif self._particles is None:
            available = present(rows[:, 1:], env.goal_metric.padded)
        else:
            last = self._reaching.target
            if self._projection is not None:
                state, goal = self._projection(state), self._projection(goal)
            looked = self._particles.look(rows[:, 0], state, goal, last)
            rows, available, self._reaching.target = looked
        if config.reach_avoid_edge:
            available &= away_from_edge(rows, table_half_size(env))
        reaching = self._reaching.step(config, available, rng)
        if self._particles is not None:
            self._particles.remember(rows, self._reaching.target)
        moves = reach(rows, np.maximum(self._reaching.target, 0))
        moves = np.clip(moves + config.sigma * rng.standard_normal(moves.shape), -1, 1)
        return np.where(reaching[:, None], moves, actions).astype(np.float32)

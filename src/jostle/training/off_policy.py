"""Off-policy training: collect episodes, store them, update on relabeled batches."""

import numpy as np
from numpy.typing import NDArray

from jostle.agents.exploration import ReachExploration, explore, random_actions
from jostle.core.entities import Entities
from jostle.core.profiler import PROFILER
from jostle.core.protocols import Observation
from jostle.rollout.reach import away_from_edge, present, reach
from jostle.runs.run_dir import RunDir
from jostle.runs.trainer import Report
from jostle.training.agent_trainer import AgentTrainer
from jostle.training.components import Components, table_half_size
from jostle.training.experiment import Experiment


class OffPolicyTrainer(AgentTrainer):
    """The methods `td3`, `td3-demos` and `td3-privileged`."""

    def __init__(
        self, experiment: Experiment, components: Components, run: RunDir, report: Report
    ) -> None:
        """Let the teacher, if there is one, control its fraction of the environments."""
        super().__init__(experiment, components, run, report)
        num_envs = experiment.training.num_envs
        self._reaching = ReachExploration(num_envs)
        self._expert = np.arange(num_envs) < experiment.training.expert_fraction * num_envs

    @property
    def warmup_episodes(self) -> int:
        """Episodes of random actions before the first update."""
        return self.experiment.training.random_episodes

    def iterate(self) -> None:
        """Collect one episode per environment and learn."""
        self._reaching.reset()
        episodes, infos = self.components.collector.collect(self._act)
        self.store(episodes)
        self._metrics = {f"train_{name}": value for name, value in infos.items()}
        if self.counters["episodes"] > self.warmup_episodes:
            self._metrics |= self.learn(self.num_updates())

    def _act(
        self, observation: Observation, state: Entities, goal: Entities
    ) -> NDArray[np.float32]:
        """Actions of the actor with exploration."""
        config, rng = self.experiment.explore, self.components.rng
        episodes, training = self.counters["episodes"], self.experiment.training

        # Actor with noise, or random actions before learning starts
        if episodes < training.random_episodes:
            actions = random_actions(training.num_envs, 3, rng, config.sigma)
        else:
            with PROFILER("acting"):
                chosen = self.components.agent.act(state.to_torch(), goal.to_torch())
            actions = explore(chosen, config, episodes, rng)

        # Moves towards objects
        if config.reach_prob > 0:
            actions = self._reach(observation["observation"], actions)

        # Demonstrations
        teacher = self.components.teacher
        if teacher is not None:
            actions = np.where(self._expert[:, None], teacher.act(observation), actions)
        return actions

    def _reach(
        self, rows: NDArray[np.float32], actions: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """Replace actions of environments that move towards an object of true state (B, 1+N, F)."""
        config, rng, env = self.experiment.explore, self.components.rng, self.components.env
        available = present(rows[:, 1:], env.goal_metric.padded)
        if config.reach_avoid_edge:
            available &= away_from_edge(rows, table_half_size(env))
        reaching = self._reaching.step(config, available, rng)
        moves = reach(rows, np.maximum(self._reaching.target, 0))
        moves = np.clip(moves + config.sigma * rng.standard_normal(moves.shape), -1, 1)
        return np.where(reaching[:, None], moves, actions).astype(np.float32)

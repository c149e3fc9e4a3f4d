"""TD3 with hindsight: collect a round, store it, do its share of updates."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from jostle.agents.explore import Approaches, explore, uniform
from jostle.core.clock import CLOCK
from jostle.core.rundir import RunDir
from jostle.envs.vector import Observation
from jostle.oracles.catalog import oracle
from jostle.rollout.approach import approach, present, spared
from jostle.rollout.collect import as_entities, play_round
from jostle.rollout.observer import Sets
from jostle.training.experiment import Experiment
from jostle.training.rounds import Report, Rounds
from jostle.training.workshop import Workshop, table_edge


class OnlineLoop(Rounds):
    """The lanes `scratch`, `demos` and `privileged-critic`."""

    def __init__(self, experiment: Experiment, shop: Workshop, run: RunDir, report: Report) -> None:
        """Let the oracle drive its share of the copies, in the lane `demos`."""
        super().__init__(experiment, shop, run, report)
        training = experiment.training
        self._teacher = oracle(shop.env.recipe.task) if training.lane == "demos" else None
        self._approaches = Approaches(training.copies)
        self._driven = np.arange(training.copies) < training.demo_share * training.copies

    def round(self) -> dict[str, Any]:
        """Collect one round and learn from it."""
        shop, training = self.shop, self.experiment.training
        self._approaches.begin()
        photos = self.experiment.hindsight.photos
        episodes, infos = play_round(
            shop.env, shop.observer, self._choose, shop.steps, shop.knower, photos=photos
        )
        shop.ring.add(episodes)
        self.count(episodes)
        row: dict[str, Any] = {f"train_{key}": value for key, value in infos.items()}
        if self.counters["episodes"] > training.warmup_episodes:
            row |= self._learn(int(training.copies * shop.steps * training.updates_per_step))
        return row

    def _learn(self, updates: int) -> dict[str, float]:
        agent, sampler = self.shop.agent, self.shop.sampler
        logs: list[dict[str, torch.Tensor]] = []
        for _ in range(updates):
            self.pace()
            with CLOCK("sampling"):
                batch = sampler.sample(self.experiment.td3.batch)
            with CLOCK("updating"):
                logs.append(agent.update(batch))
        agent.end_round()
        keys = sorted({key for log in logs for key in log})
        means = {
            key: float(torch.stack([log[key] for log in logs if key in log]).mean()) for key in keys
        }
        return {"updates": agent.updates, **means}

    def _choose(self, observation: Observation, state: Sets, goal: Sets) -> NDArray[np.float32]:
        training, config = self.experiment.training, self.experiment.explore
        episodes, rng = self.counters["episodes"], self.shop.rng
        if episodes < training.warmup_episodes:
            actions = uniform(training.copies, 3, rng, config.sigma)
        else:
            with CLOCK("acting"):
                chosen = self.shop.agent.act(as_entities(state), as_entities(goal))
            actions = explore(chosen, config, episodes, rng)
        if config.approach > 0:
            rows = observation["observation"]  # (B, 1+N, F)
            there = present(rows[:, 1:], self.shop.env.measure.padded)
            if config.spare:
                there &= spared(rows, table_edge(self.shop.env))
            on_the_way = self._approaches.step(config, there, rng)
            ahead = approach(rows, np.maximum(self._approaches.chosen, 0))
            ahead = np.clip(ahead + config.sigma * rng.standard_normal(ahead.shape), -1, 1)
            actions = np.where(on_the_way[:, None], ahead, actions).astype(np.float32)
        if self._teacher is not None:
            actions = np.where(self._driven[:, None], self._teacher.act(observation), actions)
        return actions

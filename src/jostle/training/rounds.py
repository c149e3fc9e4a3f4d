"""The outer loop that every lane shares: rounds, examinations, checkpoints."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.agents.saving import weights
from jostle.core.checkpoint import save
from jostle.core.clock import CLOCK, SPENT
from jostle.core.entities import Entities
from jostle.core.rundir import RunDir
from jostle.core.telemetry import Telemetry
from jostle.evaluation.examine import Examination
from jostle.particles.saving import describe, tensors_of
from jostle.replay.ring import Episodes
from jostle.rollout.collect import as_entities
from jostle.rollout.observer import Sets
from jostle.training.experiment import Experiment
from jostle.training.saving import restore_run, save_run
from jostle.training.workshop import Workshop, examine_agent

Report = Callable[[dict[str, Any]], None]


class StopAskedError(Exception):
    """Somebody wants the training to end between these two rounds."""


class Rounds(ABC):
    """Round after round until the budget of environment steps is spent."""

    def __init__(self, experiment: Experiment, shop: Workshop, run: RunDir, report: Report) -> None:
        """Work in `shop`, write to `run`, and tell `report` about every round."""
        self.experiment, self.shop, self._run, self._report = experiment, shop, run, report
        self._telemetry = Telemetry(run)
        self.counters: dict[str, Any] = {"round": 0, "episodes": 0, "env_steps": 0, "best": -1.0}
        self.counters["seconds"] = 0.0
        if experiment.training.curriculum:
            self._set_stage(shop.env.recipe.fewest)

    @abstractmethod
    def round(self) -> dict[str, Any]:
        """Collect one round, learn from it, and say what is worth logging."""

    def resume(self) -> None:
        """Go on where the last checkpoint stands."""
        self.counters = restore_run(self._run, self.shop)
        if "objects" in self.counters:
            self._set_stage(self.counters["objects"])
        self._run.trim(self.counters["round"])

    def run(self) -> None:
        """Train until the budget is spent."""
        training = self.experiment.training
        while self.counters["env_steps"] < training.env_steps:
            CLOCK.take()
            start = time.monotonic()
            with CLOCK("the rest"):
                told = self.round()
            self.counters["seconds"] += time.monotonic() - start
            spent = {f"{SPENT}{part}": seconds for part, seconds in CLOCK.take().items()}
            row = {**told, **spent, **self.counters}
            number = self.counters["round"]
            done = self.counters["env_steps"] >= training.env_steps
            if number % training.examine_every == 0 or done:
                row |= self._examine()
            self._telemetry.log(row)
            self._report(row)
            if number % training.save_every == 0 or done:
                save_run(self._run, self.shop, self.counters)
        self._telemetry.close()

    def rows(self) -> list[dict[str, Any]]:
        """What was told of every round so far."""
        return self._run.rows()

    def save(self) -> None:
        """Write a checkpoint of this moment (between two rounds)."""
        save_run(self._run, self.shop, self.counters)

    def count(self, episodes: Episodes) -> None:
        """Take a round's episodes into the counters and the normalizer."""
        agent = self.shop.agent
        agent.normalizer.update(_flat(episodes.states, episodes.visible))
        if episodes.true_states is not None and episodes.true_visible is not None:
            agent.critic_normalizer.update(_flat(episodes.true_states, episodes.true_visible))
        self.counters["round"] += 1
        self.counters["episodes"] += len(episodes)
        self.counters["env_steps"] += len(episodes) * self.shop.steps

    def pace(self) -> None:
        """Set the step sizes for this moment of the training."""
        training = self.experiment.training
        left = 1 - self.counters["env_steps"] / training.env_steps
        share = min(1.0, max(0.05, left / training.decay)) if training.decay > 0 else 1.0
        if training.warmup_updates:
            share *= min(1.0, (self.shop.agent.updates + 1) / training.warmup_updates)
        self.shop.agent.set_pace(share)

    def _chapter(self) -> dict[str, Any]:
        """What this run has put into the weights so far."""
        lane: str = self.experiment.training.lane
        if lane == "scratch" and self._run.read_history():  # it did not begin from scratch
            lane = "fine-tuning"
        return {
            "preset": self.experiment.name,
            "lane": lane,
            "seed": self.experiment.seed,
            "updates": self.shop.agent.updates,
            "env_steps": self.counters["env_steps"],
            "minutes": round(self.counters["seconds"] / 60, 1),
        }

    def _set_stage(self, objects: int) -> None:
        """Draw at most so many objects from now on."""
        self.counters["objects"] = objects
        self.shop.env.limit_objects(objects)

    def _rise(self, success: float) -> None:
        """Add an object when the present ones are mastered; what is best is counted anew."""
        objects = self.counters.get("objects", self.shop.env.recipe.most)
        solved = success >= self.experiment.training.solved_at
        if solved and objects < self.shop.env.recipe.most:
            self._set_stage(objects + 1)
            self.counters["best"] = -1.0

    def _examine(self) -> dict[str, float]:
        found = examine_agent(
            self.experiment,
            self.shop.agent,
            self.experiment.training.examine_episodes,
            limit=self.counters.get("objects"),
        )
        score = found.mean("success")
        if score >= self.counters["best"]:
            self.counters["best"] = score
            self._keep(self._run.best, found)
        if self.counters["env_steps"] >= self.experiment.training.env_steps:
            self._keep(self._run.final, found)
        self._rise(score)
        names = ("success", "success_fraction", "average_distance", "average_return")
        return {**{name: found.mean(name) for name in names}, "best": self.counters["best"]}

    def _keep(self, path: Path, found: Examination) -> None:
        """Write the agent as it is now, with what an examination found."""
        meta = {
            "experiment": self.experiment.to_dict(),
            "score": found.summary(),
            "history": [*self._run.read_history(), self._chapter()],
        }
        tensors = weights(self.shop.agent)
        if self.shop.agent.eyes is not None:  # an agent takes its eyes along
            tensors |= tensors_of(self.shop.agent.eyes)
            meta["eyes"] = describe(self.shop.agent.eyes)
        save(path, tensors, meta)


def _flat(states: NDArray[np.float32], visible: NDArray[np.bool_]) -> Entities:
    """All moments but the last (E, T+1, V, K, ...) as one batch of sets."""
    states, visible = states[:, :-1], visible[:, :-1]
    flat = Sets(states.reshape(-1, *states.shape[2:]), visible.reshape(-1, *visible.shape[2:]))
    return as_entities(flat)

"""What all trainings of agents share: counters, step sizes, curriculum, evaluation, weights."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from jostle.core.checkpoint import pack_rng, save, unpack_rng
from jostle.core.errors import NotFiniteError, require
from jostle.core.found_objects import IMAGE_METRICS
from jostle.core.object_classifier import classifier_to_json
from jostle.core.profiler import PROFILER
from jostle.core.protocols import Stateful
from jostle.encoders.saving import encoder_reference
from jostle.evaluation.by_images import ImageEvaluation
from jostle.evaluation.evaluate import Evaluation
from jostle.replay.episodes import Episodes
from jostle.runs.config import changed_config
from jostle.runs.run_dir import RunDir, critics_file
from jostle.runs.trainer import Report, Schedule, Trainer
from jostle.training.collection_config import CollectionConfig
from jostle.training.components import Components, evaluate_agent, evaluate_agent_by_images
from jostle.training.experiment import Experiment, differences, read_experiment

_LOGGED = ("success", "success_fraction", "average_distance", "average_return")
"""Metrics of an evaluation that go into the log."""
_FREE_FIELDS = tuple(
    f"training.{name}" for name in ("env_steps", "save_every", "threads", "device", "wandb")
)
"""Fields of an experiment that may be changed before a run is resumed; they apply from then on."""
_COLLECTION_FIELDS = tuple(f"collection.{name}" for name in CollectionConfig.__dataclass_fields__)
"""Fields that may be changed if the same episodes are collected."""


class AgentTrainer(Trainer):
    """Iterations of one episode per environment until all environment steps are done."""

    counter, axis = "iteration", "env_steps"

    def __init__(
        self, experiment: Experiment, components: Components, run: RunDir, report: Report
    ) -> None:
        """Train `components` as `experiment` says."""
        training = experiment.training
        schedule = Schedule(1, training.eval_every, training.save_every)
        super().__init__(run, schedule, report, training.wandb)
        self.experiment, self.components = experiment, components
        self.counters |= {"episodes": 0, "env_steps": 0, "best": -1.0}
        self._metrics: dict[str, Any] = {}

    @property
    def done(self) -> bool:
        """Whether all environment steps are done, or the task is solved well enough to stop."""
        solved = self.counters.get("solved", False)
        return bool(solved or self.counters["env_steps"] >= self.total)

    @property
    def total(self) -> int:
        """Environment steps in total."""
        return self.experiment.training.env_steps

    def metrics(self) -> dict[str, Any]:
        """Metrics of the last iteration."""
        return self._metrics

    def parts(self) -> dict[str, Stateful]:
        """Everything with a state."""
        components = self.components
        return {
            "agent": components.agent,
            "buffer": components.buffer,
            "collector": components.collector,
            "sampler": components.sampler,
            "trainer": _Randomness(components),
        }

    def describe(self) -> dict[str, Any]:
        """What an agent's file says of it: a checkpoint can be played, too."""
        meta: dict[str, Any] = {
            "experiment": self.experiment.to_dict(),
            "history": [*self.run_dir.read_history(), self._training_stage()],
        }
        sensor = self.components.agent.sensor
        if sensor is not None:
            meta["encoder"] = encoder_reference(self.experiment.encoder, sensor.encoder)
            if self.experiment.net.arch == "smorl" or sensor.finds_objects:  # needed to act
                meta["object_classifier"] = classifier_to_json(sensor.classifier)
        return meta

    @property
    def warmup_episodes(self) -> int:
        """Episodes that are collected before the first update."""
        return 0

    @property
    def collected_enough(self) -> bool:
        """Whether there are enough episodes to learn from."""
        enough = self.counters["env_steps"] > self.experiment.training.learning_starts
        return enough and self.counters["episodes"] > self.warmup_episodes

    def check_budget(self) -> None:
        """Refuse trainings that would end without a single update."""
        training, steps = self.experiment.training, self.components.collector.steps
        require(
            self.num_updates() > 0,
            f"No update would happen: {training.num_envs} environments of {steps} steps and "
            f"--utd-ratio {training.utd_ratio:g} give less than one update per iteration. Give "
            f"--utd-ratio {math.ceil(10_000 / (training.num_envs * steps)) / 10_000} or more.",
        )
        warmup = self.warmup_episodes // training.num_envs * training.num_envs * steps
        require(
            training.env_steps > warmup,
            f"No update would happen: learning starts after {self.warmup_episodes} random episodes "
            f"({warmup} environment steps), but --env-steps {training.env_steps} ends the training "
            f"by then. Give more than {warmup} --env-steps, or fewer --random-episodes.",
        )
        require(
            training.env_steps > training.learning_starts,
            f"No update would happen: --learning-starts {training.learning_starts} is not below "
            f"--env-steps {training.env_steps}.",
        )

    def check_checkpoint(self, meta: dict[str, Any]) -> None:
        """Refuse to resume if the config was changed since the checkpoint was written."""
        if "experiment" not in meta:
            return
        saved = read_experiment(meta["experiment"])
        same_data = saved.collection.same_data(self.experiment.collection)
        free = (*_FREE_FIELDS, *(_COLLECTION_FIELDS if same_data else ()))
        if differing := differences(saved, self.experiment, free):
            raise changed_config(self.run_dir.experiment, differing)

    def evaluate(self) -> dict[str, Any]:
        """Evaluate on fixed episodes, and keep the best weights."""
        training = self.experiment.training
        measure = evaluate_agent_by_images if self.experiment.success_by_images else evaluate_agent
        evaluation = measure(self.experiment, self.components.agent, training.eval_episodes)
        logged = tuple(IMAGE_METRICS) if self.experiment.success_by_images else _LOGGED
        success = evaluation.mean(logged[0])
        if 0 < training.stop_at_success <= success:
            self.counters["solved"] = True
        if success >= self.counters["best"]:
            self.counters["best"] = success
            self._save_weights(self.run_dir.best, evaluation)
        if self.done:
            self._save_weights(self.run_dir.final, evaluation)
        means = {name: evaluation.mean(name) for name in logged}
        return {**means, "best": self.counters["best"]}

    def store(self, episodes: Episodes) -> None:
        """Put episodes into the replay buffer, show them to the agent, and count them."""
        self.components.buffer.add(episodes)
        self.components.agent.observe(episodes)
        self.counters["iteration"] += 1
        self.counters["episodes"] += len(episodes)
        self.counters["env_steps"] += len(episodes) * episodes.steps

    def learn(self, updates: int) -> dict[str, Any]:
        """Update on sampled batches; returns means of what was logged."""
        agent, sampler = self.components.agent, self.components.sampler
        logs: list[dict[str, Tensor]] = []
        for _ in range(updates):
            self.update_lr()
            with PROFILER("sampling"):
                batch = sampler.sample(self.experiment.td3.batch_size)
            with PROFILER("updating"):
                logs.append(agent.update(batch))
        with PROFILER("updating"):
            logs.append(agent.diagnose(batch))
        agent.end_iteration()
        keys = sorted({key for log in logs for key in log})
        means = {
            key: float(torch.stack([log[key] for log in logs if key in log]).mean()) for key in keys
        }
        if not np.isfinite(list(means.values())).all():
            raise NotFiniteError(
                f"Training diverged before update {agent.updates}: {means}. The last good "
                "checkpoint is kept."
            )
        return {"updates": agent.updates, **means}

    def num_updates(self) -> int:
        """Updates of one iteration."""
        training, steps = self.experiment.training, self.components.collector.steps
        return int(training.num_envs * steps * training.utd_ratio)

    def lr_decay(self, total: int) -> float:
        """Decay of the step sizes at the present point of a training of this total."""
        fraction = self.experiment.training.lr_decay_fraction
        remaining = 1 - self.counters[self.axis] / total
        return min(1.0, max(0.05, remaining / fraction)) if fraction > 0 else 1.0

    def update_lr(self) -> None:
        """Set the step sizes for the present point of the training."""
        training, agent = self.experiment.training, self.components.agent
        scale = self.lr_decay(self.total)
        if training.lr_warmup_updates:
            scale *= min(1.0, (agent.updates + 1) / training.lr_warmup_updates)
        agent.set_lr_scale(scale)

    def _training_stage(self) -> dict[str, Any]:
        """What this run has contributed to the weights so far."""
        method = self.experiment.training.method
        before = {stage["method"] for stage in self.run_dir.read_history()}
        if method == "td3" and not before <= {"td3"}:  # something else came first
            method = "td3 fine-tuning"
        return {
            "recipe": self.experiment.name,
            "method": method,
            "seed": self.experiment.seed,
            "updates": self.components.agent.updates,
            "env_steps": self.counters["env_steps"],
            "minutes": round(self.counters["seconds"] / 60, 1),
        }

    def _save_weights(self, path: Path, evaluation: Evaluation | ImageEvaluation) -> None:
        """Write the agent and, in a second file, what else is needed to continue learning."""
        agent = self.components.agent
        meta = {**self.describe(), "score": evaluation.summary()}
        save(path, agent.acting_tensors(), meta)
        if learning := agent.learning_tensors():
            save(critics_file(path), learning, meta)


class _Randomness:
    """The random generator of exploration, as a part of a checkpoint."""

    def __init__(self, components: Components) -> None:
        self._components = components

    def state_dict(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """State of the generator."""
        return {}, {"rng": pack_rng(self._components.rng)}

    def load_state_dict(self, tensors: dict[str, Tensor], meta: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        del tensors
        unpack_rng(self._components.rng, meta["rng"])

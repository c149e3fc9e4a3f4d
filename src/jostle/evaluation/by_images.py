"""Evaluation by images alone: for choosing weights and stages of a training without true state.

Reported numbers are those of `jostle.evaluation.evaluate`, by truth.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.core.errors import require
from jostle.core.found_objects import IMAGE_METRICS
from jostle.core.protocols import Observation
from jostle.envs.vector import TabletopVectorEnv
from jostle.evaluation.statistics import wilson_interval
from jostle.rollout.object_recorder import RecordsObjects
from jostle.rollout.policies import AgentPolicy
from jostle.rollout.rollout import rollout


@dataclass(frozen=True)
class ImageEvaluation:
    """All episodes of one agent on one task, as its cameras saw them."""

    task: str
    agent: str
    objects: int
    steps: int
    seed: int
    metrics: dict[str, NDArray[np.float64]]
    """Metrics at the final step of each episode, (E,) each."""

    def mean(self, metric: str) -> float:
        """Mean of a metric over the episodes."""
        return float(self.metrics[metric].mean())

    def summary(self) -> dict[str, Any]:
        """One row for the file of weights."""
        success = self.metrics["image_success"]
        low, high = wilson_interval(float(success.sum()), len(success))
        return {
            "task": self.task,
            "agent": self.agent,
            "objects": self.objects,
            "steps": self.steps,
            "seed": self.seed,
            "episodes": len(success),
            **{metric: self.mean(metric) for metric in IMAGE_METRICS},
            "image_success_low": low,
            "image_success_high": high,
        }


def evaluate_by_images(
    env: TabletopVectorEnv,
    policy: AgentPolicy,
    recorder: RecordsObjects,
    agent: str,
    episodes: int,
    seed: int = 0,
) -> ImageEvaluation:
    """Run episodes with seeds `seed`, `seed + 1`, ...; only their images are read."""
    require(episodes >= 1, f"At least one episode is needed, not {episodes}.")
    objects = env.episode_sampler.max_objects
    steps = env.episode_sampler.task.evaluation_steps(objects)
    watched, results = _WatchedPolicy(policy, recorder), list[dict[str, NDArray[np.float64]]]()
    while len(results) * env.num_envs < episodes:
        first = seed + len(results) * env.num_envs
        last = rollout(env, watched, steps, seed=first)
        watched.watch(last.observation)
        results.append(recorder.metrics())
    metrics = {  # the last batch may be larger than needed
        name: np.concatenate([result[name] for result in results])[:episodes]
        for name in IMAGE_METRICS
    }
    task = env.episode_sampler.task.name
    return ImageEvaluation(task, agent, objects, steps, seed, metrics)


class _WatchedPolicy:
    """A policy whose observations a recorder sees, too."""

    def __init__(self, policy: AgentPolicy, recorder: RecordsObjects) -> None:
        self._policy, self._recorder, self._started = policy, recorder, False

    def reset(self) -> None:
        """Start new episodes."""
        self._policy.reset()
        self._started = False

    def act(self, observation: Observation) -> NDArray[np.float32]:
        """Choose actions, (B, A)."""
        return self._policy.act_on(*(x.to_torch() for x in self.watch(observation)))

    def watch(self, observation: Observation) -> Any:
        """Show a step to the recorder; returns entities of state and goal."""
        self._policy.observe(observation)
        assert self._policy.seen is not None
        state, goal = self._policy.seen
        if self._started:
            self._recorder.add(state)
        else:
            self._recorder.start(state, goal)
        self._started = True
        return state, goal

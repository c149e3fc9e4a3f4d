"""Evaluation with a progress bar and result files, as used by several commands."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gymnasium.utils.seeding import np_random

from jostle.cli.bars import progress_bar
from jostle.core.protocols import Policy
from jostle.envs.episode_files import stored_env_kwargs
from jostle.envs.options import split_options
from jostle.envs.vary_check import check_varied_episodes
from jostle.envs.vector import TabletopVectorEnv
from jostle.evaluation.evaluate import Evaluation, episode_set, evaluate
from jostle.evaluation.tracing import TracingPolicy
from jostle.rollout.rollout import Step
from jostle.tasks.catalog import TASKS
from jostle.tasks.episode import EpisodeSpec
from jostle.tasks.vary import NO_VARIATION, Vary
from jostle.zoo.agents import load_policy, required_env_kwargs


@dataclass(frozen=True, kw_only=True)
class EvalJob:
    """Which agent, by name, is evaluated on which fixed episodes."""

    agent: str
    task: str
    episodes: int
    num_envs: int
    objects: int | tuple[int, int] | None = None
    seed: int = 0
    colors: str | tuple[str, ...] = "fixed"
    vary: Vary = NO_VARIATION
    device: str = "auto"
    stored: tuple[EpisodeSpec, ...] = ()
    """Frozen episodes to play instead of those of seeds."""

    def make_env(self, **options: Any) -> TabletopVectorEnv:
        """Build the task's environments; `options` are those the agent needs."""
        if self.stored:
            task, kwargs = stored_env_kwargs(self.stored, options)
            num_envs = min(self.num_envs, len(self.stored))
            return TabletopVectorEnv(num_envs, task, autoreset_mode="Disabled", **kwargs)
        return TabletopVectorEnv(
            min(self.num_envs, max(self.episodes, 1)),
            TASKS[self.task].name,
            objects=self.objects,
            colors=self.colors,
            autoreset_mode="Disabled",
            **self.vary.env_kwargs(options, self.agent),
        )

    def check(self) -> None:
        """Refuse variations that are impossible in any of the episodes."""
        seeds = range(self.seed, self.seed + self.episodes)
        check_varied_episodes(self.vary, self.task, self._env_kwargs(), seeds)

    def episode_set(self) -> str:
        """Content hash of the episodes, sampled without simulating them."""
        options, task_options = split_options(self._env_kwargs())
        sampler = options.episode_sampler(TASKS[self.task].name, task_options)
        seeds = range(self.seed, self.seed + self.episodes)
        return episode_set(sampler.sample(np_random(seed)[0]).digest for seed in seeds)

    def _env_kwargs(self) -> dict[str, Any]:
        options = self.vary.env_kwargs(required_env_kwargs(self.agent), self.agent)
        return {"objects": self.objects, "colors": self.colors, **options}


def evaluate_with_bar(
    job: EvalJob, eval_noise: float | None = None, causes: bool = False
) -> Evaluation:
    """Evaluate an agent.

    Args:
        job: The agent and its episodes.
        eval_noise: Standard deviation of the evaluation noise instead of the agent's own.
        causes: Also find out why episodes failed.
    """
    env = job.make_env(**required_env_kwargs(job.agent))
    try:
        policy = load_policy(job.agent, env, eval_noise, job.device)
        label = job.agent + ("" if eval_noise is None else f" (noise {eval_noise:g})")
        traced = TracingPolicy(policy, env) if causes else None
        result = evaluate_policy(
            env, traced or policy, label, job.episodes, job.seed, stored=job.stored
        )
        if traced is not None:
            result = result.with_causes(traced.causes(result.episodes))
        return replace(result, vary=str(job.vary))
    finally:
        env.close()


def evaluate_policy(
    env: TabletopVectorEnv,
    policy: Policy,
    label: str,
    episodes: int,
    seed: int,
    on_step: Callable[[Step], None] | None = None,
    stored: Sequence[EpisodeSpec] = (),
) -> Evaluation:
    """Evaluate a policy in its environment with a progress bar; `label` names it in results."""
    task = env.episode_sampler.task
    steps = task.evaluation_steps(env.episode_sampler.max_objects) + 1
    batches = -(-episodes // env.num_envs)
    total = steps * batches * env.num_envs
    with progress_bar(total, "step", f"{task.name} {label}") as bar:

        def tick(step: Step) -> None:
            bar.update(env.num_envs)
            if on_step is not None:
                on_step(step)

        return evaluate(env, policy, label, episodes, seed, tick, stored)


def write_results(out: Path, page: str, evaluations: Sequence[Evaluation]) -> None:
    """Write OUT.md, and OUT.jsonl with one line per episode."""
    out.parent.mkdir(parents=True, exist_ok=True)
    out.with_suffix(".md").write_text(page)
    with out.with_suffix(".jsonl").open("w") as file:
        for result in evaluations:
            head = {"task": result.task, "agent": result.agent, "objects": result.objects}
            if result.vary:
                head["vary"] = result.vary
            for row in result.rows():
                file.write(json.dumps({**head, **row}) + "\n")

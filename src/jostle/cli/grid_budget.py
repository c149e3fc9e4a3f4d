"""How long a grid takes, and how many episodes fit into a time limit."""

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace

import numpy as np

from jostle.cli.eval_jobs import EvalJob
from jostle.core.errors import BadValueError
from jostle.rollout.rollout import Step, rollout
from jostle.tasks.catalog import TASKS
from jostle.zoo.agents import load_policy, required_env_kwargs

_TRIAL_STEPS = 8
"""Steps that are timed."""
_EPISODES = (400, 200, 100, 50, 25, 10)
"""Numbers of episodes to choose from."""


def measure_step(job: EvalJob, num_envs: int) -> float:
    """Seconds that one step of one environment takes, measured on a few steps."""
    moments: list[float] = []

    def on_step(step: Step) -> None:
        del step
        moments.append(time.monotonic())

    trial = replace(job, episodes=num_envs)
    with closing(trial.make_env(**required_env_kwargs(job.agent))) as env:
        rollout(env, load_policy(job.agent, env), _TRIAL_STEPS, seed=job.seed, on_step=on_step)
        return float(np.median(np.diff(moments)[1:])) / env.num_envs


def estimate_seconds(jobs: Sequence[EvalJob], step_seconds: float, num_envs: int) -> float:
    """Seconds that evaluations take; more objects take longer in proportion."""
    if not jobs:
        return 0.0
    usual = max(_objects(jobs[0]), 1)
    total = 0.0
    for job in jobs:
        envs = min(num_envs, job.episodes)
        rounds = -(-job.episodes // envs)
        steps = TASKS[job.task].evaluation_steps(_objects(job))
        total += step_seconds * rounds * envs * steps * max(_objects(job) / usual, 0.5)
    return total


def choose_episodes(
    jobs: Sequence[EvalJob],
    step_seconds: float,
    num_envs: int,
    wanted: int | None,
    minutes: float | None,
) -> int:
    """Episodes per cell: those wanted, or the most that fit into the time limit."""
    if wanted is not None or minutes is None:
        return wanted or _EPISODES[0]
    for episodes in _EPISODES:
        planned = [replace(job, episodes=episodes) for job in jobs]
        if estimate_seconds(planned, step_seconds, num_envs) <= 60 * minutes:
            return episodes
    least = estimate_seconds(
        [replace(job, episodes=_EPISODES[-1]) for job in jobs], step_seconds, num_envs
    )
    raise BadValueError(
        f"Even with {_EPISODES[-1]} episodes per cell this grid of {len(jobs)} cells takes about "
        f"{least / 60:.0f} min, more than the {minutes:g} min that it may take. Give it more with "
        "--minutes, or name fewer --factors."
    )


def _objects(job: EvalJob) -> int:
    objects = TASKS[job.task].objects if job.objects is None else job.objects
    return objects if isinstance(objects, int) else max(objects)

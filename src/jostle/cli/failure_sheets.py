"""`jostle video --failures`: a sheet of failed episodes for each cause."""

from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from jostle.cli.eval_jobs import EvalJob, evaluate_policy
from jostle.cli.video import VideoConfig, file_name
from jostle.core.checks import check_output
from jostle.core.errors import require
from jostle.evaluation.evaluate import Evaluation
from jostle.evaluation.failures import CAUSES
from jostle.evaluation.tracing import TracingPolicy
from jostle.reports.failures import cause_table, failure_sheet
from jostle.reports.video import Frame, check_packages, save_image
from jostle.rollout.recording import VideoRenderer
from jostle.rollout.rollout import Step
from jostle.tasks.catalog import TASKS
from jostle.tasks.vary import parse_vary
from jostle.zoo.agents import load_policy, required_env_kwargs

_SHOWN = 4
"""Moments of an episode that a sheet shows, besides its goal."""
_MAX_EPISODES = 5
"""Episodes per sheet."""
_MAX_ENVS = 50


@dataclass
class _Moments:
    """Frames of all episodes of an evaluation at a few of its steps."""

    renderer: VideoRenderer
    steps: list[int]
    count: int = 0
    batch: list[list[Frame]] = field(default_factory=list)
    episodes: list[list[Frame]] = field(default_factory=list)

    def record(self, step: Step) -> None:
        """Render the first view of every environment at the chosen steps, and then the goals."""
        del step
        if self.count in self.steps:
            self.batch.append(list(self.renderer.render()[:, 0]))
        self.count += 1
        if self.count > self.steps[-1]:
            self.batch.append(list(self.renderer.render_goals()[:, 0]))
            self.episodes += [list(frames) for frames in zip(*self.batch, strict=True)]
            self.batch, self.count = [], 0


def make_failure_sheets(config: VideoConfig) -> tuple[str, list[Path]]:
    """Evaluate an agent; the shares of causes as a table, and the paths of the sheets."""
    require(len(config.agent) == 1, "Sheets of failures are of one agent: name one.")
    check_packages(video=False)
    check_output(config.out, folder=True)
    job = EvalJob(
        agent=config.agent[0],
        task=TASKS[config.task].name,
        objects=config.objects,
        episodes=config.episodes,
        num_envs=_MAX_ENVS,
        seed=config.seed,
        colors=config.color_option,
        vary=parse_vary(config.vary),
    )
    job.check()
    require(config.steps is None, "Sheets of failures show whole episodes: leave out --steps.")
    env = job.make_env(**required_env_kwargs(job.agent))
    with (
        closing(env),
        closing(VideoRenderer(env, config.size, config.camera, ghosts=False)) as renderer,
    ):
        sampler = env.episode_sampler
        length = sampler.task.evaluation_steps(sampler.max_objects)
        moments = _Moments(renderer, np.linspace(0, length, _SHOWN).astype(int).tolist())
        policy = TracingPolicy(load_policy(job.agent, env), env)
        result = evaluate_policy(env, policy, job.agent, job.episodes, job.seed, moments.record)
    result = replace(result, vary=str(job.vary)).with_causes(policy.causes(result.episodes))
    table = cause_table([result]) or f"No failure in {job.episodes} episodes.\n"
    return table, _save_sheets(config, result, moments)


def _save_sheets(config: VideoConfig, result: Evaluation, moments: _Moments) -> list[Path]:
    titles = [*(f"step {step}" for step in moments.steps), "goal"]
    paths = []
    for cause in CAUSES:
        failed = [episode.number for episode in result.episodes if episode.cause == cause]
        if failed:
            rows = [(config.seed + n, moments.episodes[n]) for n in failed[:_MAX_EPISODES]]
            sheet = failure_sheet(
                f"{cause}: {len(failed)} of {len(result.episodes)} episodes", rows, titles
            )
            name = f"{file_name(config)}-{cause.replace(' ', '-')}.png"
            paths.append(save_image(sheet, config.out / name))
    return paths

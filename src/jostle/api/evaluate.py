"""Evaluation of any policy on fixed episodes."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from jostle.core.errors import BadValueError, require
from jostle.core.extras import explain
from jostle.core.protocols import Policy
from jostle.envs.vary_check import check_varied_episodes
from jostle.envs.vector import TabletopVectorEnv
from jostle.evaluation import evaluate as evaluation
from jostle.oracles.catalog import SCRIPTED
from jostle.tasks.catalog import TASKS
from jostle.tasks.vary import Vary, parse_vary

if TYPE_CHECKING:  # trained agents need the extra 'train', policies of your own do not
    from jostle.api.agent import LoadedAgent


@dataclass(frozen=True)
class EvaluationResult:
    """Episodes of one agent on one task."""

    evaluation: evaluation.Evaluation

    @property
    def success(self) -> float:
        """Fraction of episodes that end with every object at its goal."""
        return self.evaluation.mean("success")

    @property
    def interval(self) -> tuple[float, float]:
        """95 % Wilson interval of the success."""
        return self.evaluation.interval()

    @property
    def summary(self) -> dict[str, Any]:
        """Means of the paper's five metrics, and what was evaluated."""
        return self.evaluation.summary()

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row per episode."""
        return self.evaluation.rows()

    def to_pandas(self) -> Any:
        """One row per episode as a data frame; needs pandas."""
        import pandas

        return pandas.DataFrame(self.rows)


class _Predicts:
    """A Stable-Baselines3 model as a policy."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def act(self, observation: Any) -> NDArray[np.float32]:
        actions: NDArray[np.float32] = self._model.predict(observation, deterministic=True)[0]
        return actions


def evaluate(
    agent: Any,
    task: str | None = None,
    episodes: int = 100,
    seed: int = 0,
    num_envs: int = 50,
    eval_noise: float | None = None,
    vary: str | Sequence[str] | Vary | None = None,
    **env_kwargs: Any,
) -> EvaluationResult:
    """Evaluate an agent on the episodes with seeds `seed`, `seed + 1`, ...

    Args:
        agent: A loaded agent or its name, `oracle`, `random`, anything with `act(observation)` for
            a batch of observations, or a model of Stable-Baselines3.
        task: Name of a task; a loaded agent's own by default.
        episodes: Number of episodes.
        seed: Seed of the first one.
        num_envs: Episodes that run at once.
        eval_noise: Standard deviation of the evaluation noise instead of a loaded agent's own.
        vary: What differs from the task, as for `jostle evaluate --vary`: "mass=x20 light=0.7".
        env_kwargs: Options of the environment, such as `objects=6` or `colors="random"`.
    """
    factors = parse_vary(vary)
    if isinstance(agent, str) and agent not in SCRIPTED:
        agent = _load(agent)
    if task is None:
        if not _is_loaded(agent):
            raise BadValueError("Name the task: only a loaded agent has one of its own.")
        task = agent.task
        env_kwargs = {"objects": agent.experiment.objects, **env_kwargs}
    needed = agent.env_kwargs if _is_loaded(agent) else {}
    _check_cameras(needed.get("cameras", ()), env_kwargs.get("cameras", ()))
    num_envs = min(num_envs, max(episodes, 1))
    name = agent if isinstance(agent, str) else getattr(agent, "name", type(agent).__name__)
    options = factors.env_kwargs({**needed, **env_kwargs, "autoreset_mode": "Disabled"}, name)
    check_varied_episodes(factors, task, options, range(seed, seed + episodes))
    env = TabletopVectorEnv(num_envs, TASKS[task].name, **options)
    try:
        policy, name = _policy(agent, env, eval_noise)
        result = evaluation.evaluate(env, policy, name, episodes, seed)
        return EvaluationResult(replace(result, vary=str(factors)))
    finally:
        env.close()


def _check_cameras(known: Sequence[str], cameras: Sequence[Any]) -> None:
    """Refuse cameras that a pixel agent, which knows others, would not look at."""
    for camera in cameras if known else ():
        require(
            getattr(camera, "name", camera) in known,
            f"This agent was not trained on the camera {camera!r}, only on {', '.join(known)}.",
        )


def _load(name: str) -> "LoadedAgent":
    try:
        from jostle.api.agent import load_agent
    except ImportError as error:
        raise explain(f"The agent '{name}'", error) from error
    return load_agent(name)


def _is_loaded(agent: Any) -> "TypeGuard[LoadedAgent]":
    """Whether it is a trained agent; if so, its module was imported."""
    module = sys.modules.get("jostle.api.agent")
    return module is not None and isinstance(agent, module.LoadedAgent)


def _policy(agent: Any, env: TabletopVectorEnv, eval_noise: float | None) -> tuple[Policy, str]:
    """A policy for an environment, and its name."""
    if _is_loaded(agent):
        return agent.policy(env, eval_noise), agent.name
    if eval_noise is not None:
        raise BadValueError("Evaluation noise is for agents of this package.")
    if isinstance(agent, str):
        return SCRIPTED[agent](env.episode_sampler.task), agent
    if hasattr(agent, "act"):
        return agent, type(agent).__name__
    if hasattr(agent, "predict"):
        return _Predicts(agent), type(agent).__name__
    raise BadValueError(
        f"A {type(agent).__name__} is no policy: it needs act(observation), which gives one action "
        "per environment, or predict(observation) as in Stable-Baselines3."
    )

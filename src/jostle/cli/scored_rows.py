"""Rows of results with what identifies them, so that a measurement is made once."""

from typing import Any

from jostle.cli.eval_jobs import EvalJob, evaluate_with_bar
from jostle.evaluation.evaluate import Evaluation
from jostle.evaluation.scores import cache_key, digest, read_scores
from jostle.oracles.catalog import SCRIPTED
from jostle.zoo.agents import find_weights_file, is_class, training_history
from jostle.zoo.registry import agents, describe_history

Cache = dict[tuple[Any, ...], dict[str, Any]]


def zoo_scores() -> Cache:
    """Scores with which the zoo's agents were registered."""
    scores: Cache = {}
    for entry in agents().values():
        scores |= read_scores(entry.weights.with_suffix(".json"))
    return scores


def identity(job: EvalJob, agent: str) -> dict[str, Any]:
    """What distinguishes a measurement from others; `agent` names it in the row."""
    scripted = job.agent in SCRIPTED or is_class(job.agent)
    return {
        "agent": agent,
        "weights": f"script {job.agent}" if scripted else digest(find_weights_file(job.agent)),
        "task": job.task,
        "requested_objects": job.objects,
        "colors": job.colors,
        **({"vary": str(job.vary)} if job.vary else {}),
        "episodes": job.episodes,
        "episode_set": job.episode_set(),
    }


def cached_row(job: EvalJob, agent: str, cache: Cache) -> dict[str, Any] | None:
    """The row of a measurement that was made before."""
    known = identity(job, agent)
    scores = cache.get(cache_key(known))
    return None if scores is None else _row(job, known, scores)


def evaluated_row(job: EvalJob, agent: str) -> tuple[dict[str, Any], Evaluation]:
    """Evaluate a job: its row, and all episodes."""
    evaluation = evaluate_with_bar(job)
    return _row(job, identity(job, agent), evaluation.summary()), evaluation


def _row(job: EvalJob, known: dict[str, Any], scores: dict[str, Any]) -> dict[str, Any]:
    scripted = job.agent in SCRIPTED or is_class(job.agent)
    trained = "scripted" if scripted else describe_history(training_history(job.agent))
    scores = {name: value for name, value in scores.items() if name != "vary"}
    return {**scores, **known, "trained": trained}

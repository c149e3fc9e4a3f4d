"""Promotion of agents into the zoo: only weights better than the present ones are registered."""

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from jostle.core.checkpoint import load, save
from jostle.core.checksums import forget_checksum, record_checksum
from jostle.core.errors import BadValueError, JostleError
from jostle.core.profiler import time_summary
from jostle.evaluation.compare import compare
from jostle.evaluation.evaluate import Evaluation
from jostle.evaluation.scores import digest, write_scores
from jostle.reports.learning_curves import plot_learning_curves, read_learning_curve
from jostle.runs.run_dir import RunDir, critics_file, encoder_file
from jostle.training.components import evaluate_agent
from jostle.training.experiment import Experiment, read_experiment
from jostle.training.load import load_agent
from jostle.zoo.commands import train_command
from jostle.zoo.encoders import encoder_finder, find_encoder_by_hash
from jostle.zoo.folders import user_zoo
from jostle.zoo.registry import (
    ModelEntry,
    check_new_name,
    describe_history,
    describe_methods,
    find_own,
    learned_alone,
    registry,
    update_card,
    write_card,
)

Log = Callable[[str], None]


def promote_agent(
    name: str,
    run: RunDir,
    log: Log,
    zoo: Path | None = None,
    episodes: int = 400,
    weights: Path | None = None,
    critics: bool = False,
) -> float:
    """Register a run's weights as `name` if they are better than those the zoo has by that name.

    Both are evaluated on the same episodes. `weights` are the run's best ones by default, `zoo` is
    the user's own. With `critics`, what else a training needs to start from them is added.

    Returns:
        The success rate of the better weights.
    """
    zoo = zoo or user_zoo()
    check_new_name(name, zoo)
    weights = weights or run_weights(run)
    if critics:
        _find_critics(weights)
    new = _evaluate(weights, episodes, zoo)
    entry = registry(zoo).get(name)
    if entry is not None:
        old = _evaluate(entry.weights, episodes, zoo)
        paired = compare(new, old)
        log(f"{name}: {paired.verdict('new', 'old')}")
        if paired.only_first <= paired.only_second:
            return old.mean("success")
    _register_run(name, run, weights, new, zoo)
    if critics:
        add_critics(weights, zoo / f"{name}.safetensors")
    log(f"{name}: registered, success {new.mean('success'):.3f}")
    return new.mean("success")


def add_critics(weights: Path, target: Path) -> None:
    """Put the critics and target networks of some weights beside an agent of the zoo."""
    source, copy = _find_critics(weights), critics_file(target)
    part = copy.with_suffix(".part")
    shutil.copyfile(source, part)
    forget_checksum(copy)
    part.replace(copy)
    record_checksum(copy)


def _find_critics(weights: Path) -> Path:
    """The file of critics beside some weights."""
    file = critics_file(weights)
    if not file.is_file():
        raise BadValueError(f"There are no critics beside {weights}: {file.name} is missing.")
    return file


def run_weights(run: RunDir, final: bool = False, eval_noise: float | None = None) -> Path:
    """Path of a run's best (or final) weights; with another evaluation noise, that of a copy.

    Raises:
        BadValueError: The run has no such weights yet.
    """
    weights = run.final if final else run.best
    if not weights.exists():
        missing = "The training is not finished" if final else "There is no evaluation yet"
        raise BadValueError(f"{missing} in {run.path}: train a little longer.")
    if eval_noise is None:
        return weights
    target = weights.with_stem(f"{weights.stem}-eval-noise")
    write_eval_noise(weights, target, eval_noise)
    return target


def write_eval_noise(weights: Path, target: Path, std: float) -> Experiment:
    """Write a copy of weights with evaluation noise of standard deviation `std`."""
    tensors, meta = load(weights)
    experiment = read_experiment(meta["experiment"])
    changed = replace(experiment, explore=replace(experiment.explore, eval_noise_std=std))
    save(target, tensors, meta | {"experiment": changed.to_dict()})
    return changed


def _evaluate(weights: Path, episodes: int, zoo: Path) -> Evaluation:
    experiment, agent = load_agent(weights, encoder_finder(zoo))
    return evaluate_agent(experiment, agent, episodes, seed=0, num_envs=100)


def _register_run(name: str, run: RunDir, weights: Path, score: Evaluation, zoo: Path) -> None:
    """Write card, learning curve and weights into the zoo; the weights last, and atomically."""
    zoo.mkdir(parents=True, exist_ok=True)
    target = zoo / f"{name}.safetensors"
    tensors, meta = load(weights)
    trained = read_experiment(meta["experiment"])
    experiment = _with_named_teacher(trained, zoo)
    profile = time_summary(run.rows())
    source = "pixels" if experiment.encoder else "true state"
    source = "objects found in pixels" if experiment.entities == "objects" else source
    history = meta.get("history", [])
    facts = {
        **({"teacher": "none at any stage"} if learned_alone(history) else {}),
        "task": f"{score.task}, {score.objects} objects, {source}",
        "method": describe_methods(history) or experiment.training.method,
        "network": _network(experiment),
        **score_facts(score),
        "trained with": train_command(experiment),
        "history": describe_history(history),
        **({"time": profile} if profile else {}),
        "provenance": json.loads((run.path / "provenance.json").read_text()),
    }
    colors = " --colors random" if experiment.colors == "random" else ""
    count = f" --objects {experiment.objects}" if isinstance(experiment.objects, int) else ""
    vary = f" --vary {score.vary}" if score.vary else ""
    flags = f"--task {score.task}{count}{colors}{vary} --episodes {len(score.episodes)}"
    notes = f"Evaluated with `jostle evaluate {name} {flags}`."
    try:
        curve = plot_learning_curves(
            {name: [read_learning_curve(run)]}, target.with_suffix(".png"), title=name
        )
        notes += f"\n\n![success while training]({curve.name})"
    except (ImportError, JostleError):  # the card is complete without the plot
        pass
    write_card(
        ModelEntry(name, target, target.with_suffix(".md")),
        f"{name}: {score.task} from {source}",
        facts,
        notes,
    )
    _copy_encoder(meta, run, target, zoo)
    part = target.with_suffix(".part")
    if experiment == trained:
        shutil.copyfile(weights, part)
    else:
        save(part, tensors, meta | {"experiment": experiment.to_dict()})
    register(name, target, experiment, score)


def _with_named_teacher(experiment: Experiment, zoo: Path) -> Experiment:
    """A teacher that was given by its path gets its name in the zoo, or that of its folder."""
    path = Path(experiment.training.teacher).expanduser()
    if experiment.training.method != "dagger" or not path.exists():
        return experiment
    weights = run_weights(RunDir(path)) if path.is_dir() else path
    content = digest(weights)
    known = (name for name, entry in registry(zoo).items() if digest(entry.weights) == content)
    teacher = next(known, path.stem)
    return replace(experiment, training=replace(experiment.training, teacher=teacher))


def success_text(score: Evaluation) -> str:
    """Success with its 95 % interval."""
    low, high = score.interval()
    return f"{score.mean('success'):.3f} [{low:.3f}, {high:.3f}]"


def score_facts(score: Evaluation) -> dict[str, object]:
    """Rows of a card that describe an evaluation."""
    return {
        "success": success_text(score),
        "success fraction": f"{score.mean('success_fraction'):.3f}",
        "average distance": f"{score.mean('average_distance'):.4f}",
        "maximum distance": f"{score.mean('maximum_distance'):.4f}",
        "average return": f"{score.mean('average_return'):.3f}",
        "episodes": f"{len(score.episodes)}, set {score.digest}, MuJoCo {score.mujoco}",
    }


def register(name: str, target: Path, experiment: Experiment, score: Evaluation) -> None:
    """Move `target`.part to `target`, and write the scores of these weights beside it."""
    part = target.with_suffix(".part")
    _write_scores(name, part, experiment, score)
    place(part, target)


def place(part: Path, target: Path) -> None:
    """Move a file to its place in a zoo, and list its checksum."""
    forget_checksum(target)  # an interruption leaves a file that is not listed, not a wrong one
    part.replace(target)
    record_checksum(target)


def rescore_agent(name: str, log: Log, zoo: Path | None = None, episodes: int = 400) -> Evaluation:
    """Evaluate an agent of the zoo again, as after a change of its task; weights stay as they are.

    Its card and the scores beside its weights are written anew. The agent is one of the user's own,
    unless `zoo` names the folder of another zoo.
    """
    entry = find_own(name, zoo)
    experiment = read_experiment(load(entry.weights)[1]["experiment"])
    score = _evaluate(entry.weights, episodes, entry.weights.parent)
    update_card(entry, score_facts(score))
    command = re.sub(r"--episodes \d+`", f"--episodes {episodes}`", entry.card.read_text())
    entry.card.write_text(command)
    _write_scores(entry.name, entry.weights, experiment, score)
    log(f"{entry.name}: success {score.mean('success'):.3f} in {episodes} episodes")
    return score


def _write_scores(name: str, weights: Path, experiment: Experiment, score: Evaluation) -> None:
    identity = {
        "agent": name,
        "weights": digest(weights),
        "requested_objects": experiment.objects,
        "colors": experiment.colors,
    }
    write_scores(weights.with_suffix(".json"), [{**score.summary(), **identity}])


def _copy_encoder(meta: dict[str, Any], run: RunDir, target: Path, zoo: Path) -> None:
    """Put the encoder of a pixel agent beside its weights, unless it is in the zoo."""
    beside = encoder_file(target)
    if "encoder" in meta and find_encoder_by_hash(meta["encoder"]["hash"], zoo) is None:
        part = beside.with_suffix(".part")
        shutil.copyfile(run.encoder, part)
        place(part, beside)
    else:
        forget_checksum(beside)
        beside.unlink(missing_ok=True)


def _network(experiment: Experiment) -> str:
    critics = ", unstructured critics" if experiment.net.critic_arch != "same" else ""
    return f"{experiment.net.arch}{critics}"

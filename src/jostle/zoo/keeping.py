"""Onto the shelf: only what is better than what is there, with a card and a curve."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from jostle.core.checkpoint import load, save
from jostle.core.clock import time_told
from jostle.core.errors import BadValueError, JostleError
from jostle.core.rundir import RunDir
from jostle.evaluation.compare import compare
from jostle.evaluation.examine import Examination
from jostle.evaluation.scores import digest, write_scores
from jostle.presets.catalog import PRESETS
from jostle.reports.curves import draw_curves, read_curve
from jostle.training.experiment import Experiment, differences, read_experiment
from jostle.training.recall import recall
from jostle.training.workshop import examine_agent
from jostle.zoo.shelf import FOLDER, Entry, chapters, lanes, shelf, write_card

Tell = Callable[[str], None]


def keep_if_better(
    name: str,
    run: RunDir,
    tell: Tell,
    zoo: Path = FOLDER,
    episodes: int = 400,
    weights: Path | None = None,
) -> float:
    """Compare a run's best weights, or those that are named, with the shelf's on the same episodes.

    Returns:
        The success of the better ones.
    """
    weights = weights or weights_of(run)
    fresh = _examine(weights, episodes)
    held = shelf(zoo).get(name)
    if held is not None:
        old = _examine(held.weights, episodes)
        paired = compare(fresh, old)
        tell(f"{name}: {paired.verdict('new', 'old')}")
        if paired.only_first <= paired.only_second:
            return old.mean("success")
    _keep(name, run, weights, fresh, zoo)
    tell(f"{name}: kept, success {fresh.mean('success'):.3f}")
    return fresh.mean("success")


def weights_of(run: RunDir, final: bool = False, restless: float | None = None) -> Path:
    """Find a run's best (or final) weights; with noise of their own, they are a file of their own.

    Raises:
        BadValueError: There are none yet.
    """
    weights = run.final if final else run.best
    if not weights.exists():
        missing = "The run has not come to its end" if final else "Nothing was examined yet"
        raise BadValueError(f"{missing} in {run.path}: train a little longer.")
    if restless is None:
        return weights
    target = weights.with_stem(f"{weights.stem}-restless")
    write_restless(weights, target, restless)
    return target


def write_restless(weights: Path, target: Path, level: float) -> Experiment:
    """Write the same weights for use with noise of deviation `level`."""
    tensors, meta = load(weights)
    experiment = read_experiment(meta["experiment"])
    changed = replace(experiment, explore=replace(experiment.explore, restless=level))
    save(target, tensors, meta | {"experiment": changed.to_dict()})
    return changed


def _examine(weights: Path, episodes: int) -> Examination:
    experiment, agent = recall(weights)
    return examine_agent(experiment, agent, episodes, seed=0, copies=100)


def _keep(name: str, run: RunDir, weights: Path, score: Examination, zoo: Path) -> None:
    """Put weights, card and curve on the shelf; the weights appear last and at once."""
    zoo.mkdir(parents=True, exist_ok=True)
    target = zoo / f"{name}.safetensors"
    experiment, _ = recall(weights)
    spent = time_told(run.rows())
    source = "pixels" if experiment.encoder else "true state"
    history = load(weights)[1].get("history", [])
    facts = {
        "task": f"{score.task}, {score.objects} objects, {source}",
        "lane": lanes(history) or experiment.training.lane,
        "network": _network(experiment),
        **told_score(score),
        "trained with": _command(experiment),
        "history": chapters(history),
        **({"where the time went": spent} if spent else {}),
        "provenance": json.loads((run.path / "provenance.json").read_text()),
    }
    colors = " --colors random" if experiment.colors == "random" else ""
    count = f" --objects {experiment.objects}" if isinstance(experiment.objects, int) else ""
    played = f"--task {score.task}{count}{colors} --episodes {len(score.episodes)}"
    notes = f"Scored by `jostle evaluate {name} {played}`."
    try:
        curve = draw_curves({name: read_curve(run.metrics)}, target.with_suffix(".png"))
        notes += f"\n\n![success while training]({curve.name})"
    except (ImportError, JostleError):  # the picture is a nicety
        pass
    write_card(
        Entry(name, target, target.with_suffix(".md")),
        f"{name}: {score.task} from {source}",
        facts,
        notes,
    )
    shutil.copyfile(weights, target.with_suffix(".part"))
    shelve(name, target, experiment, score)


def told_score(score: Examination) -> dict[str, object]:
    """What a card says of an examination."""
    low, high = score.interval()
    return {
        "success": f"{score.mean('success'):.3f} [{low:.3f}, {high:.3f}]",
        "success fraction": f"{score.mean('success_fraction'):.3f}",
        "average distance": f"{score.mean('average_distance'):.4f}",
        "episodes": f"{len(score.episodes)}, set {score.digest}",
    }


def shelve(name: str, target: Path, experiment: Experiment, score: Examination) -> None:
    """Put the weights that lie beside `target` in its place, and their score beside them."""
    part = target.with_suffix(".part")
    named = {
        "agent": name,
        "weights": digest(part),
        "wanted_objects": experiment.objects,
        "colors": experiment.colors,
    }
    write_scores(target.with_suffix(".json"), [{**score.summary(), **named}])
    part.replace(target)


def _network(experiment: Experiment) -> str:
    critics = ", unstructured critics" if experiment.net.critics != "same" else ""
    return f"{experiment.net.kind}{critics}"


def _command(experiment: Experiment) -> str:
    """The command that trains alike, and what differs from the preset."""
    command = f"`jostle train {experiment.name} --seed {experiment.seed}`"
    if experiment.name not in PRESETS:
        return command
    other = [text for text in differences(PRESETS[experiment.name], experiment)
             if not text.startswith(("seed", "training.threads"))]  # fmt: skip
    return command + (f"; other than the preset's: {'; '.join(other)}" if other else "")

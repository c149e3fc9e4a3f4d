"""Encoders onto the shelf: only what is better than what is there, with a card and a curve."""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from jostle.core.errors import BadValueError, JostleError
from jostle.core.rundir import RunDir
from jostle.particles.catalog import KINDS, EncoderConfig, Model
from jostle.particles.saving import load_encoder
from jostle.pretraining.bench import open_bench
from jostle.pretraining.config import Pretraining, differences, read_pretraining, recipe
from jostle.pretraining.validation import validate
from jostle.reports.curves import draw_curves, read_curve
from jostle.zoo.keeping import Tell
from jostle.zoo.shelf import FOLDER, Entry, shelf, write_card


def better(new: Mapping[str, float], old: Mapping[str, float]) -> bool:
    """Judge by what `validate` said of two encoders on the same scenes."""
    return new["val_loss"] < old["val_loss"]


def is_encoder_run(run: RunDir) -> bool:
    """Tell runs of 'jostle pretrain' from those of 'jostle train'."""
    return "kind" in run.read_experiment()


def keep_encoder_if_better(name: str, run: RunDir, tell: Tell, zoo: Path = FOLDER) -> float:
    """Compare a run's best with the shelf's weights on the run's own validation scenes.

    Returns:
        The validation loss of the better.
    """
    if not run.best.exists():
        raise BadValueError(f"Nothing was validated yet in {run.path}: train a little longer.")
    model, meta = load_encoder(run.best)
    score: dict[str, float] = meta["score"]
    held = shelf(zoo).get(name)
    if held is not None:
        old = _score(held, run)
        tell(f"{name}: validation loss {score['val_loss']:.5g} new, {old['val_loss']:.5g} old")
        if not better(score, old):
            return old["val_loss"]
    _keep(name, run, model, meta, zoo)
    tell(f"{name}: kept, validation loss {score['val_loss']:.5g}")
    return score["val_loss"]


def _score(held: Entry, run: RunDir) -> dict[str, float]:
    """What the weights on the shelf reach on a run's validation scenes."""
    plan = read_pretraining(run.read_experiment())
    if held.encoder != plan.kind:
        raise BadValueError(
            f"The zoo's '{held.name}' is {held.encoder or 'an agent'}, not {plan.kind}. "
            "Choose another name."
        )
    return validate(load_encoder(held.weights)[0], open_bench(replace(plan, device="cpu")))


def _keep(name: str, run: RunDir, model: Model, meta: dict[str, Any], zoo: Path) -> None:
    """Put weights, card and curve on the shelf; the weights appear last and at once."""
    zoo.mkdir(parents=True, exist_ok=True)
    target = zoo / f"{name}.safetensors"
    plan = read_pretraining(meta["pretraining"])
    entities, width = model.shape
    facts = {
        "encoder": plan.kind,
        "frames": f"{plan.model.image} x {plan.model.image} pixels",
        "entities": f"{entities} per view, {width} features each",
        "weights": f"{sum(weight.numel() for weight in model.parameters()):,}",
        "validation loss": f"{meta['score']['val_loss']:.5g}",
        "pixels": f"{meta['score']['val_pixels']:.5g}",
        "validated on": f"{plan.validation_scenes} scenes of episodes kept apart",
        "trained with": _command(plan),
        "history": chapters(meta["history"]),
        "frames from": json.dumps(meta["history"][-1]["collected"]),
        "provenance": json.loads((run.path / "provenance.json").read_text()),
    }
    notes = "Loss and pixels are those of the training, on frames it never learnt from."
    try:
        curve = draw_curves({name: read_curve(run.metrics)}, target.with_suffix(".png"))
        notes += f"\n\n![validation while training]({curve.name})"
    except (ImportError, JostleError):  # the picture is a nicety
        pass
    title = f"{name}: {plan.kind} for frames of {plan.model.image} pixels"
    write_card(Entry(name, target, target.with_suffix(".md")), title, facts, notes)
    shutil.copyfile(run.best, target.with_suffix(".part"))
    target.with_suffix(".part").replace(target)


def chapters(history: Sequence[dict[str, Any]]) -> str:
    """Say in a cell what pretrainings an encoder went through."""
    return ", then ".join(
        f"`{one['kind']} --preset {one['preset']}` (seed {one['seed']}): {one['steps']:,} steps, "
        f"{one['images']:,} images of {one['scenes']:,} scenes (data {one['data']}), "
        f"{one['minutes']:.0f} min"
        for one in history
    )


def _command(plan: Pretraining[EncoderConfig]) -> str:
    """The command that pretrains alike, and what differs from the preset."""
    command = f"`jostle pretrain {plan.kind} --preset {plan.preset} --seed {plan.seed}`"
    if plan.preset not in KINDS[plan.kind].presets:
        return command
    free = ("name", "data", "scenes", "seed", "threads", "device")
    other = differences(recipe(plan.kind, plan.preset), plan, but=free)
    return command + (f"; other than the preset's: {'; '.join(other)}" if other else "")

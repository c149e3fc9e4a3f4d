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
from jostle.probing.measure import Measured, measure
from jostle.reports.curves import draw_curves, read_curve
from jostle.zoo.keeping import Tell
from jostle.zoo.shelf import FOLDER, Entry, shelf, write_card

_WORDS = {"val_loss": "validation loss", "recall": "mean recall"}


def better(new: Mapping[str, float], old: Mapping[str, float]) -> bool:
    """Judge two encoders on the same scenes: by recall if it was measured, else by the loss."""
    if "recall" in new and "recall" in old:
        return new["recall"] > old["recall"]
    return new["val_loss"] < old["val_loss"]


def is_encoder_run(run: RunDir) -> bool:
    """Tell runs of 'jostle pretrain' from those of 'jostle train'."""
    return "kind" in run.read_experiment()


def keep_encoder_if_better(
    name: str, run: RunDir, tell: Tell, zoo: Path = FOLDER, folders: Sequence[Path] = ()
) -> float:
    """Compare a run's best with the shelf's weights.

    They are compared on the run's own validation scenes, or by how well they find objects if there
    are `folders` of frames with truth.

    Returns:
        The validation loss of the better.
    """
    if not run.best.exists():
        raise BadValueError(f"Nothing was validated yet in {run.path}: train a little longer.")
    model, meta = load_encoder(run.best)
    probed = [measure(model, folder) for folder in folders]
    score: dict[str, float] = {**meta["score"], **recalled(probed)}
    held = shelf(zoo).get(name)
    if held is not None:
        old = _score(held, run, folders)
        for key in ("val_loss", *(["recall"] if "recall" in score else [])):
            tell(f"{name}: {_WORDS[key]} {score[key]:.5g} new, {old[key]:.5g} old")
        if not better(score, old):
            return old["val_loss"]
    _keep(name, run, model, {**meta, "probed": probed}, zoo)
    tell(f"{name}: kept, validation loss {score['val_loss']:.5g}")
    return score["val_loss"]


def recalled(probed: Sequence[Measured]) -> dict[str, float]:
    """Mean recall over folders, if there are any and the encoder has places at all."""
    found = [one.total.recall for one in probed]
    shares = [share for share in found if share is not None]
    return {"recall": sum(shares) / len(shares)} if shares else {}


def _score(held: Entry, run: RunDir, folders: Sequence[Path]) -> dict[str, float]:
    """What the weights on the shelf reach on a run's validation scenes, and in folders."""
    plan = read_pretraining(run.read_experiment())
    if held.encoder != plan.kind:
        raise BadValueError(
            f"The zoo's '{held.name}' is {held.encoder or 'an agent'}, not {plan.kind}. "
            "Choose another name."
        )
    model = load_encoder(held.weights)[0]
    found = validate(model, open_bench(replace(plan, device="cpu")))
    return {**found, **recalled([measure(model, folder) for folder in folders])}


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
        **{f"probe, {one.name}": _words(one.total.to_dict()) for one in meta["probed"]},
        "trained with": _command(plan),
        "history": chapters(meta["history"]),
        "frames from": json.dumps(meta["history"][-1]["collected"]),
        "provenance": json.loads((run.path / "provenance.json").read_text()),
    }
    notes = "Loss and pixels are those of the training, on frames it never learnt from."
    if meta["probed"]:
        folders = " ".join(one.name for one in meta["probed"])
        notes += (
            f" Probes are those of `jostle probe {name} --data {folders}`; "
            "docs/representations.md tells what they mean and how the folders are collected."
        )
    try:
        curve = draw_curves({name: read_curve(run.metrics)}, target.with_suffix(".png"))
        notes += f"\n\n![validation while training]({curve.name})"
    except (ImportError, JostleError):  # the picture is a nicety
        pass
    title = f"{name}: {plan.kind} for frames of {plan.model.image} pixels"
    write_card(Entry(name, target, target.with_suffix(".md")), title, facts, notes)
    shutil.copyfile(run.best, target.with_suffix(".part"))
    target.with_suffix(".part").replace(target)


def _words(numbers: dict[str, Any]) -> str:
    """The numbers of a folder that matter most, in a cell."""
    told = (
        ("recall", "recall {:.3f}"), ("error_px", "error {:.2f} px"), ("merged", "merged {:.3f}"),
        ("color", "color {:.3f}"), ("jitter_px_95", "jitter {:.2f} px (95 %)"),
        ("table_cm", "table {:.2f} cm"), ("particles", "{:.1f} particles"), ("psnr", "{:.1f} dB"),
    )  # fmt: skip
    found = {key: numbers.get(key) for key, _ in told}
    return ", ".join(words.format(found[key]) for key, words in told if found[key] is not None)


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

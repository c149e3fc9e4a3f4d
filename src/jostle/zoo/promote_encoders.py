"""Promotion of encoders into the zoo: only better ones than the present ones are registered."""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from jostle.core.errors import BadValueError, JostleError
from jostle.encoders.catalog import EncoderModel
from jostle.encoders.saving import load_encoder
from jostle.pretraining.components import build_components
from jostle.pretraining.config import read_pretraining
from jostle.pretraining.validation import validate
from jostle.probing.probe import ProbeResult, probe_encoder
from jostle.reports.learning_curves import plot_learning_curves, read_learning_curve
from jostle.runs.run_dir import RunDir
from jostle.zoo.commands import pretrain_command
from jostle.zoo.folders import user_zoo
from jostle.zoo.promote import Log, place
from jostle.zoo.registry import ModelEntry, check_new_name, registry, write_card

_LABELS = {"val_loss": "validation loss", "recall": "mean recall"}


def is_better(new: Mapping[str, float], old: Mapping[str, float]) -> bool:
    """Compare two encoders on the same scenes: by recall if it was measured, else by the loss."""
    if "recall" in new and "recall" in old:
        return new["recall"] > old["recall"]
    return new["val_loss"] < old["val_loss"]


def is_encoder_run(run: RunDir) -> bool:
    """Whether a run is one of 'jostle pretrain' rather than of 'jostle train'."""
    return "kind" in run.read_experiment()


def promote_encoder(
    name: str, run: RunDir, log: Log, zoo: Path | None = None, folders: Sequence[Path] = ()
) -> float:
    """Register a run's best encoder as `name` if it is better than the one the zoo has.

    The zoo is the user's own by default. Encoders are compared by the loss on the run's own
    validation scenes, or by probe recall if there are `folders` of frames with ground truth.

    Returns:
        The validation loss of the better encoder.
    """
    zoo = zoo or user_zoo()
    check_new_name(name, zoo)
    if not run.best.exists():
        raise BadValueError(f"There is no validation yet in {run.path}: train a little longer.")
    model, meta = load_encoder(run.best)
    probed = [probe_encoder(model, folder) for folder in folders]
    score: dict[str, float] = {**meta["score"], **mean_recall(probed)}
    entry = registry(zoo).get(name)
    if entry is not None:
        old = _score(entry, run, folders)
        for key in ("val_loss", *(["recall"] if "recall" in score else [])):
            log(f"{name}: {_LABELS[key]} {score[key]:.5g} new, {old[key]:.5g} old")
        if not is_better(score, old):
            return old["val_loss"]
    _register_run(name, run, model, {**meta, "probed": probed}, zoo)
    log(f"{name}: registered, validation loss {score['val_loss']:.5g}")
    return score["val_loss"]


def mean_recall(probed: Sequence[ProbeResult]) -> dict[str, float]:
    """Mean recall over folders; empty without folders or if the encoder has no positions."""
    recalls = [result.total.recall for result in probed if result.total.recall is not None]
    return {"recall": sum(recalls) / len(recalls)} if recalls else {}


def _score(entry: ModelEntry, run: RunDir, folders: Sequence[Path]) -> dict[str, float]:
    """Scores of a registered encoder on a run's validation scenes and on folders of frames."""
    plan = read_pretraining(run.read_experiment())
    if entry.encoder != plan.kind:
        raise BadValueError(
            f"The zoo's '{entry.name}' is {entry.encoder or 'an agent'}, not {plan.kind}. "
            "Choose another name."
        )
    model = load_encoder(entry.weights)[0]
    scores = validate(model, build_components(replace(plan, device="cpu")))
    return {**scores, **mean_recall([probe_encoder(model, folder) for folder in folders])}


def _register_run(
    name: str, run: RunDir, model: EncoderModel, meta: dict[str, Any], zoo: Path
) -> None:
    """Write card, learning curve and weights into the zoo; the weights last, and atomically."""
    zoo.mkdir(parents=True, exist_ok=True)
    target = zoo / f"{name}.safetensors"
    plan = read_pretraining(meta["pretraining"])
    entities, width = model.shape
    facts = {
        "encoder": plan.kind,
        "frames": f"{plan.model.image_size} x {plan.model.image_size} pixels",
        "entities": f"{entities} per view, {width} features each",
        "parameters": f"{sum(weight.numel() for weight in model.parameters()):,}",
        "validation loss": f"{meta['score']['val_loss']:.5g}",
        "reconstruction loss": f"{meta['score']['val_reconstruction']:.5g}",
        "validated on": f"{plan.validation_scenes} scenes of held-out episodes",
        **{
            f"probe, {result.name}": _describe_metrics(result.total.to_dict())
            for result in meta["probed"]
        },
        "trained with": pretrain_command(plan),
        "history": describe_history(meta["history"]),
        "frames from": json.dumps(meta["history"][-1]["collected"]),
        "provenance": json.loads((run.path / "provenance.json").read_text()),
    }
    notes = "Losses are those of the training objective on held-out frames."
    if meta["probed"]:
        folders = " ".join(result.name for result in meta["probed"])
        notes += (
            f" Probe metrics are those of `jostle probe {name} --data {folders}`; "
            "docs/representations.md defines them and says how the folders are collected."
        )
    try:
        curve = plot_learning_curves(
            {name: [read_learning_curve(run)]}, target.with_suffix(".png"), title=name
        )
        notes += f"\n\n![validation while training]({curve.name})"
    except (ImportError, JostleError):  # the card is complete without the plot
        pass
    title = f"{name}: {plan.kind} for frames of {plan.model.image_size} pixels"
    write_card(ModelEntry(name, target, target.with_suffix(".md")), title, facts, notes)
    shutil.copyfile(run.best, target.with_suffix(".part"))
    place(target.with_suffix(".part"), target)


def _describe_metrics(metrics: dict[str, Any]) -> str:
    """The most important metrics of one folder, in one table cell."""
    formats = (
        ("recall", "recall {:.3f}"), ("error_px", "error {:.2f} px"), ("merged", "merged {:.3f}"),
        ("color", "color {:.3f}"), ("jitter_px_95", "jitter {:.2f} px (95 %)"),
        ("table_cm", "table {:.2f} cm"), ("particles", "{:.1f} particles"), ("psnr", "{:.1f} dB"),
    )  # fmt: skip
    return ", ".join(
        text.format(metrics[key]) for key, text in formats if metrics.get(key) is not None
    )


def describe_history(history: Sequence[dict[str, Any]]) -> str:
    """Describe the pretraining stages of an encoder in one table cell."""
    return ", then ".join(
        f"`{stage['kind']} --preset {stage['preset']}` (seed {stage['seed']}): "
        f"{stage['steps']:,} steps, {stage['images']:,} images of {stage['scenes']:,} scenes "
        f"(data {stage['data']}), {stage['minutes']:.0f} min"
        for stage in history
    )

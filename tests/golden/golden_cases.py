"""What the golden files hold: fingerprints of short trainings, of encoders and of the zoo.

A fingerprint names no tensor, so that renaming changes nothing: per group of tensors the hash of
all their bytes, in whatever order, and the sum of their sizes, which other processors reach too.
"""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from synthetic_frames import tiny as tiny_pretraining
from synthetic_frames import write_frames

from jostle.core.checkpoint import load
from jostle.core.rundir import RunDir
from jostle.presets.catalog import PRESETS
from jostle.pretraining.start import begin as begin_pretraining
from jostle.training.experiment import Experiment
from jostle.training.recall import recall
from jostle.training.rounds import StopAskedError
from jostle.training.start import begin, go_on
from jostle.training.workshop import make_env, policy_for
from jostle.zoo.agents import teacher_for
from jostle.zoo.encoders import encoder_for, look
from jostle.zoo.shelf import agents, encoders

Print = dict[str, Any]


def fingerprint(tensors: list[torch.Tensor]) -> Print:
    """Hash and size of some tensors, in whatever order and under whatever names."""
    raw = sorted(
        hashlib.sha256(str(x.dtype).encode() + x.contiguous().numpy().tobytes()).hexdigest()
        for x in tensors
    )
    size = sum(float(x.double().abs().sum()) for x in tensors)
    return {"hash": hashlib.sha256("".join(raw).encode()).hexdigest()[:16], "size": size}


def _groups(path: Path) -> dict[str, Print]:
    """Fingerprints of what a run's last checkpoint holds."""
    tensors, _ = load(path)
    prefixes = {
        "actor": "actor.", "critics": "critics.", "target actor": "slow_actor.",
        "target critics": "slow_critics.", "normalizer": "normalizer.",
        "actor optimizer": "actor_optimizer.", "critic optimizer": "critic_optimizer.",
        "replay": "ring.", "environments": "env.",
    }  # fmt: skip
    return {
        name: fingerprint([x for key, x in tensors.items() if key.startswith(prefix)])
        for name, prefix in prefixes.items()
    }


def _cut(experiment: Experiment, **training: Any) -> Experiment:
    """An experiment of three iterations of four short episodes."""
    steps = 20
    return replace(
        experiment,
        td3=replace(experiment.td3, batch=16, actor_rests=min(experiment.td3.actor_rests, 1)),
        training=replace(
            experiment.training, copies=4, horizon=steps, env_steps=4 * steps * 3,
            warmup_episodes=4, memory=800, updates_per_step=0.05, examine_every=3,
            examine_episodes=2, save_every=1, threads=1, **training,
        ),
    )  # fmt: skip


def _demos() -> Experiment:
    return _cut(PRESETS["two-cubes-state"], lane="demos")


def _per_object() -> Experiment:
    base = _cut(PRESETS["cubes-state"], curriculum=True)
    return replace(
        base,
        net=replace(base.net, critics="same"),
        td3=replace(base.td3, gains=True, imitate_self=2.0, clip_gradient=1.0),
        explore=replace(base.explore, spare=True),
        hindsight=replace(base.hindsight, strategy="per-object", n_step=3, on_table=True),
    )


def _imitation() -> Experiment:
    return _cut(PRESETS["two-cubes-state-distill"], rehearse=0.5)


def _pixels(name: str) -> Experiment:
    return _cut(PRESETS[name])


def _paper() -> Experiment:
    return _cut(PRESETS["one-cube-state-paper"])


RUNS: dict[str, tuple[Callable[[], Experiment], str]] = {
    "td3": (lambda: _cut(PRESETS["one-cube-state"]), ""),
    "td3, the paper's sizes": (_paper, ""),
    "td3, per-object hindsight, curriculum": (_per_object, ""),
    "td3, mlp": (lambda: _cut(PRESETS["one-cube-state-mlp"]), ""),
    "td3, smorl": (lambda: _cut(PRESETS["two-cubes-state-smorl"]), ""),
    "td3 of headings": (lambda: _cut(PRESETS["push-2t-state"]), ""),
    "td3 after imitation": (lambda: _cut(PRESETS["one-cube-state-finetune"]), "one-cube-state"),
    "td3-demos": (_demos, ""),
    "dagger": (_imitation, ""),
    "td3 from pixels": (lambda: _pixels("one-cube-pixels"), ""),
    "td3-privileged": (lambda: _pixels("one-cube-pixels-privileged"), ""),
    "dagger from pixels": (lambda: _pixels("two-cubes-pixels-distill"), ""),
    "dagger from pixels, auxiliary targets": (lambda: _pixels("push-t-pixels-distill"), ""),
    "dagger from slots": (lambda: _pixels("one-cube-pixels-distill-slots"), ""),
}
"""Trainings by name: how to make one, and whose weights of the zoo it starts from."""


def _quiet(row: dict[str, Any]) -> None:
    del row


def train(name: str, folder: Path) -> dict[str, Print]:
    """Train three iterations."""
    make, start = RUNS[name]
    weights = agents()[start].weights if start else None
    begin(make(), folder, _quiet, weights, teacher_for, look).run()
    return _groups(RunDir(folder).last)


def train_with_a_break(name: str, folder: Path) -> dict[str, Print]:
    """Train one iteration, stop, and resume."""

    def stop(row: dict[str, Any]) -> None:
        raise StopAskedError

    make, start = RUNS[name]
    weights = agents()[start].weights if start else None
    first = begin(make(), folder, stop, weights, teacher_for, look)
    try:
        first.run()
    except StopAskedError:
        first.save()
    go_on(folder, _quiet, find=teacher_for).run()
    return _groups(RunDir(folder).last)


def encode(name: str) -> Print:
    """Encode two scenes of colored rectangles."""
    torch.set_num_threads(1)
    model, _ = encoder_for(name)
    side, rng = model.config.image, np.random.default_rng(5)
    frames = np.full((2, 2, side, side, 3), 150, np.uint8)
    for view in frames.reshape(-1, side, side, 3):
        for _ in range(5):
            y, x = rng.integers(0, side - 10, 2)
            view[y : y + 8, x : x + 8] = rng.integers(0, 255, 3)
    found = model.encode(torch.from_numpy(frames))
    return fingerprint([found.values, found.visible])


def pretrain(kind: str, folder: Path) -> Print:
    """One step of pretraining."""
    plan = tiny_pretraining(write_frames(folder / "frames"), kind, steps=1)
    trainer = begin_pretraining(plan, folder / "run", _quiet)
    trainer.run()
    return fingerprint(list(trainer.bench.model.state_dict().values()))


def play(name: str) -> list[float]:
    """Distances after five steps of two episodes of an agent's own task."""
    experiment, agent = recall(agents()[name].weights)
    experiment = replace(experiment, training=replace(experiment.training, threads=1))
    torch.set_num_threads(1)
    env = make_env(experiment, 2, agent.eyes)
    policy = policy_for(agent, env)
    observation, infos = env.reset(seed=7)
    for _ in range(5):
        observation, _, _, _, infos = env.step(policy.act(observation))
    env.close()
    return [float(x) for x in (*infos["average_return"], *infos["average_distance"])]


def everything(folder: Path) -> dict[str, Any]:
    """All golden values."""
    found: dict[str, Any] = {"train": {}, "resume": {}, "encode": {}, "pretrain": {}, "play": {}}
    for number, name in enumerate(RUNS):
        found["train"][name] = train(name, folder / f"run{number}")
    for name in ("td3, per-object hindsight, curriculum", "dagger from pixels", "td3, smorl"):
        found["resume"][name] = train_with_a_break(name, folder / f"break-{len(found['resume'])}")
    found["encode"] = {name: encode(name) for name in encoders()}
    found["pretrain"] = {kind: pretrain(kind, folder / kind) for kind in ("dlp", "vae", "slots")}
    found["play"] = {name: play(name) for name in agents()}
    return found

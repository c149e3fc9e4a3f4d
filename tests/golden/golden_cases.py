"""What the golden files hold: fingerprints of short trainings, of encoders and of the zoo.

A fingerprint names no tensor, so that renaming changes nothing: per group of tensors the hash of
all their bytes, in whatever order, and the sum of their absolute values, which other processors
reach up to rounding.
"""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from jostle.agents.config import TD3Config
from jostle.core.checkpoint import load
from jostle.nets.config import PAPER_NET
from jostle.presets.axes import Axes
from jostle.presets.experiments import make_experiment
from jostle.pretraining.start import start_run as start_pretraining
from jostle.runs.run_dir import RunDir
from jostle.runs.trainer import StopRequested
from jostle.training.components import make_env, make_policy
from jostle.training.experiment import Experiment
from jostle.training.start import resume_run, start_run
from jostle.zoo.agents import find_weights, load_teacher, load_zoo_agent
from jostle.zoo.encoders import load_encoder
from synthetic_frames import tiny as tiny_pretraining
from synthetic_frames import write_frames

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
        "actor": "agent.actor.", "critics": "agent.critics.", "target actor": "agent.target_actor.",
        "target critics": "agent.target_critics.", "normalizer": "agent.normalizer.",
        "actor optimizer": "agent.actor_optimizer.",
        "critic optimizer": "agent.critic_optimizer.",
        "replay": "buffer.", "environments": "collector.env.",
    }  # fmt: skip
    return {
        name: fingerprint([x for key, x in tensors.items() if key.startswith(prefix)])
        for name, prefix in prefixes.items()
    }


def _short(task: str, axes: Axes | None = None, **training: Any) -> Experiment:
    """An experiment of three iterations of four short episodes."""
    steps, experiment = 20, _pooled(make_experiment(task, axes or Axes(method="td3")))
    warmup = min(experiment.td3.critic_warmup_updates, 1)
    return replace(
        experiment,
        td3=replace(experiment.td3, batch_size=16, critic_warmup_updates=warmup),
        training=replace(
            experiment.training, num_envs=4, horizon=steps, env_steps=4 * steps * 3,
            random_episodes=4, replay_size=800, utd_ratio=0.05, eval_every=3, eval_episodes=2,
            save_every=1, threads=1, device="cpu", **training,
        ),
    )  # fmt: skip


def _pooled(experiment: Experiment) -> Experiment:
    """TD3 with one value for all objects and no curriculum, as the golden results were written."""
    if not experiment.training.method.startswith("td3") or experiment.td3.bc_weight > 0:
        return experiment
    privileged = experiment.training.method == "td3-privileged"
    if experiment.encoder and not privileged:
        return experiment
    unstructured = experiment.net.arch == "eit" and experiment.net != PAPER_NET
    return replace(
        experiment,
        net=replace(
            experiment.net, values="pooled", critic_arch="mlp" if unstructured else "same"
        ),
        td3=replace(
            experiment.td3, potential_baseline=False, self_imitation_weight=0.0,
            lr=TD3Config().lr, batch_size=128,
        ),
        explore=replace(
            experiment.explore, epsilon=0.3, sigma=0.2, reach_avoid_edge=False,
            reach_prob=0.0 if experiment.net == PAPER_NET else 0.1,
        ),
        hindsight=replace(experiment.hindsight, skip_fallen_goals=False, goal_render_every=0),
        training=replace(
            experiment.training, curriculum=False, lr_decay_fraction=0.0,
            shuffle_object_ids=experiment.training.shuffle_object_ids and not privileged,
        ),
    )  # fmt: skip


def _paper() -> Experiment:
    base = _short("one-cube", Axes(method="td3", size="paper"), shuffle_object_ids=True)
    return replace(base, state_features="full")


def _per_object() -> Experiment:
    base = _short("cubes")
    return replace(
        base,
        net=replace(base.net, critic_arch="same"),
        td3=replace(
            base.td3, potential_baseline=True, self_imitation_weight=2.0, max_grad_norm=1.0
        ),
        explore=replace(base.explore, reach_avoid_edge=True),
        hindsight=replace(base.hindsight, strategy="per-object", n_step=3, skip_fallen_goals=True),
    )


def _pixels(task: str, method: str, **axes: Any) -> Experiment:
    return _short(task, Axes(obs="pixels", method=method, **axes))


RUNS: dict[str, tuple[Callable[[], Experiment], str]] = {
    "td3": (lambda: _short("one-cube"), ""),
    "td3, the paper's sizes": (_paper, ""),
    "td3, per-object hindsight": (_per_object, ""),
    "td3, mlp": (lambda: _short("one-cube", Axes(method="td3", arch="mlp")), ""),
    "td3, smorl": (lambda: _short("two-cubes", Axes(method="td3", arch="smorl")), ""),
    "td3 of headings": (lambda: _short("push-2t"), ""),
    "td3 after imitation": (
        lambda: _short("one-cube", Axes(method="td3", finetune=True)),
        "one-cube-state-dagger",
    ),
    "td3-demos": (lambda: _short("two-cubes", Axes(method="td3-demos")), ""),
    "dagger": (lambda: _short("two-cubes", Axes(method="dagger"), prioritized_fraction=0.5), ""),
    "td3 from pixels": (lambda: _pixels("one-cube", "td3"), ""),
    "td3-privileged": (lambda: _pixels("one-cube", "td3-privileged"), ""),
    "dagger from pixels": (lambda: _pixels("two-cubes", "dagger"), ""),
    "dagger from pixels, auxiliary targets": (lambda: _pixels("push-t", "dagger"), ""),
    "dagger from slots": (lambda: _pixels("one-cube", "dagger", encoder="slots-6cubes"), ""),
}
"""Trainings by name: how to make one, and whose weights of the zoo it starts from."""


def _quiet(row: dict[str, Any]) -> None:
    del row


def _start(name: str, folder: Path, report: Callable[[dict[str, Any]], None]) -> Any:
    make, start = RUNS[name]
    weights = find_weights(start) if start else None
    return start_run(make(), folder, report, weights, "actor", load_teacher, load_encoder)


def train(name: str, folder: Path) -> dict[str, Print]:
    """Train three iterations."""
    _start(name, folder, _quiet).run()
    return _groups(RunDir(folder).last)


def train_with_a_break(name: str, folder: Path) -> dict[str, Print]:
    """Train one iteration, stop, and resume."""

    def stop(row: dict[str, Any]) -> None:
        raise StopRequested

    try:
        _start(name, folder, stop).run()
    except StopRequested:
        resume_run(folder, _quiet, load_teacher=load_teacher).run()
    return _groups(RunDir(folder).last)


def encode(name: str) -> Print:
    """Encode two scenes of colored rectangles."""
    torch.set_num_threads(1)
    model = load_encoder(name)
    side, rng = model.config.image_size, np.random.default_rng(5)
    frames = np.full((2, 2, side, side, 3), 150, np.uint8)
    for view in frames.reshape(-1, side, side, 3):
        for _ in range(5):
            y, x = rng.integers(0, side - 10, 2)
            view[y : y + 8, x : x + 8] = rng.integers(0, 255, 3)
    entities = model.encode(torch.from_numpy(frames))
    return fingerprint([entities.values, entities.visible])


def pretrain(kind: str, folder: Path) -> Print:
    """One step of pretraining."""
    config = tiny_pretraining(write_frames(folder / "frames"), kind, steps=1)
    trainer = start_pretraining(config, folder / "run", _quiet)
    trainer.run()
    return fingerprint(list(trainer.components.model.state_dict().values()))


def play(name: str) -> list[float]:
    """Returns and distances after five steps of two episodes of an agent's own task."""
    experiment, agent = load_zoo_agent(name)
    training = replace(experiment.training, threads=1, device="cpu")
    torch.set_num_threads(1)
    encoder = None if agent.sensor is None else agent.sensor.encoder
    env = make_env(replace(experiment, training=training), 2, encoder)
    policy = make_policy(agent, env)
    observation, infos = env.reset(seed=7)
    for _ in range(5):
        observation, _, _, _, infos = env.step(policy.act(observation))
    env.close()
    return [float(x) for x in (*infos["average_return"], *infos["average_distance"])]


def everything(folder: Path, names: dict[str, list[str]]) -> dict[str, Any]:
    """All golden values of these names."""
    return {
        "train": {name: train(name, folder / f"run{i}") for i, name in enumerate(names["train"])},
        "resume": {
            name: train_with_a_break(name, folder / f"break{i}")
            for i, name in enumerate(names["resume"])
        },
        "encode": {name: encode(name) for name in names["encode"]},
        "pretrain": {kind: pretrain(kind, folder / kind) for kind in names["pretrain"]},
        "play": {name: play(name) for name in names["play"]},
    }

"""Image rewards of the transitions that learning samples, against the true reward of the same ones.

Episodes of exploration are collected as training does; true positions only judge.
"""

import argparse
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from jostle.core.found_objects import seen_now
from jostle.presets.words import parse_words
from jostle.replay.episodes import Episodes
from jostle.replay.sampler import HindsightSampler
from jostle.replay.transition_rewards import RewardSpec
from jostle.rewards.catalog import make_reward
from jostle.runs.run_dir import RunDir
from jostle.training.images import new_classifier, reward_context
from jostle.training.start import scripted_teacher
from jostle.training.train import make_trainer
from jostle.zoo.encoders import load_encoder

REWARDS = ("true", "table", "gdac", "gdac-paper", "chamfer")
SAMPLES = 3000
BATCH = 256


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tasks", nargs="+")
    parser.add_argument("--episodes", type=int, default=32)
    parser.add_argument("--object-classifier", default="")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for task in options.tasks:
        measure(task, options)


def measure(task: str, options: Any) -> None:
    words = f"{task} --obs pixels --method td3 --reward table --seed 3 --threads 1"
    words += f" --num-envs {options.episodes} --random-episodes 1000000 --reach-prob 0.3"
    if options.object_classifier:
        words += f" --object-classifier {options.object_classifier}"
    experiment = parse_words(words.split()).experiment
    encoder = load_encoder(experiment.encoder)
    classifier = new_classifier(experiment, encoder)
    run = RunDir(Path("unused"))
    trainer = make_trainer(experiment, run, lambda row: None, encoder, scripted_teacher, classifier)
    start = time.process_time()
    trainer.iterate()
    components = trainer.components
    episodes = components.buffer.view()
    steps = len(episodes) * (episodes.steps + 1)
    print(f"## {task}: {len(episodes)} episodes of {episodes.steps} steps")
    print(f"collecting: {1e3 * (time.process_time() - start) / steps:.1f} ms of CPU per step")
    describe(episodes)

    context = reward_context(components.env, components.collector.observer, classifier)
    for ratio, goals in ((1.0, "hindsight goals"), (0.0, "goals of the episodes")):
        print(f"\n| {goals} | rank | linear | mean difference | ms per {BATCH} |")
        print("|---|---|---|---|---|")
        sampled = {}
        for name in REWARDS:  # the same draws for all
            sampler = HindsightSampler(
                components.buffer,
                RewardSpec(make_reward(name, context), experiment.td3.gamma),
                components.sampler._goal_spec,
                replace(experiment.hindsight, her_ratio=ratio),
                np.random.default_rng(0),
            )
            start = time.process_time()
            sampled[name] = sampler.sample(SAMPLES).reward.numpy()
            spent = 1e3 * (time.process_time() - start) / SAMPLES * BATCH
            truth, reward = sampled["true"], sampled[name]
            print(
                f"| {name} | {correlation(ranks(reward), ranks(truth)):.3f} "
                f"| {correlation(reward, truth):.3f} | {np.abs(reward - truth).mean():.3f} "
                f"| {spent:.1f} |"
            )


def describe(episodes: Episodes) -> None:
    """Which steps may become goals, and how well objects are found."""
    assert episodes.objects is not None
    assert episodes.goal_steps is not None
    states = episodes.objects.states
    places = states.values[:, :, 0, :, None, :2]  # (E, T+1, M, 1, 2)
    true = episodes.achieved[:, :, None, :, :2]  # (E, T+1, 1, N, 2)
    distance = np.linalg.norm(places - true, axis=-1)
    distance = np.where(states.visible[:, :, 0, :, None], distance, np.inf).min(2)  # (E, T+1, N)
    on_table = (np.abs(episodes.achieved[..., :2]) < 0.2).all(-1)  # clear of the edge
    found = np.isfinite(distance)
    error = distance[on_table & found]
    count = states.visible.sum((2, 3))
    seen = seen_now(states).visible.sum((2, 3))
    print(f"steps that may become goals: {episodes.goal_steps.mean():.3f}")
    print(f"objects at a step: {np.bincount(count.ravel()).tolist()}, seen: {seen.mean():.3f}")
    quantiles = np.quantile(error, [0.5, 0.9, 0.95, 0.99])
    print("error on the table, m, at 50, 90, 95, 99 %:", quantiles.round(4).tolist())


def correlation(first: np.ndarray, second: np.ndarray) -> float:
    return float(np.corrcoef(first, second)[0, 1]) if np.ptp(first) and np.ptp(second) else 0.0


def ranks(values: np.ndarray) -> np.ndarray:
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[inverse]


if __name__ == "__main__":
    main()

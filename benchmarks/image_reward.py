"""Does the image reward mean the right thing? Classifier, rewards and success by images.

Everything is learned from images; true positions and segmentation only judge it.
"""

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rank_correlation import spearman

from jostle.core.entities import FEATURES, Entities
from jostle.core.object_classifier import ObjectClassifier
from jostle.encoders.saving import encoder_hash
from jostle.envs.vector import TabletopVectorEnv
from jostle.oracles.catalog import SCRIPTED
from jostle.rewards.chamfer import ChamferConfig, chamfer_reward
from jostle.rewards.distance import DistanceReward
from jostle.rewards.particle_sets import particle_set
from jostle.rewards.table import TableReward
from jostle.rollout.labeled_particles import RandomlyDisturbed, watch_labeled
from jostle.rollout.object_tracks import ObjectTracker
from jostle.rollout.pixel_observer import PixelObserver
from jostle.rollout.rollout import Step
from jostle.rollout.table_projection import TableProjection
from jostle.scene.cameras import resolve_cameras
from jostle.training.classifier_scores import SCENES, SEED, scene_env
from jostle.training.fit_objects import FitObjectsConfig, fit_object_classifier
from jostle.training.fit_tags import HeldOut, judged_particles
from jostle.zoo.encoders import load_encoder

CAMERAS = ("front", "side")


@dataclass
class Watched:
    """Episodes as the cameras saw them, and the truth that judges."""

    particles: list[Entities]
    goal: Entities
    judged: HeldOut
    truth: np.ndarray
    success: np.ndarray


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--encoder", default="dlp-6cubes")
    parser.add_argument("--episodes", type=int, default=16)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    torch.set_num_threads(1)
    encoder = load_encoder(options.encoder)
    classifier = fit_object_classifier(encoder, CAMERAS, FitObjectsConfig())
    classifier.check_encoder(encoder_hash(encoder))
    rows = []
    for name, scene in SCENES.items():
        rows.append({"scene": name, **measure(scene, encoder, classifier, options)})
        print(json.dumps(rows[-1]), flush=True)
    if options.out is not None:
        command = f"python benchmarks/image_reward.py --episodes {options.episodes} --steps "
        command += f"{options.steps} --out {options.out}"
        write(options.out, rows, command)


def measure(scene: dict[str, Any], encoder: Any, classifier: ObjectClassifier, options: Any) -> Any:
    env = scene_env(scene, encoder, CAMERAS, options.episodes)
    projection = TableProjection(resolve_cameras(CAMERAS), encoder.config.image_size)
    observer = PixelObserver(encoder, CAMERAS, projection)
    try:
        watched = watch(env, observer, options.steps)
        scale = env.goal_metric.scale
    finally:
        env.close()
    layout = observer.layout
    row = watched.judged.accuracy(classifier)

    # Chamfer rewards of kept particles
    def kept(entities: Entities) -> Any:
        return particle_set(entities, layout, classifier(entities.values[..., layout[FEATURES]]))

    goal = kept(watched.goal)
    sets = [kept(entities) for entities in watched.particles]
    for variant in ("gdac-code", "gdac-paper", "plain"):
        config = ChamferConfig(variant=variant)  # type: ignore[arg-type]
        rewards = np.stack([chamfer_reward(one, goal, config) for one in sets], 1)
        row |= correlations(variant, rewards, watched.truth)

    # The table reward, and success by images
    tracker = ObjectTracker(classifier, layout, len(CAMERAS))
    reward = TableReward(tracker.layout, classifier.same_color, scale, farthest=1.0)
    objects = tracker.objects(watched.goal)
    tracks = [tracker.track(entities) for entities in watched.particles]
    rewards = np.stack([reward.total(track, objects) for track in tracks], 1)
    row |= correlations("table", rewards, watched.truth)
    reached = np.stack([reward.reached(track, objects, env.goal_metric.radius) for track in tracks])
    reached = reached.T  # (E, T+1)
    both = (reached & watched.success).sum()
    return row | {
        "goal_objects": float(objects.visible.sum((1, 2)).mean()),
        "detector_precision": float(both / max(reached.sum(), 1)),
        "detector_recall": float(both / max(watched.success.sum(), 1)),
        "successes": int(watched.success.sum()),
        "frames": int(watched.success.size),
    }


def watch(env: TabletopVectorEnv, observer: PixelObserver, steps: int) -> Watched:
    """Episodes of the oracle with random actions among its own."""
    truth = DistanceReward(env.goal_metric, env.state_reader.farthest)
    rewards: list[Any] = []
    success: list[Any] = []
    goals: list[Entities] = []

    def judge(step: Step) -> None:
        pair = step.observation["achieved_goal"], step.observation["desired_goal"]
        rewards.append(truth.total(*pair))
        success.append(env.goal_metric.success(*pair))
        if not goals:
            goals.append(observer.goal(step.observation))

    policy = RandomlyDisturbed(SCRIPTED["oracle"](env.episode_sampler.task), 0)
    labeled = watch_labeled(env, observer, policy, steps, SEED, judge)
    particles = [
        labeled.particles.map(lambda array, step=step: array[:, step])  # type: ignore[misc]
        for step in range(steps + 1)
    ]
    judged = judged_particles(labeled, observer)
    return Watched(particles, goals[0], judged, np.stack(rewards, 1), np.stack(success, 1))


def correlations(name: str, rewards: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """Rank correlation with the true reward (E, T): within episodes, and over all steps."""
    moving = [i for i in range(len(truth)) if np.ptp(truth[i]) > 1e-3]
    within = [spearman(rewards[i], truth[i]) for i in moving]
    return {
        f"{name}_median": float(np.median(within)),
        f"{name}_worst": float(np.min(within)),
        f"{name}_all": spearman(rewards.ravel(), truth.ravel()),
    }


def _if_any(row: Any, key: str) -> str:
    """A number that means something only where success was reached."""
    return f"{row[key]:.3f}" if row["successes"] else "no success"


TABLES: dict[str, tuple[tuple[str, Callable[[Any], str]], ...]] = {
    "Which particles show objects": (
        ("objects kept", lambda row: f"{row['object_accuracy']:.3f}"),
        ("others left out", lambda row: f"{row['other_accuracy']:.3f}"),
    ),
    "Rank correlation with the true reward: in an episode, median (worst); over all": tuple(
        (
            name,
            lambda row, key=key: f"{row[key + '_median']:.3f} ({row[key + '_worst']:.3f}); "
            f"{row[key + '_all']:.3f}",
        )
        for name, key in (
            ("GDAC, released code", "gdac-code"), ("GDAC, paper's text", "gdac-paper"),
            ("plain Chamfer", "plain"), ("table reward", "table"),
        )
    ),
    "Success by images": (
        ("precision", lambda row: _if_any(row, "detector_precision")),
        ("recall", lambda row: _if_any(row, "detector_recall")),
        ("steps with success", lambda row: f"{row['successes']} of {row['frames']}"),
        ("objects found in a goal", lambda row: f"{row['goal_objects']:.2f}"),
    ),
}  # fmt: skip


def write(out: Path, rows: list[dict[str, Any]], command: str) -> None:
    out.with_suffix(".json").write_text(json.dumps({"scenes": rows}, indent=1) + "\n")
    text = f"# The image reward\n\nMade by `{command}`.\n\n{NOTES}\n"
    for title, columns in TABLES.items():
        text += f"\n## {title}\n\n| scene | {' | '.join(name for name, _ in columns)} |\n"
        text += f"|---|{'---|' * len(columns)}\n"
        for row in rows:
            cells = " | ".join(show(row) for _, show in columns)
            text += f"| {row['scene']} | {cells} |\n"
    out.with_suffix(".md").write_text(text + PICTURES)


NOTES = """The classifier of objects is learned from 312 random actions in 24 episodes, without
tags and without ground truth (`src/jostle/training/fit_objects.py`): what stays in its place within
an episode is an object, what is elsewhere after every action is the arm. Segmentation only judges
it here. Rewards are of particles or objects that it keeps, along episodes of the oracle with 30 %
random actions, on other seeds than the classifier was learned from.

Achieved: 0.97 in an episode with three cubes. Missed: 0.98 of the objects and 0.98 of the others
in every scene (0.972 to 0.989, and 0.976 to 0.996), and, by looks alone, 0.95 recall of success
with three cubes and both numbers with cuboids. Objects are missed while the arm hides half of them.
With twelve cubes of as many hues the table reward says nothing (median -0.013): neighboring hues
look alike, and it takes the nearest of them.

Agents that [observe found objects](../concepts/found-objects.md) have a better table reward:
objects keep their identity while half hidden, are pushed while hidden, and can fall. With three
cubes, success by images has both 0.95
([numbers](found-objects.md#reward-and-success))."""
PICTURES = """
## Along an episode

The oracle pushes three cubes; frames above, rewards, distances and success by images below.
`python benchmarks/reward_pictures.py --out docs/results/reward-pictures`

![Rewards along an episode](reward-pictures/episode.png)

## Where rewards mislead

Found by the same command: the largest errors in its episodes. Boxes are objects as they are found.

![Where rewards mislead](reward-pictures/misleading.png)

1. GDAC: the arm moves between the front camera and the cubes. Nothing was moved, the reward falls.
2. Found objects: a cube that lies on the floor is taken to be in the table's plane, too far away.
3. The table reward by looks alone, with twelve hues: goals take the nearest cube of similar hue.
4. Found objects: a hidden cube is not where it is taken to be.
"""


if __name__ == "__main__":
    main()

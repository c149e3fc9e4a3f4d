"""How well are objects found in images placed while the gripper pushes them?

Episodes of the oracle with 30 % random actions. True positions only judge what was found: rows of
found objects are compared with the true object whose goal they have, their reward with the true
one, and success by images with success.
`python benchmarks/found_objects.py --out docs/results/found-objects`
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rank_correlation import spearman

from jostle.core.entities import HEIGHT
from jostle.core.errors import require
from jostle.encoders.saving import encoder_hash
from jostle.oracles.catalog import SCRIPTED
from jostle.rewards.distance import DistanceReward
from jostle.rewards.rows import RowReward
from jostle.rollout.found_object_observer import FoundObjectObserver
from jostle.rollout.labeled_particles import RandomlyDisturbed
from jostle.rollout.pixel_observer import PixelObserver
from jostle.rollout.rollout import Step, rollout
from jostle.rollout.table_projection import TableProjection
from jostle.scene.cameras import resolve_cameras
from jostle.training.classifier_scores import SCENES, SEED, scene_env
from jostle.training.fit_objects import FitObjectsConfig, fit_object_classifier
from jostle.zoo.encoders import load_encoder

CAMERAS = ("front", "side")
MOVED = 0.004
"""Meters in one step above which an object is being moved."""
FAR = 0.03
"""Meters beyond which a place is counted as wrong."""
COLUMNS = (
    "goals found", "seen", "seen while moved", "error when seen, median (95 %)",
    "mean error when hidden", "farther off than 3 cm", "taken for fallen: steps, rightly",
)  # fmt: skip
REWARD_COLUMNS = (
    "rank correlation in an episode, median (worst)", "over all", "mean difference",
    "while an object is hidden", "precision of success", "recall", "steps with success",
)  # fmt: skip
SAME_GOAL = 0.02
"""Meters within which a goal that was found is a true one."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--encoder", default="dlp-6cubes")
    parser.add_argument("--episodes", type=int, default=16)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--vary", nargs="*", help="scenes of ThreeCubes, instead of the table's")
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    torch.set_num_threads(1)
    encoder = load_encoder(options.encoder)
    classifier = fit_object_classifier(encoder, CAMERAS, FitObjectsConfig())
    classifier.check_encoder(encoder_hash(encoder))
    rows = []
    scenes = {words: {"task": "ThreeCubes", "variation": words} for words in options.vary or ()}
    for name, scene in (scenes or SCENES).items():
        env = scene_env(scene, encoder, CAMERAS, options.episodes)
        projection = TableProjection(resolve_cameras(CAMERAS), encoder.config.image_size)
        particles = PixelObserver(encoder, CAMERAS, projection)
        objects = env.episode_sampler.max_objects
        found = FoundObjectObserver(particles, classifier, (options.episodes, objects))
        try:
            rows.append({"scene": name, **measure(env, found, options.steps)})
        finally:
            env.close()
        print(json.dumps(rows[-1]), flush=True)
    if options.out is not None:
        command = f"python benchmarks/found_objects.py --encoder {options.encoder} --episodes "
        command += f"{options.episodes} --steps {options.steps} --out {options.out}"
        command += " --vary " + " ".join(f'"{words}"' for words in scenes) if scenes else ""
        write(options.out, rows, command)


def measure(env: Any, found: FoundObjectObserver, steps: int) -> dict[str, float]:
    """Errors (T+1, B, N) of objects that lie on the table and whose goal was found."""
    rewards = Rewards(env, found)
    truth: list[Any] = []
    places: list[Any] = []
    last_seen: list[Any] = []
    seen: list[Any] = []
    fallen: list[Any] = []
    goals: list[Any] = []

    def judge(step: Step) -> None:
        entities = found.state(step.observation).values[:, 0, 1:]  # (B, N, W)
        state = entities[..., :2]  # (B, N, 2)
        fallen.append(entities[..., found.layout[HEIGHT]][..., 0] < 0)
        before = last_seen[-1] if last_seen else state
        truth.append(step.observation["observation"][:, 1:, :3])
        places.append(state)
        seen.append(found.seen)
        rewards.judge(step)
        last_seen.append(np.where(found.seen[..., None], state, before))
        if not goals:
            goals.append((found.goal(step.observation), step.observation["desired_goal"][..., :2]))

    policy = RandomlyDisturbed(SCRIPTED["oracle"](env.episode_sampler.task), 0)
    rollout(env, policy, steps, seed=SEED, on_step=judge)

    # Which true object each row is: that of the goal at the same place
    shown, desired = goals[0]
    gap = np.linalg.norm(shown.values[:, 0, :, None, :2] - desired[:, None], axis=-1)  # (B, N, N)
    paired = (gap.min(-1) < SAME_GOAL) & shown.visible[:, 0]  # (B, N)
    match = gap.argmin(-1)[None, ..., None]  # (1, B, N, 1)
    true = np.take_along_axis(np.stack(truth), match, 2)  # (T+1, B, N, 3)

    # Errors of found places, and of the places at which objects were seen last
    valid = (true[..., 2] > 0) & paired
    error = np.linalg.norm(np.stack(places) - true[..., :2], axis=-1)
    remembered = np.linalg.norm(np.stack(last_seen) - true[..., :2], axis=-1)
    moving = np.linalg.norm(np.diff(true[..., :2], axis=0), axis=-1) > MOVED
    moving = np.concatenate((np.zeros_like(moving[:1]), moving)) & valid
    visible = np.stack(seen)
    hidden = ~visible & valid
    gone, taken = (true[..., 2] < 0) & paired, np.stack(fallen) & paired
    require(bool(moving.any()), "No object was moved: play more steps.")
    return {
        "goals_found": float(paired.mean()),
        "moving": int(moving.sum()),
        "seen": float(visible[valid].mean()),
        "seen_moving": float(visible[moving].mean()),
        "error_seen_median": float(np.median(error[valid & visible])),
        "error_seen_95": float(np.quantile(error[valid & visible], 0.95)),
        "error_hidden": float(error[hidden].mean()) if hidden.any() else 0.0,
        "error_hidden_last_seen": float(remembered[hidden].mean()) if hidden.any() else 0.0,
        "far": float((error[valid] > FAR).mean()),
        "far_last_seen": float((remembered[valid] > FAR).mean()),
        "taken_for_fallen": int(taken.sum()),
        "taken_rightly": float(gone[taken].mean()) if taken.any() else 1.0,
        **rewards.scores(hidden.any(-1)),
    }


class Rewards:
    """The reward of found objects and success by images, beside the true ones."""

    def __init__(self, env: Any, found: FoundObjectObserver) -> None:
        self._metric, self._found = env.goal_metric, found
        self._true = DistanceReward(env.goal_metric, env.state_reader.farthest)
        scale = env.goal_metric.scale
        self._rows = RowReward(found.layout, scale, farthest=2 * scale)
        self._steps: list[tuple[Any, ...]] = []

    def judge(self, step: Step) -> None:
        """Compare at one step, after the observer has seen it."""
        pair = step.observation["achieved_goal"], step.observation["desired_goal"]
        state, goal = self._found.state(step.observation), self._found.goal(step.observation)
        near = self._rows.distances(state, goal) < self._metric.radius  # (B, N)
        present = goal.visible[:, 0]
        self._steps.append((
            self._rows.total(state, goal), self._true.total(*pair),
            (near | ~present).all(-1) & present.any(-1), self._metric.success(*pair),
        ))  # fmt: skip

    def scores(self, hidden: Any) -> dict[str, float]:
        """Scores of all steps; `hidden` (T+1, B) are those with an object that no view shows."""
        reward, true, success, true_success = (
            np.stack(column) for column in zip(*self._steps, strict=True)
        )  # (T+1, B) each
        moving = [i for i in range(true.shape[1]) if np.ptp(true[:, i]) > 1e-3]
        within = [spearman(reward[:, i], true[:, i]) for i in moving]
        both, difference = (success & true_success).sum(), np.abs(reward - true)
        return {
            "correlation_median": float(np.median(within)),
            "correlation_worst": float(np.min(within)),
            "correlation_all": spearman(reward.ravel(), true.ravel()),
            "difference": float(difference.mean()),
            "difference_hidden": float(difference[hidden].mean()) if hidden.any() else 0.0,
            "precision": float(both / max(success.sum(), 1)),
            "recall": float(both / max(true_success.sum(), 1)),
            "successes": int(true_success.sum()),
            "steps": int(true_success.size),
        }


def write(out: Path, rows: list[dict[str, Any]], command: str) -> None:
    out.with_suffix(".json").write_text(json.dumps({"scenes": rows}, indent=1) + "\n")
    text = f"""# Objects found in images

Made by `{command}`.

Episodes of the oracle with 30 % random actions; one classifier, which was learned from motion.
True positions only judge. "Hidden" objects are shown by no view; they are pushed along by the
gripper (`src/jostle/rollout/hidden_objects.py`). In brackets: if they stayed where they were seen
last.

| scene | {" | ".join(COLUMNS)} |
|---|{"---|" * len(COLUMNS)}
"""
    for row in rows:
        rightly = f", {row['taken_rightly']:.3f}" if row["taken_for_fallen"] else ""
        text += (
            f"| {row['scene']} | {row['goals_found']:.3f} | {row['seen']:.3f} | "
            f"{row['seen_moving']:.3f} | {1000 * row['error_seen_median']:.1f} mm "
            f"({1000 * row['error_seen_95']:.1f} mm) | {1000 * row['error_hidden']:.0f} mm "
            f"({1000 * row['error_hidden_last_seen']:.0f} mm) | {row['far']:.3f} "
            f"({row['far_last_seen']:.3f}) | {row['taken_for_fallen']}{rightly} |\n"
        )
    text += f"""
## Reward and success

The reward of these objects beside the true one, and all found goals within the radius of success
beside true success.

| scene | {" | ".join(REWARD_COLUMNS)} |
|---|{"---|" * len(REWARD_COLUMNS)}
"""
    for row in rows:
        known = (f"{row[key]:.3f}" if row["successes"] else "-" for key in ("precision", "recall"))
        text += (
            f"| {row['scene']} | {row['correlation_median']:.3f} ({row['correlation_worst']:.3f}) "
            f"| {row['correlation_all']:.3f} | {row['difference']:.3f} | "
            f"{row['difference_hidden']:.3f} | {' | '.join(known)} | {row['successes']} of "
            f"{row['steps']} |\n"
        )
    out.with_suffix(".md").write_text(text)


if __name__ == "__main__":
    main()

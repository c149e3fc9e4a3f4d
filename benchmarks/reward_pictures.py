"""Pictures of image rewards: along an episode, and where they mislead.

`python benchmarks/reward_pictures.py --out docs/results/reward-pictures`
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from jostle.core.entities import FEATURES, Entities
from jostle.core.object_classifier import ObjectClassifier
from jostle.core.protocols import Policy
from jostle.encoders.saving import encoder_hash
from jostle.oracles.catalog import SCRIPTED
from jostle.reports.overlays import draw_overlay, project_objects
from jostle.reports.plot_style import plot_style, save_figure
from jostle.reports.video import Frame, enlarged, hstack, save_image, with_title
from jostle.rewards.chamfer import ChamferConfig, chamfer_reward
from jostle.rewards.distance import DistanceReward
from jostle.rewards.particle_sets import particle_set
from jostle.rewards.rows import RowReward
from jostle.rewards.table import TableReward
from jostle.rollout.found_object_observer import FoundObjectObserver
from jostle.rollout.labeled_particles import RandomlyDisturbed
from jostle.rollout.object_tracks import ObjectTracker
from jostle.rollout.pixel_observer import PixelObserver
from jostle.rollout.rollout import Step, rollout
from jostle.rollout.table_projection import TableProjection
from jostle.scene.cameras import resolve_cameras
from jostle.training.classifier_scores import SCENES, SEED, scene_env
from jostle.training.fit_objects import FitObjectsConfig, fit_object_classifier
from jostle.zoo.encoders import load_encoder

CAMERAS = ("front", "side")
SHOWN = 6
"""Steps of the episode that are shown."""
COLORS = {"true": "#222222", "objects": "#0072b2", "GDAC": "#d55e00"}
STILL = 0.005
"""Change of the true reward below which nothing was moved."""
SIDE = 220
"""Pixels of a picture's side."""


@dataclass
class Watched:
    """Episodes (T+1, B) as rewards see them; `found` are the objects of every step."""

    frames: Any
    goal_frames: Any
    goal: Entities
    found: list[Entities]
    rewards: dict[str, Any]
    distances: dict[str, Any]
    success: dict[str, Any]
    hidden: Any
    true_goals: Any
    side: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--encoder", default="dlp-6cubes")
    parser.add_argument("--episodes", type=int, default=16)
    parser.add_argument("--steps", type=int, default=70)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    torch.set_num_threads(1)
    encoder = load_encoder(options.encoder)
    classifier = fit_object_classifier(encoder, CAMERAS, FitObjectsConfig())
    classifier.check_encoder(encoder_hash(encoder))
    watched = {
        name: watch(encoder, classifier, name, options.episodes, options.steps)
        for name in ("3 cubes", "adjacent goals", "12 cubes")
    }
    draw_episode(watched["3 cubes"], options.out / "episode.png")
    rows = [hstack(*row) for row in misleading(watched)]
    width = max(row.shape[1] for row in rows)
    rows = [_padded(row, width) for row in rows]
    save_image(np.concatenate(rows), options.out / "misleading.png")


def watch(
    encoder: Any, classifier: ObjectClassifier, name: str, episodes: int, steps: int
) -> Watched:
    """Episodes of the oracle; in the scene of three cubes all its actions are its own."""
    env = scene_env(SCENES[name], encoder, CAMERAS, episodes)
    projection = TableProjection(resolve_cameras(CAMERAS), encoder.config.image_size)
    particles = PixelObserver(encoder, CAMERAS, projection)
    objects = env.episode_sampler.max_objects
    found = FoundObjectObserver(particles, classifier, (episodes, objects))
    metric, tracker = env.goal_metric, ObjectTracker(classifier, particles.layout, len(CAMERAS))
    truth = DistanceReward(metric, env.state_reader.farthest)
    by_rows = RowReward(found.layout, metric.scale, farthest=2 * metric.scale)
    by_looks = TableReward(tracker.layout, classifier.same_color, metric.scale, 2 * metric.scale)
    steps_seen: list[dict[str, Any]] = []
    goals: dict[str, Any] = {}

    def kept(entities: Entities) -> Any:
        keep = classifier(entities.values[..., particles.layout[FEATURES]])
        return particle_set(entities, particles.layout, keep)

    def judge(step: Step) -> None:
        observation = step.observation
        seen, goal = particles.state(observation), particles.goal(observation)
        state, places = found.state(observation), found.goal(observation)
        if not goals:
            goals["frames"] = np.stack([observation[f"goal_{name}"] for name in CAMERAS], 1)
            goals["places"], goals["objects"] = places, tracker.objects(goal)
            goals["true"] = observation["desired_goal"][..., :2].copy()
        pair = observation["achieved_goal"], observation["desired_goal"]
        distances, present = by_rows.distances(state, places), places.visible[:, 0]
        near = (distances < metric.radius) | ~present
        steps_seen.append({
            "frames": np.stack([observation[name] for name in CAMERAS], 1), "found": state,
            "true": truth.total(*pair), "objects": by_rows.total(state, places),
            "GDAC": chamfer_reward(kept(seen), kept(goal), ChamferConfig()),
            "looks": by_looks.total(tracker.track(seen), goals["objects"]),
            "true distance": metric.distances(*pair).mean(-1),
            "distance": distances.sum(-1) / np.maximum(present.sum(-1), 1),
            "true success": metric.success(*pair), "success": near.all(-1) & present.any(-1),
            "hidden": (present & ~found.seen).any(-1),
        })  # fmt: skip

    policy: Policy = SCRIPTED["oracle"](env.episode_sampler.task)
    if name != "3 cubes":
        policy = RandomlyDisturbed(policy, 0)
    try:
        rollout(env, policy, steps, seed=SEED, on_step=judge)
    finally:
        env.close()

    def column(key: str) -> Any:
        return np.stack([step[key] for step in steps_seen])

    return Watched(
        column("frames"), goals["frames"], goals["places"], [step["found"] for step in steps_seen],
        {key: column(key) for key in ("true", "objects", "GDAC", "looks")},
        {"true": column("true distance"), "objects": column("distance")},
        {"true": column("true success"), "objects": column("success")},
        column("hidden"), goals["true"], encoder.config.image_size,
    )  # fmt: skip


def draw_episode(watched: Watched, out: Path) -> Path:
    """The successful episode with most steps at which an object is hidden."""
    from matplotlib.figure import Figure

    solved = watched.success["true"][-1]
    episode = int(np.where(solved, watched.hidden.sum(0), -1).argmax())
    last = len(watched.found) - 1
    moments = np.linspace(0, last, SHOWN).astype(int)
    steps = np.arange(last + 1)
    with plot_style():
        figure = Figure(figsize=(11, 9))
        grid = figure.add_gridspec(5, SHOWN + 1, height_ratios=(1.6, 1.6, 1.5, 1.5, 0.5))
        for view, camera in enumerate(CAMERAS):
            goal_frame = watched.goal_frames[episode, view]
            shown = [(f"{camera}, step {moment}", watched.frames[moment, episode, view])
                     for moment in moments]  # fmt: skip
            for place, (title, frame) in enumerate([*shown, (f"{camera}, goal", goal_frame)]):
                panel = figure.add_subplot(grid[view, place])
                panel.imshow(frame)
                panel.set_title(title, fontsize=9)
                panel.axis("off")

        # Rewards, distances, and what is hidden
        rewards, distances, success = (
            figure.add_subplot(grid[2, :]), figure.add_subplot(grid[3, :]),
            figure.add_subplot(grid[4, :]),
        )  # fmt: skip
        labels = {"true": "true", "objects": "table (found objects)", "GDAC": "GDAC, released code"}
        for key, label in labels.items():
            style = "--" if key == "GDAC" else "-"
            rewards.plot(steps, watched.rewards[key][:, episode], style, color=COLORS[key],
                         label=label)  # fmt: skip
        rewards.set_ylabel("reward")
        rewards.legend(frameon=False, ncols=3, fontsize=9)
        for key in ("true", "objects"):
            distances.plot(steps, watched.distances[key][:, episode], color=COLORS[key],
                           label="true" if key == "true" else "by images")  # fmt: skip
        distances.set_ylabel("mean distance (m)")
        distances.legend(frameon=False, ncols=2, fontsize=9)
        hidden = watched.hidden[:, episode]
        for panel in (rewards, distances):
            panel.fill_between(steps, 0, 1, where=hidden, step="mid", color="#dddddd", lw=0,
                               transform=panel.get_xaxis_transform())  # fmt: skip
            panel.set_xlim(0, last)
        for row, key in enumerate(("true", "objects")):
            reached = watched.success[key][:, episode]
            success.fill_between(steps, row + 0.1, row + 0.9, where=reached, step="mid", lw=0,
                                 color=COLORS[key])  # fmt: skip
        success.set(xlim=(0, last), ylim=(0, 2), yticks=(0.5, 1.5), xlabel="step")
        success.set_yticklabels(("success", "by images"))
        rewards.set_title("gray: no view shows one of the objects", fontsize=10)
        figure.subplots_adjust(0.08, 0.06, 0.99, 0.97, wspace=0.05, hspace=0.35)
        out.parent.mkdir(parents=True, exist_ok=True)
        return save_figure(figure, out)


def misleading(watched: dict[str, Watched]) -> Iterator[list[Frame]]:
    """Rows of pictures: occlusion, touching goals, confused colors, a hidden object misplaced."""
    cubes, adjacent, hues = (
        watched[name] for name in ("3 cubes", "adjacent goals", "12 cubes")
    )  # fmt: skip

    # Occlusion: GDAC changes most while nothing is moved
    still = np.abs(np.diff(cubes.rewards["true"], axis=0)) < STILL
    change = np.where(still, np.abs(np.diff(cubes.rewards["GDAC"], axis=0)), 0)
    step, episode = np.unravel_index(change.argmax(), change.shape)
    yield [
        *_views(cubes, step, episode, "before", cubes.rewards, ("true", "GDAC")),
        *_views(cubes, step + 1, episode, "arm moved", cubes.rewards, ("true", "GDAC")),
    ]

    # Touching: the reward of found objects is farthest from the truth
    count = adjacent.goal.visible[:, 0].sum(-1)
    step, episode = _largest_error(adjacent)
    yield [
        *_goals(adjacent, episode, f"goals found: {count[episode]} of "
                f"{len(adjacent.true_goals[episode])}"),
        *_views(adjacent, step, episode, f"step {step}", adjacent.rewards, ("true", "objects")),
    ]  # fmt: skip

    # Confused: objects by looks alone, with as many hues as cubes
    difference = hues.rewards["looks"] - hues.rewards["true"]
    step, episode = np.unravel_index(difference.argmax(), difference.shape)
    yield [
        *_goals(hues, episode, "twelve hues: goal"),
        *_views(hues, step, episode, f"step {step}", hues.rewards, ("true", "looks")),
    ]

    # Misplaced: the same with cubes apart
    step, episode = _largest_error(cubes)
    yield [
        *_goals(cubes, episode, "goal"),
        *_views(cubes, step, episode, f"step {step}", cubes.rewards, ("true", "objects")),
    ]


def _largest_error(watched: Watched) -> tuple[Any, Any]:
    """Step and episode with the largest error of the reward of found objects."""
    difference = np.abs(watched.rewards["objects"] - watched.rewards["true"])
    step, episode = np.unravel_index(difference.argmax(), difference.shape)
    return step, episode


def _views(
    watched: Watched, step: int, episode: int, title: str, rewards: dict[str, Any],
    keys: tuple[str, str],
) -> list[Frame]:  # fmt: skip
    """Both views of a step with the objects that are found, and two rewards."""
    names = {"true": "true", "GDAC": "GDAC", "objects": "table", "looks": "table"}
    values = (f"{names[key]} {rewards[key][step, episode]:.2f}" for key in keys)
    frames = _marked(watched, watched.frames[step, episode], watched.found[step], episode, 1)
    return [
        with_title(frame, text)
        for frame, text in zip(frames, (title, ", ".join(values)), strict=True)
    ]


def _goals(watched: Watched, episode: int, title: str) -> list[Frame]:
    """Both views of a goal with the objects that are found."""
    frames = _marked(watched, watched.goal_frames[episode], watched.goal, episode, 0)
    return [with_title(frame, text) for frame, text in zip(frames, (title, " "), strict=True)]


def _marked(
    watched: Watched, frames: Any, objects: Entities, episode: int, first: int
) -> list[Frame]:
    """Frames (V, H, W, 3) with boxes of objects, whose rows start at `first`."""
    one = objects.map(lambda array: array[episode : episode + 1, :, first:])
    boxes = project_objects(one, FoundObjectObserver.layout, resolve_cameras(CAMERAS), watched.side)
    return [draw_overlay(enlarged(frame, SIDE), boxes, view) for view, frame in enumerate(frames)]


def _padded(row: Frame, width: int) -> Frame:
    return np.pad(row, ((0, 0), (0, width - row.shape[1]), (0, 0)), constant_values=255)


if __name__ == "__main__":
    main()

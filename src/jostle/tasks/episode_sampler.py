"""Sampling of episodes: a task, how many objects, which colors and cameras, what varies."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jostle.core.errors import BadValueError, require
from jostle.scene.cameras import resolve_cameras
from jostle.scene.colors import COLORS, RGB, parse_color, spread_hues
from jostle.scene.shapes import SHAPES
from jostle.scene.spec import Appearance, CameraSpec, SceneSpec
from jostle.tasks.episode import EpisodeSpec
from jostle.tasks.task import Task
from jostle.tasks.variations import Shape, Variation

PAPER_PALETTE = tuple(COLORS)[:6]
"""The six colors from which the paper's generalization runs sample."""


@dataclass(frozen=True)
class EpisodeSampler:
    """Samples episodes of one layout: the same slots, cameras and columns every time."""

    task: Task
    """The task."""
    min_objects: int
    """Fewest objects in an episode."""
    max_objects: int
    """Most objects in an episode; observations are padded to this number of rows."""
    padded: bool
    """Whether the number of objects may change, so that observations have a `present` column."""
    scene: SceneSpec
    """The scene before variation."""
    appearance: Appearance
    """Colors, cameras and lights before variation."""
    palette: tuple[RGB, ...] | None
    """Colors to sample from in each episode, or None for fixed ones."""
    variations: tuple[Variation, ...]
    """Applied in order."""
    fewer_fraction: float | None = None
    """Fraction of episodes with fewer than `max_objects`; None: all numbers equally often."""

    @property
    def extra_slots(self) -> int:
        """Object slots that only the goal image shows."""
        return len(self.scene.objects) - self.max_objects

    def sample(self, rng: np.random.Generator) -> EpisodeSpec:
        """Sample one episode."""
        # Number of objects
        count = self.max_objects
        if self.fewer_fraction is not None:
            if rng.random() < self.fewer_fraction:
                count = int(rng.integers(self.min_objects, self.max_objects))
        elif self.padded:
            count = int(rng.integers(self.min_objects, self.max_objects + 1))
        absent = self.max_objects - count + self.extra_slots
        scene = self.scene.with_present((True,) * count + (False,) * absent)

        # Colors and variations
        appearance = self.appearance
        if self.palette is not None:
            appearance = replace(appearance, colors=self._random_colors(self.palette, rng))
        for variation in self.variations:
            scene, appearance = variation.apply(scene, appearance, rng)

        # Start and goal
        start = self.task.sample_start(scene, rng)
        goal, goal_view = self.task.sample_goal(scene, rng)
        return EpisodeSpec(self.task.name, scene, appearance, start, goal, goal_view)

    def check(self, episode: EpisodeSpec) -> None:
        """Refuse a stored episode of another layout."""
        here, stored = self.scene, episode.scene
        pairs = {
            "task": (self.task.name, episode.task),
            "number of object slots": (len(here.objects), len(stored.objects)),
            "geoms per object": (here.parts, stored.parts),
            "corridor": (here.corridor, stored.corridor),
            "cameras": (_camera_names(self.appearance), _camera_names(episode.appearance)),
        }
        for what, (expected, actual) in pairs.items():
            if what == "cameras" and not expected:
                continue  # an environment without images can run any episode
            if expected != actual:
                raise BadValueError(
                    f"This episode does not fit the environment: {what} is {actual!r} in the "
                    f"episode and {expected!r} in the environment."
                )

    def _random_colors(self, palette: tuple[RGB, ...], rng: np.random.Generator) -> tuple[RGB, ...]:
        slots = len(self.scene.objects)
        groups = [self.task.color_group(slot, self.max_objects) for slot in range(slots)]
        chosen = rng.permutation(len(palette))[: max(groups) + 1]
        return tuple(palette[chosen[group]] for group in groups)


def make_episode_sampler(
    task: Task,
    *,
    objects: int | Sequence[int] | None,
    colors: str | Sequence[Any],
    palette: Sequence[Any],
    cameras: Sequence[str | CameraSpec],
    shadows: bool,
    variations: tuple[Variation, ...],
) -> EpisodeSampler:
    """Check and resolve the options of a user."""
    # Scene with room for the most complex shape
    min_objects, max_objects, padded = _object_range(task, objects)
    scene = task.make_scene(max_objects)
    shapes = [name for item in variations if isinstance(item, Shape) for name in item.names]
    parts = max(scene.parts, *(len(SHAPES[name].boxes) for name in [task.shape, *shapes]))
    scene = replace(scene, parts=parts)

    # Appearance
    groups = [task.color_group(slot, max_objects) for slot in range(len(scene.objects))]
    group_colors, random_palette = _parse_colors(colors, palette, max(groups) + 1)
    appearance = Appearance(
        colors=tuple(group_colors[group] for group in groups),
        cameras=resolve_cameras(cameras),
        shadows=shadows,
    )

    sampler = EpisodeSampler(
        task, min_objects, max_objects, padded, scene, appearance, random_palette, variations
    )
    sampler.sample(np.random.default_rng(0))  # an impossible scene fails here, not at reset
    return sampler


def _object_range(task: Task, objects: int | Sequence[int] | None) -> tuple[int, int, bool]:
    """Fewest and most objects, and whether their number may change."""
    if objects is None:
        objects = task.objects
    padded = not isinstance(objects, int | np.integer)
    if padded:
        numbers = isinstance(objects, Sequence | np.ndarray) and not isinstance(objects, str)
        counts = list(objects) if numbers else []  # type: ignore[arg-type]
        require(
            len(counts) >= 2
            and all(isinstance(count, int | np.integer) for count in counts)
            and counts == sorted(counts),
            f"objects is a number or a rising range such as (1, 3) or range(1, 4), "
            f"not {objects!r}.",
        )
        min_objects, max_objects = counts[0], counts[-1]
    else:
        min_objects = max_objects = int(objects)  # type: ignore[arg-type]
    for count in range(min_objects, max_objects + 1):
        task.check_count(count)
    return min_objects, max_objects, padded


def _parse_colors(
    colors: str | Sequence[Any], palette: Sequence[Any], needed: int
) -> tuple[tuple[RGB, ...], tuple[RGB, ...] | None]:
    """Resolve the color option to fixed colors and, for random ones, the palette."""
    if isinstance(colors, str) and colors == "hues":
        return spread_hues(needed), None
    if isinstance(colors, str) and colors in ("fixed", "random"):
        source = tuple(COLORS) if colors == "fixed" else tuple(palette)
        require(
            len(source) >= needed,
            f"{needed} differently colored objects need {needed} colors, but there are only "
            f"{len(source)}. Give explicit ones, colors=[(r, g, b), ...], or colors='hues'.",
        )
        parsed = tuple(parse_color(color) for color in source)
        return parsed[:needed], parsed if colors == "random" else None
    require(
        not isinstance(colors, str),
        f"colors is 'fixed', 'random', 'hues' or a list of colors, not '{colors}'.",
    )
    parsed = tuple(parse_color(color) for color in colors)
    require(
        len(parsed) == needed,
        f"{needed} colors are needed (objects of the same color count once), not {len(parsed)}.",
    )
    return parsed, None


def _camera_names(appearance: Appearance) -> list[str]:
    return [camera.name for camera in appearance.cameras]

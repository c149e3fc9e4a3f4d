"""How episodes are drawn: a task, how many objects, which colors and cameras, what varies."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jostle.core.errors import BadValueError, require
from jostle.scene.cameras import read_cameras
from jostle.scene.colors import COLORS, Color, read_color
from jostle.scene.shapes import SHAPES
from jostle.scene.spec import CameraSpec, Look, SceneSpec
from jostle.tasks.episode import EpisodeSpec
from jostle.tasks.task import Task
from jostle.tasks.variations import Shape, Variation

PAPER_PALETTE = tuple(COLORS)[:6]
"""The six colors from which the paper's generalization runs draw."""


@dataclass(frozen=True)
class Recipe:
    """Draws episodes of one layout: the same slots, cameras and columns every time."""

    task: Task
    """What is asked."""
    fewest: int
    """Fewest objects in an episode."""
    most: int
    """Most objects; rows of observations are padded to this."""
    padded: bool
    """Whether the number of objects may change, so that rows carry a `present` column."""
    scene: SceneSpec
    """The layout, before variation."""
    look: Look
    """Fixed colors, cameras and lights, before variation."""
    palette: tuple[Color, ...] | None
    """Colors to draw from anew for each episode, or None for fixed ones."""
    variations: tuple[Variation, ...]
    """Applied in order."""
    limit: int | None = None
    """Most objects drawn for the time being; a curriculum raises it."""

    def draw(self, rng: np.random.Generator) -> EpisodeSpec:
        """Draw one episode."""
        most = min(self.most, self.limit or self.most)
        count = int(rng.integers(self.fewest, most + 1)) if self.padded else self.most
        spare = len(self.scene.objects) - self.most
        present = (True,) * count + (False,) * (self.most - count + spare)
        scene, look = self.scene.with_present(present), self.look
        if self.palette is not None:
            look = replace(look, colors=self._random_colors(self.palette, rng))
        for variation in self.variations:
            scene, look = variation.apply(scene, look, rng)
        start = self.task.start(scene, rng)
        goal, photo = self.task.goal(scene, rng)
        return EpisodeSpec(self.task.name, scene, look, start, goal, photo)

    def check(self, episode: EpisodeSpec) -> None:
        """Refuse a stored episode of another layout."""
        mine, its = self.scene, episode.scene
        pairs = {
            "task": (self.task.name, episode.task),
            "number of object slots": (len(mine.objects), len(its.objects)),
            "geoms per object": (mine.parts, its.parts),
            "corridor": (mine.corridor, its.corridor),
            "cameras": (_names(self.look), _names(episode.look)),
        }
        for what, (here, there) in pairs.items():
            if what == "cameras" and not here:
                continue  # an environment without pictures can run any episode
            if here != there:
                raise BadValueError(
                    f"This episode does not fit the environment: {what} is {there!r} in the "
                    f"episode and {here!r} here."
                )

    def _random_colors(
        self, palette: tuple[Color, ...], rng: np.random.Generator
    ) -> tuple[Color, ...]:
        slots = len(self.scene.objects)
        sorts = [self.task.sort_of(slot, self.most) for slot in range(slots)]
        chosen = rng.permutation(len(palette))[: max(sorts) + 1]
        return tuple(palette[chosen[sort]] for sort in sorts)


def make_recipe(
    task: Task,
    *,
    objects: int | Sequence[int] | None,
    colors: str | Sequence[Any],
    palette: Sequence[Any],
    cameras: Sequence[str | CameraSpec],
    shadows: bool,
    variations: tuple[Variation, ...],
) -> Recipe:
    """Check and resolve what a user wrote."""
    fewest, most, padded = _counts(task, objects)
    scene = task.scene(most)
    shapes = [name for one in variations if isinstance(one, Shape) for name in one.names]
    parts = max(scene.parts, *(len(SHAPES[name].boxes) for name in [task.shape, *shapes]))
    scene = replace(scene, parts=parts)
    sorts = [task.sort_of(slot, most) for slot in range(len(scene.objects))]
    chosen, drawn = _colors(colors, palette, max(sorts) + 1)
    look = Look(
        colors=tuple(chosen[sort] for sort in sorts),
        cameras=read_cameras(cameras),
        shadows=shadows,
    )
    recipe = Recipe(task, fewest, most, padded, scene, look, drawn, variations)
    recipe.draw(np.random.default_rng(0))  # an impossible scene shall fail here, not at reset
    return recipe


def _counts(task: Task, objects: int | Sequence[int] | None) -> tuple[int, int, bool]:
    if objects is None:
        objects = task.objects
    padded = not isinstance(objects, int | np.integer)
    if padded:
        several = [int(count) for count in objects]  # type: ignore[union-attr]
        require(
            len(several) >= 2 and several == sorted(several),
            f"objects is a number or a rising range such as (1, 3) or range(1, 4), "
            f"not {objects!r}.",
        )
        fewest, most = several[0], several[-1]
    else:
        fewest = most = int(objects)  # type: ignore[arg-type]
    for count in range(fewest, most + 1):
        task.check_count(count)
    return fewest, most, padded


def _colors(
    colors: str | Sequence[Any], palette: Sequence[Any], needed: int
) -> tuple[tuple[Color, ...], tuple[Color, ...] | None]:
    """Resolve the color option to fixed colors and, for random ones, the palette."""
    if isinstance(colors, str) and colors in ("fixed", "random"):
        source = tuple(COLORS) if colors == "fixed" else tuple(palette)
        require(
            len(source) >= needed,
            f"{needed} differently colored objects need {needed} colors, but there are only "
            f"{len(source)}. Give explicit ones: colors=[(r, g, b), ...].",
        )
        found = tuple(read_color(color) for color in source)
        return found[:needed], found if colors == "random" else None
    require(
        not isinstance(colors, str),
        f"colors is 'fixed', 'random' or a list of colors, not '{colors}'.",
    )
    found = tuple(read_color(color) for color in colors)
    require(
        len(found) == needed,
        f"{needed} colors are needed (objects of one color count once), not {len(found)}.",
    )
    return found, None


def _names(look: Look) -> list[str]:
    return [camera.name for camera in look.cameras]

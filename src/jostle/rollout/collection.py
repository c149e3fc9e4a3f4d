"""What to collect: everything that decides which frames there will be."""

from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

import tyro

from jostle.core.errors import require
from jostle.envs.vector import TabletopVectorEnv
from jostle.frames.manifest import Layout, plain
from jostle.scene.colors import Color
from jostle.tasks.recipe import PAPER_PALETTE
from jostle.tasks.variations import Shape, Size, Variation

PolicyName = Literal["random", "oracle", "mixed"]
_LATER = ("shape", "stretch")
"""Fields that are told only where they are used, so that older collections remain the same."""


@dataclass(frozen=True, kw_only=True)
class Collection:
    """Collect frames of a task; the same values always give the same frames."""

    task: Annotated[str, tyro.conf.Positional]
    """Name of a task (see 'jostle tasks')."""
    objects: tuple[int, ...] = ()
    """How many objects: a number, or a range such as 1 6; the task's own number by default."""
    colors: tuple[str, ...] = ("fixed",)
    """'fixed', 'random' (drawn from the palette for each episode), or one name per object."""
    palette: tuple[str, ...] = PAPER_PALETTE
    """Where random colors are drawn from."""
    shape: str | None = None
    """What objects are: cube, star or tee; the task's own shape by default."""
    stretch: tuple[float, float] = (1.0, 1.0)
    """Factors on the footprint along an object's x and y: 2 1 makes cuboids of cubes."""
    cameras: tuple[str, ...] = ("front", "side")
    """Who looks; every scene is seen by all of them."""
    size: int = 128
    """Side of a frame in pixels."""
    shadows: bool = False
    """Draw shadows. Slower."""
    steps: int = 8
    """Actions per episode: few, so that many scenes are shown. An episode has steps + 1 scenes."""
    policy: PolicyName = "mixed"
    """Who acts. mixed: random actions up to a random moment, then the oracle, with some objects at
    their goals from the start, so that crowded and finished scenes appear."""
    random_share: float = 0.5
    """Policy mixed: share of episodes that are random from beginning to end."""
    seed: int = 0
    """Other seeds give other frames."""
    truth: bool = True
    """Keep what the frames truly show (masks, places, colors), for measuring."""
    truth_every: int = 1
    """Keep the truth of every so-many-th scene of an episode only."""

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        require(self.steps >= 0, f"steps must be 0 or more, not {self.steps}.")
        require(self.truth_every >= 1, f"truth_every must be 1 or more, not {self.truth_every}.")
        require(self.seed >= 0, f"seed must be 0 or more, not {self.seed}.")
        require(len(self.cameras) > 0, "Frames need at least one camera.")
        require(len(self.colors) > 0, "colors is 'fixed', 'random' or one name per object.")
        require(
            0 <= self.random_share <= 1, f"random_share lies in [0, 1], not {self.random_share}."
        )
        require(
            len(self.objects) <= 2,
            f"objects is a number or a range such as 1 6, not {self.objects}.",
        )

    @property
    def scenes(self) -> int:
        """Scenes of one episode."""
        return self.steps + 1

    @property
    def truth_steps(self) -> list[int]:
        """Moments of an episode whose truth is kept."""
        return list(range(0, self.scenes, self.truth_every)) if self.truth else []

    def asked(self) -> dict[str, Any]:
        """Everything that decides the frames, as plain data."""
        found = asdict(self)
        del found["truth"], found["truth_every"]
        for later in _LATER:  # names that older folders do not have
            if found[later] == getattr(type(self), later):
                del found[later]
        return plain(found)

    def kept(self) -> dict[str, Any]:
        """Which truth is kept."""
        return {"truth": self.truth, "truth_every": self.truth_every}

    def build(self, copies: int, threads: int) -> TabletopVectorEnv:
        """Build the environment, without pictures: those are drawn where they are needed."""
        named = len(self.colors) > 1 or self.colors[0] not in ("fixed", "random")
        objects = self.objects or None
        return TabletopVectorEnv(
            copies, self.task, autoreset_mode="Disabled", threads=threads, cameras=self.cameras,
            image_size=self.size, palette=self.palette, shadows=self.shadows,
            colors=self.colors if named else self.colors[0],
            objects=objects[0] if objects and len(objects) == 1 else objects,
            variation=self.variation(),
        )  # fmt: skip

    def variation(self) -> tuple[Variation, ...]:
        """Other shapes and sizes, as environments take them."""
        shaped = (Shape(self.shape),) if self.shape is not None else ()
        return (*shaped, Size(*self.stretch)) if self.stretch != (1.0, 1.0) else shaped

    def layout(self, env: TabletopVectorEnv) -> Layout:
        """Describe the frames."""
        cameras = tuple(plain([asdict(camera) for camera in env.recipe.look.cameras]))
        return Layout(cameras=cameras, size=env.options.size, shadows=self.shadows)


def colors_of(env: TabletopVectorEnv) -> list[Color]:
    """All colors that objects of an environment may have."""
    objects = env.recipe.look.colors[: env.recipe.most]
    return list(env.recipe.palette or dict.fromkeys(objects))

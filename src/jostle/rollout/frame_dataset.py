"""Specification of a frame dataset: everything that determines its frames."""

from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

import tyro

from jostle.core.errors import require
from jostle.envs.vector import TabletopVectorEnv
from jostle.frames.manifest import Layout, plain
from jostle.scene.colors import RGB
from jostle.tasks.episode_sampler import PAPER_PALETTE
from jostle.tasks.variations import Shape, Size, Variation
from jostle.tasks.vary import parse_vary

PolicyName = Literal["random", "oracle", "mixed"]
_OPTIONAL_FIELDS = ("shape", "stretch", "vary")
"""Fields that are part of the identity only if they differ from their defaults: older datasets do
not have them, and keep their identity."""
_VARIED = ("shape", "size", "mass", "friction", "table", "light", "light_angle")
"""Factors of variations that frames may have: their ground truth knows palette and cameras."""


@dataclass(frozen=True, kw_only=True)
class FrameDatasetSpec:
    """Collect frames of a task; the same values always give the same frames."""

    task: Annotated[str, tyro.conf.Positional]
    """Name of a task (see 'jostle tasks')."""
    objects: tuple[int, ...] = ()
    """How many objects: a number, or a range such as 1 6; the task's own number by default."""
    colors: tuple[str, ...] = ("fixed",)
    """'fixed', 'random' (drawn from the palette for each episode), or one name per object."""
    palette: tuple[str, ...] = PAPER_PALETTE
    """Colors that random colors are drawn from."""
    shape: str | None = None
    """Shape of the objects: cube, star or tee; the task's own shape by default."""
    stretch: tuple[float, float] = (1.0, 1.0)
    """Factors on the footprint along an object's x and y: 2 1 makes cuboids of cubes."""
    vary: str = ""
    """What else differs from the task, as for 'jostle evaluate --vary': "size=1..2 light=0.7", also
    by ranges. Colors are given by --colors and --palette."""
    cameras: tuple[str, ...] = ("front", "side")
    """Cameras; every scene is rendered from all of them."""
    size: int = 128
    """Side of a frame in pixels."""
    shadows: bool = False
    """Render shadows. Slower."""
    steps: int = 8
    """Actions per episode: few, for a large variety of scenes. An episode has steps + 1 scenes."""
    policy: PolicyName = "mixed"
    """Policy that acts. mixed: random actions up to a random step, then the oracle, with some
    objects at their goals from the start, so that crowded and solved scenes appear."""
    random_share: float = 0.5
    """Policy mixed: fraction of episodes with random actions only."""
    seed: int = 0
    """Seed of the frames."""
    truth: bool = True
    """Store ground truth (masks, positions, colors) with the frames, for probing."""
    truth_every: int = 1
    """Store the ground truth of every so many scenes of an episode only."""

    def __post_init__(self) -> None:
        """Refuse impossible values."""
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
        for key, value in parse_vary(self.vary).values:
            require(
                key.partition(".")[0] in _VARIED,
                f"Frames cannot be varied by {key}={value}, only by {', '.join(_VARIED)}. Colors "
                "are given by --colors and --palette; the cameras of a folder stay where they are.",
            )

    @property
    def scenes(self) -> int:
        """Scenes of one episode."""
        return self.steps + 1

    @property
    def truth_steps(self) -> list[int]:
        """Steps of an episode whose ground truth is stored."""
        return list(range(0, self.scenes, self.truth_every)) if self.truth else []

    def identity(self) -> dict[str, Any]:
        """Everything that determines the frames, as plain data."""
        fields = asdict(self)
        del fields["truth"], fields["truth_every"]
        for name in _OPTIONAL_FIELDS:
            if fields[name] == getattr(type(self), name):
                del fields[name]
        return plain(fields)

    def truth_options(self) -> dict[str, Any]:
        """Which ground truth is stored."""
        return {"truth": self.truth, "truth_every": self.truth_every}

    def make_env(self, num_envs: int, threads: int) -> TabletopVectorEnv:
        """Make the environments, without images in their observations."""
        named = len(self.colors) > 1 or self.colors[0] not in ("fixed", "random")
        objects = self.objects or None
        return TabletopVectorEnv(
            num_envs, self.task, autoreset_mode="Disabled", threads=threads, cameras=self.cameras,
            image_size=self.size, palette=self.palette, shadows=self.shadows,
            colors=self.colors if named else self.colors[0],
            objects=objects[0] if objects and len(objects) == 1 else objects,
            variation=self.variation(),
        )  # fmt: skip

    def variation(self) -> tuple[Variation, ...]:
        """What differs from the task, in the form that environments take."""
        shaped = (Shape(self.shape),) if self.shape is not None else ()
        stretched = (Size(*self.stretch),) if self.stretch != (1.0, 1.0) else ()
        return (*shaped, *stretched, *parse_vary(self.vary).variations)

    def layout(self, env: TabletopVectorEnv) -> Layout:
        """Cameras and size of the frames."""
        cameras = env.episode_sampler.appearance.cameras
        return Layout(
            cameras=tuple(plain([asdict(camera) for camera in cameras])),
            size=env.options.size,
            shadows=self.shadows,
        )


def palette_of(env: TabletopVectorEnv) -> list[RGB]:
    """All colors that objects of an environment may have."""
    objects = env.episode_sampler.appearance.colors[: env.episode_sampler.max_objects]
    return list(env.episode_sampler.palette or dict.fromkeys(objects))

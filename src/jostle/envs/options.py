"""Options of an environment, validated before anything is built."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from gymnasium.vector import AutoresetMode

from jostle.core.catalog import suggest
from jostle.core.checks import check_int
from jostle.core.errors import UnknownNameError, require
from jostle.scene.spec import CameraSpec, TableSpec
from jostle.tasks.catalog import configure_task
from jostle.tasks.episode_sampler import PAPER_PALETTE, EpisodeSampler, make_episode_sampler
from jostle.tasks.variations import Table
from jostle.tasks.vary import read_variations

ObsType = Literal["state", "pixels", "both"]


@dataclass(frozen=True, kw_only=True)
class EnvOptions:
    """Options of every environment id, named as in Gymnasium where it has a name."""

    objects: int | Sequence[int] | None = None
    """How many; with a range such as (1, 3) each episode samples a number and rows are padded."""
    obs_type: ObsType = "state"
    """"state" for true coordinates, "pixels" for images (and the gripper's position), "both"."""
    cameras: Sequence[str | CameraSpec] = ("front", "side")
    """Names from `scene.cameras.CAMERAS`, or cameras of your own."""
    image_size: int | tuple[int, int] = 128
    """Side of the images in pixels, or (height, width)."""
    colors: str | Sequence[Any] = "fixed"
    """"fixed", "random" (distinct, sampled per episode), "hues" (evenly spaced, any number) or a
    list of names or RGB triples."""
    palette: Sequence[Any] = PAPER_PALETTE
    """Colors from which random ones are sampled."""
    variation: Any = None
    """Domain randomization: one or several values of `jostle.tasks.variations`, or text such as
    "mass=x20 light=0.7"."""
    shadows: bool = False
    """Whether images show shadows."""
    max_episode_steps: int | None = None
    """Steps until truncation; None takes the horizon of the task."""
    render_mode: str | None = None
    """None, "rgb_array", or "human": a page in the browser shows the first environment."""
    render_size: int = 256
    """Side in pixels of each view that `render()` puts side by side."""
    threads: int = 0
    """Threads for physics and rendering; 0 takes one per core. Results do not depend on it."""
    autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP
    """NEXT_STEP or DISABLED (then reset with `options={"reset_mask": ...}`)."""

    def __post_init__(self) -> None:
        """Refuse invalid values."""
        obs_types = ["state", "pixels", "both"]
        if self.obs_type not in obs_types:
            raise UnknownNameError(
                f"There is no obs_type '{self.obs_type}'. {suggest(self.obs_type, obs_types)}"
            )
        require(
            self.render_mode in (None, "rgb_array", "human"),
            f"render_mode is None, 'rgb_array' or 'human', not '{self.render_mode}'.",
        )
        if self.max_episode_steps is not None:
            check_int("max_episode_steps", self.max_episode_steps, 1)
        check_int("threads", self.threads, 0)
        check_int("render_size", self.render_size, 1)
        require(
            self.mode in (AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED),
            f"autoreset_mode must be NEXT_STEP or DISABLED, not {self.autoreset_mode}.",
        )
        require(
            all(8 <= side <= 2048 for side in (*self.size, self.render_size)),
            f"Images are 8 to 2048 pixels a side, not {self.size} or {self.render_size}.",
        )
        require(
            self.obs_type == "state" or len(self.cameras) > 0,
            f"obs_type '{self.obs_type}' needs at least one camera.",
        )

    @property
    def mode(self) -> AutoresetMode:
        """The autoreset mode as Gymnasium's enum."""
        for mode in AutoresetMode:
            if self.autoreset_mode in (mode, mode.value, mode.name):
                return mode
        return AutoresetMode.SAME_STEP  # refused by __post_init__, which quotes the option

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of the images."""
        sides: Any = self.image_size
        height, width = sides if _is_pair(sides) else (sides, sides)
        for side in (height, width):
            check_int("image_size", side, 1)
        return int(height), int(width)

    def episode_sampler(self, task: str, task_options: dict[str, Any]) -> EpisodeSampler:
        """Return the episode sampler of these options and the options of the task."""
        return make_episode_sampler(
            configure_task(task, task_options, tuple(self.__dataclass_fields__)),
            objects=self.objects,
            colors=self.colors,
            palette=self.palette,
            cameras=self.cameras,
            shadows=self.shadows,
            variations=read_variations(self.variation),
        )

    def horizon(self, sampler: EpisodeSampler) -> int:
        """Steps until truncation."""
        task, limit = sampler.task, self.max_episode_steps
        # make_vec passes the registered horizon, which is that of the default number of objects.
        default = task.horizon(task.objects)
        if limit is None or (limit == default and sampler.max_objects != task.objects):
            return task.horizon(sampler.max_objects)
        return limit


def _is_pair(value: Any) -> bool:
    """Whether a value is a list, a tuple or the like of two values; text is not."""
    return isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 2


def split_options(options: dict[str, Any]) -> tuple[EnvOptions, dict[str, Any]]:
    """Split options into those of every environment and those of the task."""
    names = set(EnvOptions.__dataclass_fields__)
    env_options = {name: value for name, value in options.items() if name in names}
    task_options = {name: value for name, value in options.items() if name not in names}
    return EnvOptions(**env_options), task_options


def largest_table(sampler: EpisodeSampler) -> TableSpec:
    """The table that bounds observed coordinates."""
    varied = any(isinstance(variation, Table) for variation in sampler.variations)
    return TableSpec(x=0.8, y=1.2) if varied else sampler.scene.table

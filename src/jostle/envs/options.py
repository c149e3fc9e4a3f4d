"""What a user may ask of an environment, checked before anything is built."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from gymnasium.vector import AutoresetMode

from jostle.core.catalog import suggest
from jostle.core.errors import UnknownNameError, require
from jostle.scene.spec import CameraSpec, TableSpec
from jostle.tasks.catalog import configure
from jostle.tasks.recipe import PAPER_PALETTE, Recipe, make_recipe
from jostle.tasks.variations import Table, read_variation

ObsType = Literal["state", "pixels", "both"]


@dataclass(frozen=True, kw_only=True)
class EnvOptions:
    """Options that every id takes, in Gymnasium's own words where it has one."""

    objects: int | Sequence[int] | None = None
    """How many; a range such as (1, 3) draws anew each episode and pads the rows."""
    obs_type: ObsType = "state"
    """"state" for true coordinates, "pixels" for frames (and the gripper's own place), "both"."""
    cameras: Sequence[str | CameraSpec] = ("front", "side")
    """Names from `scene.cameras.CAMERAS`, or cameras of your own."""
    image_size: int | tuple[int, int] = 128
    """Side of the frames in pixels, or (height, width)."""
    colors: str | Sequence[Any] = "fixed"
    """"fixed", "random" (distinct, per episode and copy) or a list of names or RGB triples."""
    palette: Sequence[Any] = PAPER_PALETTE
    """Where random colors are drawn from."""
    variation: Any = None
    """One or several values of `jostle.tasks.variations`."""
    shadows: bool = False
    """Whether frames show shadows."""
    max_episode_steps: int | None = None
    """Steps until truncation; None takes the task's own horizon."""
    render_mode: str | None = None
    """None or "rgb_array"."""
    render_size: int = 256
    """Side in pixels of each view that `render()` puts side by side."""
    threads: int = 0
    """Threads for physics and drawing; 0 takes one per core. Results do not depend on it."""
    autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP
    """NEXT_STEP or DISABLED (then reset with `options={"reset_mask": ...}`)."""

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        kinds = ["state", "pixels", "both"]
        if self.obs_type not in kinds:
            raise UnknownNameError(
                f"There is no obs_type '{self.obs_type}'. {suggest(self.obs_type, kinds)}"
            )
        require(
            self.render_mode in (None, "rgb_array"),
            f"render_mode is None or 'rgb_array', not '{self.render_mode}'.",
        )
        require(
            self.max_episode_steps is None or self.max_episode_steps > 0,
            f"max_episode_steps must be positive, not {self.max_episode_steps}.",
        )
        require(self.threads >= 0, f"threads must be 0 or more, not {self.threads}.")
        require(
            self.mode in (AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED),
            f"autoreset_mode is NEXT_STEP or DISABLED here, not {self.autoreset_mode}.",
        )
        require(
            all(8 <= side <= 2048 for side in (*self.size, self.render_size)),
            f"Pictures are 8 to 2048 pixels a side, not {self.size} or {self.render_size}.",
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
        return AutoresetMode.SAME_STEP  # refused above, with the user's own word in the text

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of the frames."""
        if isinstance(self.image_size, int):
            return self.image_size, self.image_size
        height, width = self.image_size
        return int(height), int(width)

    def recipe(self, task: str, own: dict[str, Any]) -> Recipe:
        """Resolve to a recipe; `own` are options of the task itself."""
        return make_recipe(
            configure(task, own, tuple(self.__dataclass_fields__)),
            objects=self.objects,
            colors=self.colors,
            palette=self.palette,
            cameras=self.cameras,
            shadows=self.shadows,
            variations=read_variation(self.variation),
        )


def split(options: dict[str, Any]) -> tuple[EnvOptions, dict[str, Any]]:
    """Part the options of every id from those of a task."""
    common = set(EnvOptions.__dataclass_fields__)
    shared = {name: value for name, value in options.items() if name in common}
    own = {name: value for name, value in options.items() if name not in common}
    return EnvOptions(**shared), own


def largest_table(recipe: Recipe) -> TableSpec:
    """The table whose edges bound what can be observed."""
    varied = any(isinstance(one, Table) for one in recipe.variations)
    return TableSpec(x=0.8, y=1.2) if varied else recipe.scene.table

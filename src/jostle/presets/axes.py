"""The choices that make an experiment."""

from dataclasses import dataclass
from typing import Literal

from jostle.core.errors import require
from jostle.rewards.catalog import IMAGE_REWARDS, SUBGOAL_REWARDS

OFFLINE = ("bc", "iql", "iql-privileged")
"""Methods that learn from recorded episodes."""
_PRIVILEGED = ("td3-privileged", "iql-privileged")
"""Methods whose critics see true state while the actor sees images."""


@dataclass(frozen=True, kw_only=True)
class Axes:
    """What to observe, how to learn and how large; every other setting follows."""

    obs: Literal["state", "pixels", "objects"] = "state"
    """What the actor observes: true state; images, as the particles of an encoder (pixels); or
    images, as objects found among these particles (objects), which needs no true state."""
    method: str = ""
    """How it learns: td3, td3-demos, td3-privileged, dagger; from recorded episodes (--data): bc,
    iql, iql-privileged. By default td3 from true state and dagger from images."""
    size: Literal["fast", "paper"] = "fast"
    """Networks and schedules: for two cores, or the paper's."""
    arch: Literal["eit", "smorl", "mlp"] = "eit"
    """Networks: Entity Interaction Transformer, SMORL's attention, or unstructured."""
    values: Literal["pooled", "per-entity"] | None = None
    """Critics: one value of the whole set (the paper), or one per object, from images one per goal
    particle; by default per-entity wherever critics see the true state, but for --finetune and
    --size paper."""
    reward: str = "true"
    """Reward of training: the distance of true coordinates, or of images: table, gdac, gdac-paper,
    chamfer; for --arch smorl smorl (the default from images) or smorl-paper. With these, nothing
    but images is read in training."""
    encoder: str = ""
    """Encoder of a pixel agent: a name of the zoo, a run or a file; the task's own by default."""
    views: Literal[1, 2] = 2
    """Cameras of a pixel agent: the front one, or front and side."""
    colors: Literal["fixed", "random"] = "fixed"
    """Colors of the objects: the task's own, or drawn from six for each episode."""
    finetune: bool = False
    """Whether trained weights (--from) are improved by TD3: little noise, the critics learn first,
    and the actor stays near its start."""

    def __post_init__(self) -> None:
        """Fill in defaults, and refuse combinations that make no sense."""
        pixels, images = self.obs == "pixels", self.obs != "state"
        if not self.method:
            paper = self.size == "paper" or self.arch == "smorl" or self.finetune
            method = "td3" if not pixels or paper else "dagger"
            object.__setattr__(self, "method", method)
        if pixels and self.arch == "smorl" and self.reward == "true":
            object.__setattr__(self, "reward", "smorl")
        if self.obs == "objects":
            self._check_objects()
        self._check_values()
        self._check_subgoals()
        require(
            pixels or self.method not in _PRIVILEGED,
            f"{self.method} is for --obs pixels: from true state the actor sees as much as its "
            f"critics. Use --method {self.method.removesuffix('-privileged')}.",
        )
        require(
            images or not self.encoder,
            f"An encoder ('{self.encoder}') is for --obs pixels; this agent reads true state.",
        )
        require(
            images or self.reward not in IMAGE_REWARDS,
            f"--reward {self.reward} is for --obs pixels; this agent reads true state.",
        )
        require(images or self.views == 2, "--views is for --obs pixels.")
        require(
            self.arch == "eit" or self.method not in ("iql", "iql-privileged"),
            f"{self.method} learns values of sets, which --arch {self.arch} does not have. Use "
            "--arch eit.",
        )
        require(
            self.arch != "smorl" or self.method not in ("dagger", "bc"),
            "SMORL sees one goal at a time and cannot imitate a teacher that sees all of them: use "
            "--method td3.",
        )
        require(
            not self.finetune or self.method in ("td3", "td3-privileged"),
            f"--finetune is for the methods td3 and td3-privileged, not {self.method}.",
        )
        require(
            self.size == "fast" or self.method == "td3",
            f"The paper trains by td3 alone: --size paper does not go with --method {self.method}.",
        )
        require(not (self.finetune and self.size == "paper"), "--finetune is for --size fast.")

    @property
    def per_entity(self) -> bool:
        """Whether critics have a value per object."""
        if self.values is not None:
            return self.values == "per-entity"
        return (
            self._critics_see_state
            and self.arch == "eit"
            and self.size == "fast"
            and not self.finetune
            and (self.reward not in IMAGE_REWARDS or self.obs == "objects")
        )

    @property
    def from_scratch(self) -> bool:
        """Whether TD3 starts from nothing: from true state, or images with values per entity."""
        state = self.method == "td3" and not self.pixels
        images = self.method in ("td3", "td3-privileged") and self.pixels and self.per_entity
        return (state or images) and self.size == "fast" and not self.finetune

    @property
    def offline(self) -> bool:
        """Whether it learns from recorded episodes."""
        return self.method in OFFLINE

    @property
    def _critics_see_state(self) -> bool:
        return self.method in _PRIVILEGED or (self.method in ("td3", "iql") and not self.pixels)

    @property
    def pixels(self) -> bool:
        """Whether the actor sees images."""
        return self.obs == "pixels"

    def _check_objects(self) -> None:
        """Fill in the reward of found objects; refuse what they do not go with."""
        if self.reward == "true":
            object.__setattr__(self, "reward", "table")
        require(
            self.method == "td3" and self.arch == "eit" and self.size == "fast",
            "--obs objects learns by --method td3 with --arch eit and --size fast, not by "
            f"--method {self.method} with --arch {self.arch} and --size {self.size}.",
        )
        require(
            self.reward == "table",
            f"--obs objects has places on the table, and no particles for --reward {self.reward}. "
            "Use --reward table, or --obs pixels.",
        )

    def _check_subgoals(self) -> None:
        """Refuse rewards and methods that do not go with one goal particle at a time."""
        smorl = self.arch == "smorl" and self.pixels
        require(
            smorl or self.reward not in SUBGOAL_REWARDS,
            f"--reward {self.reward} is that of one goal particle: it is for --arch smorl --obs "
            "pixels.",
        )
        require(
            not smorl or (self.reward in SUBGOAL_REWARDS and self.method == "td3"),
            "SMORL from images sees one goal particle at a time and learns by --method td3 with "
            f"--reward smorl or smorl-paper, not by {self.method} with {self.reward}.",
        )

    def _check_values(self) -> None:
        """Refuse values per entity where they make no sense."""
        if self.values != "per-entity":
            return
        require(
            self.arch == "eit",
            f"--values per-entity reads a value at each object's token, which --arch {self.arch} "
            "does not have. Use --arch eit or --values pooled.",
        )
        require(
            self.size == "fast",
            "The paper pools its entities: --size paper does not go with --values per-entity.",
        )
        require(
            self._critics_see_state or self.method == "td3",
            "--values per-entity needs critics of TD3, or critics that see true state, not "
            f"--method {self.method} with --obs {self.obs}. Use --method td3 or td3-privileged.",
        )

    def suffix(self) -> str:
        """What the name of an experiment says of these choices, after its task."""
        parts = [self.obs, self.method]
        parts += ["finetune"] if self.finetune else []
        parts += [self.arch] if self.arch != "eit" else []
        parts += [self.encoder.split("-")[0]] if self.encoder and "/" not in self.encoder else []
        parts += ["front"] if self.views == 1 else []
        parts += ["colors"] if self.colors == "random" else []
        parts += ["paper"] if self.size == "paper" else []
        own = "table" if self.obs == "objects" else "true"
        parts += [self.reward] if self.reward not in (own, "smorl") else []
        return "-".join(parts)

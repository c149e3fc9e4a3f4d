"""The choices that make an experiment."""

from dataclasses import dataclass
from typing import Literal

from jostle.core.errors import require


@dataclass(frozen=True, kw_only=True)
class Axes:
    """What to observe, how to learn and how large; every other setting follows."""

    obs: Literal["state", "pixels"] = "state"
    """What the actor observes: true state, or images through an encoder."""
    method: str = "dagger"
    """How it learns: td3, td3-demos, td3-privileged, dagger."""
    size: Literal["fast", "paper"] = "fast"
    """Networks and schedules: for two cores, or the paper's."""
    arch: Literal["eit", "smorl", "mlp"] = "eit"
    """Networks: Entity Interaction Transformer, SMORL's attention, or unstructured."""
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
        """Refuse combinations that make no sense."""
        pixels = self.obs == "pixels"
        require(
            pixels or self.method != "td3-privileged",
            "td3-privileged is for --obs pixels: from true state the actor sees as much as its "
            "critics. Use --method td3.",
        )
        require(
            pixels or not self.encoder,
            f"An encoder ('{self.encoder}') is for --obs pixels; this agent reads true state.",
        )
        require(pixels or self.views == 2, "--views is for --obs pixels.")
        require(
            self.arch != "smorl" or not pixels,
            "SMORL from images is not there yet: use --obs state or --arch eit.",
        )
        require(
            self.arch != "smorl" or self.method != "dagger",
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

    def suffix(self) -> str:
        """What the name of an experiment says of these choices, after its task."""
        parts = [self.obs, self.method]
        parts += ["finetune"] if self.finetune else []
        parts += [self.arch] if self.arch != "eit" else []
        parts += [self.encoder.split("-")[0]] if self.encoder and "/" not in self.encoder else []
        parts += ["front"] if self.views == 1 else []
        parts += ["colors"] if self.colors == "random" else []
        parts += ["paper"] if self.size == "paper" else []
        return "-".join(parts)

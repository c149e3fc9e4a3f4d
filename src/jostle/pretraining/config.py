"""Everything that defines a pretraining, as one frozen record."""

import math
from dataclasses import asdict, dataclass
from typing import Any, Generic, Literal, TypeVar

from jostle.core.checks import check_folder_name, check_int, check_number
from jostle.core.errors import BadValueError, require
from jostle.encoders.catalog import ENCODERS, EncoderConfig, kind_of, parse_config
from jostle.runs import config as runs

M = TypeVar("M", bound=EncoderConfig, covariant=True)


@dataclass(frozen=True, kw_only=True)
class Pretraining(Generic[M]):
    """An encoder, its frames, and the loop around its loss."""

    name: str
    """Name of the run's folder, with the seed."""
    kind: str
    """Which encoder: dlp, vae or slots."""
    preset: str
    """Which preset it came from: paper or lite."""
    model: M
    """Sizes and loss weights of the encoder."""
    data: str = ""
    """Folder of frames that 'jostle collect' made."""
    scenes: int = 0
    """Scenes to use, the first of the folder; 0: all that are there when the run starts."""
    validation: float = 0.05
    """Fraction of the episodes kept for validation."""
    seed: int = 0
    """Seed of everything."""

    batch_size: int = 8
    """Scenes of a batch; each brings the frames of all its cameras."""
    steps: int = 20_000
    """Gradient steps in total."""
    lr: float = 5e-4
    """Adam step size at its peak."""
    lr_final_fraction: float = 0.05
    """Fraction of it that is left in the end; in between, half a cosine."""
    lr_warmup_steps: int = 100
    """Steps over which it rises from zero."""
    adam_eps: float = 1e-6
    """Added to Adam's denominators."""
    max_grad_norm: float = 0.0
    """Gradients are clipped to this norm; 0: never."""
    ema_decay: float = 0.0
    """Decay of the averaged weights that are validated and kept; 0: no averaging."""

    log_every: int = 20
    """Steps between rows of metrics."""
    validate_every: int = 500
    """Steps between validations."""
    validation_scenes: int = 256
    """Scenes of a validation, always the same ones."""
    save_every: int = 250
    """Steps between checkpoints."""
    wandb: bool = False
    """Whether to log to Weights & Biases as well (pip install wandb; offline unless WANDB_MODE says
    otherwise)."""
    threads: int = 0
    """Threads of the networks; 0 takes one per core."""
    device: str = "auto"
    """Where to compute: auto (a GPU if there is one), cpu, cuda, cuda:1, mps."""
    channels_last: bool = False
    """Whether convolutions keep channels innermost in memory: the same numbers up to rounding."""
    precision: Literal["full", "tf32", "bf16"] = "full"
    """Arithmetic of the loss: float32; tf32: products in TF32 on GPUs that have it; bf16:
    convolutions and matrix products in bfloat16, which is faster where the processor supports it.
    Weights are float32 in all."""

    def __post_init__(self) -> None:
        """Refuse loops that go nowhere."""
        require(
            ENCODERS[self.kind].config is type(self.model),
            f"A '{self.kind}' was asked for, but the sizes are those of a '{kind_of(self.model)}'.",
        )
        for name in (
            "batch_size", "steps", "log_every", "validate_every", "validation_scenes", "save_every",
        ):  # fmt: skip
            check_int(name, getattr(self, name), 1)
        for name in ("scenes", "lr_warmup_steps", "threads", "seed"):
            check_int(name, getattr(self, name), 0)
        check_folder_name("name", self.name)
        check_number("max_grad_norm", self.max_grad_norm, low=0)
        for name in ("lr", "adam_eps"):
            check_number(name, getattr(self, name), above=0)
        final = self.lr_final_fraction
        require(0 <= final <= 1, f"lr_final_fraction is a fraction in [0, 1], not {final}.")
        require(0 <= self.ema_decay < 1, f"ema_decay lies in [0, 1), not {self.ema_decay}.")
        require(
            0 < self.validation < 1, f"validation is a fraction in (0, 1), not {self.validation}."
        )

    def lr_at(self, step: int) -> float:
        """Adam step size at a step; it depends on nothing else."""
        rise = min(1.0, (step + 1) / self.lr_warmup_steps) if self.lr_warmup_steps else 1.0
        cosine = 0.5 + 0.5 * math.cos(math.pi * min(step / self.steps, 1.0))
        return self.lr * rise * (self.lr_final_fraction + (1 - self.lr_final_fraction) * cosine)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


_PRESETS: dict[tuple[str, str], dict[str, Any]] = {
    ("dlp", "lite"): {},
    ("dlp", "paper"): {"batch_size": 32, "steps": 480_000, "lr": 2e-4, "adam_eps": 1e-4},
    ("vae", "lite"): {"lr": 1e-3},
    ("vae", "paper"): {"batch_size": 8, "steps": 500_000, "lr": 2e-4, "adam_eps": 1e-4},
    ("slots", "lite"): {"lr": 1e-3, "max_grad_norm": 1.0, "adam_eps": 1e-8},
    ("slots", "paper"): {
        "batch_size": 16, "steps": 500_000, "lr": 4e-4, "lr_warmup_steps": 10_000,
        "max_grad_norm": 0.05, "adam_eps": 1e-8,
    },
}  # fmt: skip
"""Batch sizes, step sizes and lengths of the released code, and ours for two cores."""


def preset(kind: str, size: str) -> Pretraining[EncoderConfig]:
    """The pretraining of an encoder in a size; it only lacks frames."""
    model = ENCODERS[kind].presets[size]
    return Pretraining(
        name=f"{kind}-{size}", kind=kind, preset=size, model=model, **_PRESETS.get((kind, size), {})
    )


def read_pretraining(fields: dict[str, Any]) -> Pretraining[EncoderConfig]:
    """Read what `to_dict` wrote; unknown fields are named."""
    if "task" in fields:
        raise BadValueError(
            f"This run trains an agent ({fields.get('name')}), not an encoder. "
            "Resume it with 'jostle train --resume'."
        )
    try:
        model = parse_config(fields["kind"], fields["model"])
    except (TypeError, AttributeError, KeyError) as error:
        raise BadValueError(f"This does not describe a pretraining: {error}.") from error
    return runs.read_config(Pretraining, {**fields, "model": model}, "a pretraining")


def differences(
    old: Pretraining[EncoderConfig], new: Pretraining[EncoderConfig], ignore: tuple[str, ...] = ()
) -> list[str]:
    """Name the fields in which two pretrainings differ, apart from those in `ignore`."""
    return runs.differences(old.to_dict(), new.to_dict(), ignore)

"""Everything that defines a pretraining, as one frozen record."""

import math
from dataclasses import asdict, dataclass
from typing import Any, Generic, Literal, TypeVar

from jostle.core.catalog import suggest
from jostle.core.errors import BadValueError, UnknownNameError, require
from jostle.particles.catalog import KINDS, EncoderConfig, kind_of, read_config

M = TypeVar("M", bound=EncoderConfig, covariant=True)


@dataclass(frozen=True, kw_only=True)
class Pretraining(Generic[M]):
    """An encoder, its frames, and the loop around its loss."""

    name: str
    """What to call it; the run's folder is NAME-SEED."""
    kind: str
    """Which encoder: dlp, vae or slots."""
    preset: str
    """Which preset it came from: paper or lite."""
    model: M
    """Sizes and weights of the encoder."""
    data: str = ""
    """Folder of frames that 'jostle collect' made."""
    scenes: int = 0
    """Scenes to use, the first of the folder; 0: all that are there when the run begins."""
    validation: float = 0.05
    """Share of the episodes kept for validation."""
    seed: int = 0
    """Seed of everything."""

    batch: int = 8
    """Scenes of a batch; each brings the frames of all its cameras."""
    steps: int = 20_000
    """Gradient steps in all."""
    lr: float = 5e-4
    """Step size of Adam at its height."""
    lr_floor: float = 0.05
    """Share of it that is left in the end; in between, half a cosine."""
    lr_warmup: int = 100
    """Steps over which it rises from nothing."""
    adam_eps: float = 1e-6
    """Added to Adam's denominators."""
    clip: float = 0.0
    """Norm at which gradients are clipped; 0: never."""
    ema: float = 0.0
    """Decay of the averaged weights that are validated and kept; 0: no averaging."""

    log_every: int = 20
    """Steps between rows of metrics."""
    validate_every: int = 500
    """Steps between validations."""
    validation_scenes: int = 256
    """Scenes of a validation, always the same ones."""
    save_every: int = 250
    """Steps between checkpoints."""
    threads: int = 0
    """Threads of the networks; 0 takes one per core."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where to compute; auto: a GPU if there is one."""
    channels_last: bool = False
    """Whether convolutions keep channels innermost in memory: the same numbers up to rounding."""
    precision: Literal["full", "bf16"] = "full"
    """How losses are computed: in float32, or with convolutions and matrices in bfloat16, which is
    faster where the processor knows it. Weights and validations are float32 in both."""

    def __post_init__(self) -> None:
        """Refuse loops that go nowhere."""
        require(
            KINDS[self.kind].config is type(self.model),
            f"A '{self.kind}' was asked for, but the sizes are those of a '{kind_of(self.model)}'.",
        )
        for name in ("batch", "steps", "log_every", "validate_every", "validation_scenes"):
            require(getattr(self, name) >= 1, f"{name} must be at least 1.")
        require(self.save_every >= 1, "save_every must be at least 1.")
        for name in ("scenes", "lr_warmup", "clip", "threads", "seed"):
            require(getattr(self, name) >= 0, f"{name} must not be negative.")
        for name in ("lr", "adam_eps"):
            value = getattr(self, name)
            require(0 < value < math.inf, f"{name} must be positive, not {value}.")
        require(0 <= self.lr_floor <= 1, f"lr_floor is a share in [0, 1], not {self.lr_floor}.")
        require(0 <= self.ema < 1, f"ema is a decay in [0, 1), not {self.ema}.")
        require(0 < self.validation < 1, f"validation is a share in (0, 1), not {self.validation}.")

    def pace(self, step: int) -> float:
        """Step size of Adam at a step; it depends on nothing else."""
        rise = min(1.0, (step + 1) / self.lr_warmup) if self.lr_warmup else 1.0
        fall = 0.5 + 0.5 * math.cos(math.pi * min(step / self.steps, 1.0))
        return self.lr * rise * (self.lr_floor + (1 - self.lr_floor) * fall)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


_RECIPES: dict[tuple[str, str], dict[str, Any]] = {
    ("dlp", "lite"): {},
    ("dlp", "paper"): {"batch": 32, "steps": 480_000, "lr": 2e-4, "adam_eps": 1e-4},
    ("vae", "lite"): {"lr": 1e-3},
    ("vae", "paper"): {"batch": 8, "steps": 500_000, "lr": 2e-4, "adam_eps": 1e-4},
    ("slots", "lite"): {"lr": 1e-3, "clip": 1.0, "adam_eps": 1e-8},
    ("slots", "paper"): {
        "batch": 16, "steps": 500_000, "lr": 4e-4, "lr_warmup": 10_000, "clip": 0.05,
        "adam_eps": 1e-8,
    },
}  # fmt: skip
"""Batches, step sizes and lengths of the released code, and ours for two cores."""


def recipe(kind: str, preset: str) -> Pretraining[EncoderConfig]:
    """The pretraining that a preset stands for; it only lacks frames."""
    model = KINDS[kind].presets[preset]
    return Pretraining(
        name=f"{kind}-{preset}", kind=kind, preset=preset, model=model, **_RECIPES[kind, preset]
    )


def read_pretraining(fields: dict[str, Any]) -> Pretraining[EncoderConfig]:
    """Read what `to_dict` wrote; unknown fields are named."""
    if "task" in fields:
        raise BadValueError(
            f"This run trains an agent ({fields.get('name')}), not an encoder. "
            "Go on with it by 'jostle train --resume'."
        )
    known = Pretraining.__dataclass_fields__
    for name in fields:
        if name not in known:
            raise UnknownNameError(f"A pretraining has no '{name}'. {suggest(name, list(known))}")
    try:
        model = read_config(fields["kind"], fields["model"])
        return Pretraining(**{**fields, "model": model})
    except (TypeError, AttributeError) as error:
        raise BadValueError(f"This is no pretraining: {error}.") from error


def differences(
    old: Pretraining[EncoderConfig], new: Pretraining[EncoderConfig], but: tuple[str, ...] = ()
) -> list[str]:
    """Name the fields in which two pretrainings differ, apart from those in `but`."""
    one, two = _leaves(old), _leaves(new)
    return [
        f"{name}: {one.get(name)!r} there, {two.get(name)!r} here"
        for name in dict.fromkeys((*one, *two))
        if one.get(name) != two.get(name) and name not in but
    ]


def _leaves(plan: Pretraining[EncoderConfig]) -> dict[str, Any]:
    fields = plan.to_dict()
    model = {f"model.{name}": value for name, value in fields.pop("model").items()}
    return fields | model

"""Every encoder by name: three kinds, each in the paper's size and in a lite one."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, Protocol

import torch
from torch import Tensor

from jostle.core.catalog import Catalog, suggest
from jostle.core.entities import Entities
from jostle.core.errors import BadValueError, UnknownNameError, require
from jostle.particles.config import LITE_DLP, PAPER_DLP, DLPConfig
from jostle.particles.dlp import DLP
from jostle.particles.slots import LITE_SLOTS, PAPER_SLOTS, SlotConfig, SlotModel
from jostle.particles.vae import LITE_VAE, PAPER_VAE, VAE, VAEConfig

EncoderConfig = DLPConfig | VAEConfig | SlotConfig
Model = DLP | VAE | SlotModel
"""An encoder that can be trained, moved and saved."""


class Encoder(Protocol):
    """What agents, probes and the pretraining know of an encoder."""

    @property
    def config(self) -> EncoderConfig:
        """Its sizes and weights."""

    @property
    def shape(self) -> tuple[int, int]:
        """Entities per view and width of an entity."""

    def encode(self, frames: Tensor) -> Entities:
        """Entities (B, V, K, D) of frames (B, V, H, W, 3) uint8; deterministic."""

    def reconstruct(self, frames: Tensor) -> Tensor:
        """What the entities of frames (B, V, H, W, 3) uint8 look like, in the same form."""

    def begin(self, frames: Tensor, sceneries: Tensor | None = None) -> None:
        """Before training: look at some frames (B, V, H, W, 3), each of a scenery (B,)."""

    def loss(
        self, frames: Tensor, step: int, rng: torch.Generator | None = None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """What training step number `step` minimizes, and its parts for the log."""


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One way to see."""

    model: type[Model]
    """The network."""
    config: type[EncoderConfig]
    """Its sizes and weights."""
    presets: Catalog[EncoderConfig]
    """Named sizes."""


KINDS: Catalog[Kind] = Catalog(
    "encoder",
    {
        "dlp": Kind(
            model=DLP,
            config=DLPConfig,
            presets=Catalog("preset of dlp", {"paper": PAPER_DLP, "lite": LITE_DLP}),
        ),
        "vae": Kind(
            model=VAE,
            config=VAEConfig,
            presets=Catalog("preset of vae", {"paper": PAPER_VAE, "lite": LITE_VAE}),
        ),
        "slots": Kind(
            model=SlotModel,
            config=SlotConfig,
            presets=Catalog("preset of slots", {"paper": PAPER_SLOTS, "lite": LITE_SLOTS}),
        ),
    },
)


def build(kind: str, config: EncoderConfig) -> Model:
    """Make an encoder; its weights come from torch's global stream."""
    wanted = KINDS[kind].config
    require(
        isinstance(config, wanted),
        f"An encoder '{kind}' is built by {wanted.__name__}, not by {type(config).__name__}.",
    )
    model: Any = KINDS[kind].model
    made: Model = model(config)
    return made


def telling_less(model: Model, hidden: Collection[str]) -> Model:
    """The same particles without attributes: 'scale', 'depth', or 'mask' (then all are seen)."""
    if not hidden:
        return model
    require(
        isinstance(model, DLP),
        f"Only particles have {', '.join(hidden)} to hide; this encoder is a "
        f"'{kind_of(model.config)}'.",
    )
    assert isinstance(model.config, DLPConfig)
    config = replace(
        model.config,
        keep_scale=model.config.keep_scale and "scale" not in hidden,
        keep_depth=model.config.keep_depth and "depth" not in hidden,
        visible_above=0.0 if "mask" in hidden else model.config.visible_above,
    )
    made = build("dlp", config)
    made.load_state_dict(model.state_dict())
    return made.requires_grad_(False).eval()


def kind_of(config: EncoderConfig) -> str:
    """Name the kind of encoder that a config belongs to."""
    return next(name for name, kind in KINDS.items() if isinstance(config, kind.config))


def read_config(kind: str, fields: dict[str, Any]) -> EncoderConfig:
    """Make a config of what JSON kept of it; unknown fields are named."""
    made = KINDS[kind].config
    known = made.__dataclass_fields__
    for name in fields:
        if name not in known:
            raise UnknownNameError(f"{kind} has no '{name}'. {suggest(name, list(known))}")
    try:
        return made(**{name: _tuples(value) for name, value in fields.items()})
    except TypeError as error:
        raise BadValueError(f"This describes no {kind}: {error}.") from error


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value

"""Every encoder by name: three kinds, each in the paper's size and in a lite one."""

import importlib
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from jostle.core.catalog import Catalog, Registry, suggest
from jostle.core.errors import BadValueError, UnknownNameError, require
from jostle.core.protocols import Encoder
from jostle.encoders.dlp_config import LITE_DLP, PAPER_DLP, DLPConfig
from jostle.encoders.slot_config import LITE_SLOTS, PAPER_SLOTS, SlotConfig
from jostle.encoders.vae_config import LITE_VAE, PAPER_VAE, VAEConfig

EncoderConfig = DLPConfig | VAEConfig | SlotConfig
if TYPE_CHECKING:
    from jostle.encoders.dlp import DLP
    from jostle.encoders.slots import SlotModel
    from jostle.encoders.vae import VAE

    EncoderModel = DLP | VAE | SlotModel
    """An `Encoder` that is also a torch module: it can be trained, moved and saved."""
else:
    EncoderModel = Any  # configs are read without torch


@dataclass(frozen=True, kw_only=True)
class EncoderSpec:
    """One kind of encoder."""

    model: type[EncoderModel] | str
    """The network, or where it is (module:Class), to be imported when it is first used."""
    config: type[EncoderConfig]
    """Its sizes and loss weights."""
    presets: Catalog[EncoderConfig]
    """Named configs."""

    def network(self) -> Any:
        """The class of the network."""
        if not isinstance(self.model, str):
            return self.model
        module, _, name = self.model.partition(":")
        return getattr(importlib.import_module(module), name)


ENCODERS: Registry[EncoderSpec] = Registry(
    "encoder",
    {
        "dlp": EncoderSpec(
            model="jostle.encoders.dlp:DLP",
            config=DLPConfig,
            presets=Catalog("preset of dlp", {"paper": PAPER_DLP, "lite": LITE_DLP}),
        ),
        "vae": EncoderSpec(
            model="jostle.encoders.vae:VAE",
            config=VAEConfig,
            presets=Catalog("preset of vae", {"paper": PAPER_VAE, "lite": LITE_VAE}),
        ),
        "slots": EncoderSpec(
            model="jostle.encoders.slots:SlotModel",
            config=SlotConfig,
            presets=Catalog("preset of slots", {"paper": PAPER_SLOTS, "lite": LITE_SLOTS}),
        ),
    },
)


def build_encoder(kind: str, config: EncoderConfig) -> EncoderModel:
    """Build an encoder; its weights are drawn from torch's global generator."""
    expected = ENCODERS[kind].config
    require(
        isinstance(config, expected),
        f"An encoder '{kind}' is built from {expected.__name__}, not {type(config).__name__}.",
    )
    encoder: EncoderModel = ENCODERS[kind].network()(config)
    return encoder


def drop_attributes(encoder: Encoder, dropped: Collection[str]) -> Encoder:
    """The same encoder without 'scale', 'depth' or 'mask' (all particles are visible then)."""
    if not dropped:
        return encoder
    from jostle.encoders.dlp import DLP

    if not isinstance(encoder, DLP):
        raise BadValueError(
            f"Only particles have {', '.join(dropped)} to drop; this encoder is a "
            f"'{kind_of(encoder.config)}'."
        )
    config = replace(
        encoder.config,
        keep_scale=encoder.config.keep_scale and "scale" not in dropped,
        keep_depth=encoder.config.keep_depth and "depth" not in dropped,
        opacity_threshold=0.0 if "mask" in dropped else encoder.config.opacity_threshold,
    )
    return _reconfigured(encoder, config)


def show_all_particles(encoder: Encoder) -> Encoder:
    """The same encoder with every particle visible, and opacity as its last column.

    Other encoders than those of particles stay as they are.
    """
    from jostle.encoders.dlp import DLP

    if not isinstance(encoder, DLP):
        return encoder
    return _reconfigured(encoder, replace(encoder.config, keep_opacity=True, opacity_threshold=0.0))


def _reconfigured(encoder: "DLP", config: DLPConfig) -> "DLP":
    """The same weights with another choice of columns."""
    copy = type(encoder)(config)
    copy.load_state_dict(encoder.state_dict())
    return copy.requires_grad_(False).eval()


def kind_of(config: EncoderConfig) -> str:
    """Name of the kind of encoder that a config belongs to."""
    return next(name for name, spec in ENCODERS.items() if isinstance(config, spec.config))


def parse_config(kind: str, fields: dict[str, Any]) -> EncoderConfig:
    """Make a config from its JSON; unknown fields are refused by name."""
    config_class = ENCODERS[kind].config
    known = config_class.__dataclass_fields__
    for name in fields:
        if name not in known:
            raise UnknownNameError(f"{kind} has no '{name}'. {suggest(name, list(known))}")
    try:
        return config_class(**{name: _tuples(value) for name, value in fields.items()})
    except TypeError as error:
        raise BadValueError(f"This is not a config of {kind}: {error}.") from error


def _tuples(value: Any) -> Any:
    """Turn JSON lists back into tuples."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value

"""What every agent has: what it observes, and defaults for what trainers call."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from jostle.agents.networks import ObservationSpec
from jostle.core.checkpoint import load_into
from jostle.core.entities import Entities
from jostle.core.errors import BadValueError
from jostle.core.object_classifier import ObjectClassifier
from jostle.core.protocols import Encoder
from jostle.nets.config import NetConfig
from jostle.replay.batch import Batch
from jostle.replay.episodes import Episodes

CPU = torch.device("cpu")
M = TypeVar("M", bound=nn.Module)


@dataclass(frozen=True)
class PixelSensor:
    """What a pixel agent sees with."""

    encoder: Encoder
    """Images to entities."""
    cameras: tuple[str, ...]
    """Names of its cameras, in the order of the views."""
    classifier: ObjectClassifier | None = None
    """Which of its entities show objects: in training by images, and for SMORL also to act."""
    finds_objects: bool = False
    """Whether the agent's entities are objects found among those of the encoder."""


class BaseAgent:
    """An agent but for `act`, `update`, `state_dict` and `load_state_dict`.

    Inherit from it to add a learning rule of your own (jostle.core.protocols.Agent).
    """

    actor: nn.Module
    """The network that acts."""
    updates: int = 0
    """Gradient steps so far."""

    def __init__(
        self,
        net: NetConfig,
        spec: ObservationSpec,
        sensor: PixelSensor | None = None,
        eval_noise_std: float = 0.0,
        device: torch.device = CPU,
    ) -> None:
        """Know what is observed, through which encoder, and the noise of evaluations."""
        self.net, self.spec, self.device = net, spec, device
        self.sensor, self.eval_noise_std = sensor, eval_noise_std

    def observe(self, episodes: Episodes) -> None:
        """Take in new episodes before learning from them, such as into normalizers."""
        del episodes

    def set_lr_scale(self, scale: float) -> None:
        """Scale all step sizes."""
        del scale

    def end_iteration(self) -> None:
        """Do what is due after the updates of an iteration."""

    def diagnose(self, batch: Batch) -> dict[str, Tensor]:
        """Numbers about the networks on some batch, logged once per iteration."""
        del batch
        return {}

    def acting_networks(self) -> tuple[nn.Module, nn.Module]:
        """What acts, for exports: a normalizer of entities, and an actor of state and goal."""
        return nn.Identity(), self.actor

    def acting_tensors(self) -> dict[str, Tensor]:
        """Weights that are needed to act."""
        return {f"actor.{name}": tensor for name, tensor in self.actor.state_dict().items()}

    def learning_tensors(self) -> dict[str, Tensor]:
        """Weights that are needed besides to continue learning, such as critics."""
        return {}

    def load_weights(self, tensors: dict[str, Tensor], grow: bool = False) -> None:
        """Load weights; with `grow`, into networks that may be larger."""
        del grow
        load_into(self.actor, tensors, "actor.", "actor")

    def attention(self, state: Entities, goal: Entities) -> NDArray[np.float32]:
        """Attention to each entity of the state, (B, V, K), for agents that have any."""
        del state, goal
        raise BadValueError(f"A {type(self).__name__} has no attention to show.")


def move(module: M, device: torch.device) -> M:
    """Move a module to a device, unless it is there."""
    held = next(iter(module.state_dict().values())).device
    return module if held == device else module.to(device)


def make_adam(parameters: Iterable[nn.Parameter], lr: float) -> torch.optim.Adam:
    """Adam in its fastest form."""
    trained = list(parameters)
    return torch.optim.Adam(trained, lr=lr, fused=trained[0].device.type in ("cpu", "cuda"))

"""The contracts of the package: read this file first.

Every part is known to the others only by the protocol it keeps. Shapes: B samples or environments,
V views, K entities per view, D features, N objects, A actions.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from jostle.core.entities import Entities, EntityLayout

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from jostle.core.goal_metric import GoalMetric

Observation = Mapping[str, NDArray[Any]]
"""What B environments show, by key; first axis B."""


class Policy(Protocol):
    """Anything that turns the observations of B environments into B actions."""

    def act(self, observation: Any) -> NDArray[np.float32]:
        """Choose actions, (B, 3) in [-1, 1]."""
        ...


@runtime_checkable
class Stateful(Protocol):
    """Anything that a run saves and resumes."""

    def state_dict(self) -> "tuple[dict[str, Tensor], dict[str, Any]]":
        """Everything needed to resume, as tensors and JSON."""
        ...

    def load_state_dict(self, tensors: "dict[str, Tensor]", meta: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        ...


@runtime_checkable
class Agent(Stateful, Protocol):
    """Networks that act on entities and learn from batches.

    `jostle.agents.base.BaseAgent` has all of it but act, update, state_dict and load_state_dict.
    """

    updates: int
    """Gradient steps so far."""
    net: Any
    """Architecture and sizes of its networks (jostle.nets.config.NetConfig)."""
    spec: Any
    """What it observes (jostle.agents.networks.ObservationSpec)."""
    sensor: Any
    """Encoder and cameras of a pixel agent (jostle.agents.base.PixelSensor), or None."""
    device: "torch.device"
    """Where its networks compute."""
    eval_noise_std: float
    """Standard deviation of its noise in evaluation and use."""

    def act(self, state: Entities, goal: Entities) -> NDArray[np.float32]:
        """Choose actions without noise, (B, A)."""
        ...

    def update(self, batch: Any) -> "dict[str, Tensor]":
        """Learn from one batch; returns scalars to log."""
        ...

    def observe(self, episodes: Any) -> None:
        """Take in new episodes before learning from them, such as into normalizers."""
        ...

    def set_lr_scale(self, scale: float) -> None:
        """Scale all step sizes."""
        ...

    def end_iteration(self) -> None:
        """Do what is due after the updates of an iteration."""
        ...

    def diagnose(self, batch: Any) -> "dict[str, Tensor]":
        """Numbers about the networks on some batch, logged once per iteration."""
        ...

    def acting_tensors(self) -> "dict[str, Tensor]":
        """Weights that are needed to act."""
        ...

    def learning_tensors(self) -> "dict[str, Tensor]":
        """Weights that are needed besides to continue learning, such as critics."""
        ...

    def load_weights(self, tensors: "dict[str, Tensor]", grow: bool = False) -> None:
        """Load weights; with `grow`, into networks that may be larger."""
        ...

    def attention(self, state: Entities, goal: Entities) -> NDArray[np.float32]:
        """Attention to each entity of the state, (B, V, K), for agents that have any."""
        ...


@runtime_checkable
class ImitationAgent(Agent, Protocol):
    """An agent whose actor can be fitted to labels: what the method `dagger` needs besides."""

    def predict(self, state: Entities, goal: Entities) -> "tuple[Tensor, Tensor | None]":
        """Actions (B, A) and auxiliary predictions, if there are any; differentiable."""
        ...

    def step_actor(self, loss: "Tensor") -> None:
        """Take one optimizer step of the actor alone, and count it as an update."""
        ...


@runtime_checkable
class Reward(Protocol):
    """A function of what was achieved and what is desired."""

    @property
    def reads(self) -> Literal["coordinates", "entities", "objects"]:
        """What it is shown: true coordinates (B, N, w), the actor's entities, or found objects."""
        ...

    @property
    def minimum(self) -> float:
        """Least reward of an object in one step."""
        ...

    def per_object(self, state: Any, goal: Any) -> tuple[Any, Any] | None:
        """Reward of each object and which objects count, (B, N) each; None if it has no such."""
        ...

    def total(self, state: Any, goal: Any) -> Any:
        """Reward, (B,): the mean of `per_object` over the objects that count."""
        ...


@dataclass(frozen=True)
class GoalSpec:
    """How a goal is read off a state: which entities and which columns a goal has."""

    first_entity: int
    """First entity of a state that appears in goals (1 skips the gripper of true state)."""
    columns: NDArray[np.float32]
    """(D,) 1 for columns that goals carry, 0 for those they leave blank."""
    coordinates: NDArray[np.float32]
    """(D,) 1 for coordinates, 0 for columns that identify an object."""
    shared: bool = False
    """Whether all objects share one object's goal, as the T-blocks do."""
    table_half_size: NDArray[np.float32] | None = None
    """Half the table's sides, (2,), if hindsight goals must lie on it."""
    whole_sets: bool = False
    """Whether no entity is assigned to an object, as with particles."""
    keep: Callable[[Entities], Entities] | None = None
    """What of a state belongs to a goal of hindsight, such as particles of objects; None: all."""
    draw: Callable[[Entities, np.random.Generator | None], Entities] | None = None
    """Draws a smaller goal from what is kept, such as one particle per view; None: all of it."""


class Observer(Stateful, Protocol):
    """Turns observations of B environments into entities."""

    @property
    def layout(self) -> EntityLayout:
        """Which columns of an entity are what."""
        ...

    @property
    def state_shape(self) -> tuple[int, int, int]:
        """Views, entities and features of a state."""
        ...

    @property
    def goal_shape(self) -> tuple[int, int, int]:
        """Views, entities and features of a goal."""
        ...

    def goal_spec(self) -> GoalSpec:
        """How hindsight reads a goal off a state."""
        ...

    def reset(self, envs: NDArray[np.int64]) -> None:
        """Prepare environments that start an episode."""
        ...

    def state(self, observation: Observation) -> Entities:
        """Entities of the present state."""
        ...

    def goal(self, observation: Observation) -> Entities:
        """Entities of the goal."""
        ...

    def coordinates(self, goals: NDArray[np.float32]) -> NDArray[np.float32]:
        """Task coordinates (B, N, w) that the reward of training is about."""
        ...


class Task(Protocol):
    """What an environment asks for."""

    @property
    def name(self) -> str:
        """Name of the catalog."""
        ...

    @property
    def objects(self) -> int:
        """Default number of objects."""
        ...

    def horizon(self, objects: int) -> int:
        """Steps of a training episode."""
        ...

    def evaluation_steps(self, objects: int) -> int:
        """Steps of an evaluation episode."""
        ...

    def goal_metric(self, padded: bool) -> "GoalMetric":
        """How far objects are from their goals."""
        ...


class Encoder(Protocol):
    """Turns images into entities."""

    @property
    def config(self) -> Any:
        """Sizes and loss weights; `config.image_size` is the side of its images in pixels."""
        ...

    @property
    def layout(self) -> EntityLayout:
        """Which columns of an entity are what."""
        ...

    @property
    def shape(self) -> tuple[int, int]:
        """Entities per view and features of an entity."""
        ...

    def encode(self, frames: "Tensor") -> Entities:
        """Entities (B, V, K, D) of frames (B, V, H, W, 3) uint8; deterministic."""
        ...

    def reconstruct(self, frames: "Tensor") -> "Tensor":
        """What the entities of frames (B, V, H, W, 3) uint8 look like, in the same form."""
        ...

    def init_from_data(self, frames: "Tensor", background_ids: "Tensor | None" = None) -> None:
        """Initialize from frames (B, V, H, W, 3) before training.

        Args:
            frames: Some of the training frames.
            background_ids: Which background each scene has, (B,); one for all by default.
        """
        ...

    def loss(
        self, frames: "Tensor", step: int, rng: "torch.Generator | None" = None
    ) -> "tuple[Tensor, dict[str, Tensor]]":
        """What training step number `step` minimizes, and its terms for the log."""
        ...

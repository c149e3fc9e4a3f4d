"""What one update learns from."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from numpy.typing import NDArray
from torch import Tensor

from jostle.core.devices import move_tensors
from jostle.core.entities import Entities
from jostle.replay.hindsight import Index

if TYPE_CHECKING:
    import torch


class GoalTransition(NamedTuple):
    """A transition with the goal that it is judged by."""

    state: Entities
    goal: Entities
    next_state: Entities


class Potential(NamedTuple):
    """Values of states in which nothing moves any more, each of the shape of the reward."""

    now: Tensor
    """Of the state."""
    next: Tensor
    """Of the next state."""


class Batch(NamedTuple):
    """Transitions to learn from; first axis B."""

    actor: GoalTransition
    """What the actor observes."""
    critic: GoalTransition
    """What the critics observe: the same, or true state for privileged critics."""
    action: Tensor
    reward: Tensor
    """Discounted sum of the rewards on the way to the next state, (B,), or (B, N) per object.

    From particles, N counts the goal particles of all views."""
    discount: Tensor
    """Factor on the value of the next state, (B,)."""
    potential: Potential | None = None
    """Values of leaving everything as it is, for a potential baseline."""
    present: Tensor | None = None
    """Which objects have a reward of their own, (B, N) bool, or how much the reward of each goal
    particle counts, (B, N) float: particles of one object share a weight of 1, others have 0. None:
    one reward for all, (B,)."""

    def to(self, device: "torch.device") -> "Batch":
        """Move to a device by one copy; nothing is copied on the same one."""
        if self.action.device == device:
            return self
        tensors: list[Tensor] = []
        self._map(tensors.append)
        moved = iter(move_tensors(tensors, device))
        return self._map(lambda tensor: next(moved))

    def head(self, count: int) -> "Batch":
        """The first transitions."""
        return self._map(lambda tensor: tensor[:count])

    def _map(self, function: Callable[[Tensor], Any]) -> "Batch":
        """Apply a function to all tensors in a fixed order; a shared observation is met once."""

        def mapped(transition: GoalTransition) -> GoalTransition:
            return GoalTransition(*(entities.map(function) for entities in transition))

        actor = mapped(self.actor)
        return Batch(
            actor,
            actor if self.critic is self.actor else mapped(self.critic),
            function(self.action),
            function(self.reward),
            function(self.discount),
            None if self.potential is None else Potential(*map(function, self.potential)),
            None if self.present is None else function(self.present),
        )


def gather_steps(values: NDArray[Any], episode: Index, step: Index) -> NDArray[Any]:
    """Pick one step of one episode per sample: (B, ...) of (E, T, ...)."""
    return take_rows(values, episode * values.shape[1] + step)


def take_rows(values: NDArray[Any], rows: Index) -> NDArray[Any]:
    """Pick (B, ...) of (E, T, ...) by rows that count through all episodes.

    `take` is several times faster than two indices.
    """
    return values.reshape(-1, *values.shape[2:]).take(rows, axis=0)


def gather_entities(entities: Entities, episode: Index, step: Index) -> Entities:
    """Pick the entities of one step of one episode per sample."""
    rows = episode * entities.values.shape[1] + step
    return entities.map(lambda values: take_rows(values, rows))

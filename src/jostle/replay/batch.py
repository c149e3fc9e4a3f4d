"""What one update learns from."""

from typing import TYPE_CHECKING, Any, NamedTuple

from numpy.typing import NDArray
from torch import Tensor

from jostle.core.entities import Entities
from jostle.replay.hindsight import Index

if TYPE_CHECKING:
    import torch


class GoalTransition(NamedTuple):
    """A transition with the goal that it is judged by."""

    state: Entities
    goal: Entities
    next_state: Entities

    def to(self, device: "torch.device") -> "GoalTransition":
        """Move to a device."""
        return GoalTransition(*(entities.to(device) for entities in self))


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
    """Discounted sum of the rewards on the way to the next state, (B,), or (B, N) per object."""
    discount: Tensor
    """Factor on the value of the next state, (B,)."""
    potential: Potential | None = None
    """Values of leaving everything as it is, for a potential baseline."""
    present: Tensor | None = None
    """Which objects have a reward of their own, (B, N); None: one reward for all, (B,)."""

    def to(self, device: "torch.device") -> "Batch":
        """Move to a device; nothing is copied on the same one."""
        if self.action.device == device:
            return self
        actor = self.actor.to(device)
        critic = actor if self.critic is self.actor else self.critic.to(device)
        action, reward, discount = (x.to(device) for x in (self.action, self.reward, self.discount))
        potential = None
        if self.potential is not None:
            potential = Potential(*(x.to(device) for x in self.potential))
        present = None if self.present is None else self.present.to(device)
        return Batch(actor, critic, action, reward, discount, potential, present)


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

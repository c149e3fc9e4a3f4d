"""Ring, hindsight and a reward to batches, all at once: no loop over samples."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from jostle.core.entities import Entities
from jostle.core.errors import require
from jostle.replay.hindsight import Index, future, per_object, photographed, upheld
from jostle.replay.ring import EpisodeRing, Episodes

Rows = slice | Index
Reward = Callable[[NDArray[np.float32], NDArray[np.float32]], NDArray[np.float32]]


class Moments(NamedTuple):
    """Where a transition begins, what it is for, and where it ends."""

    state: Entities
    goal: Entities
    next_state: Entities


class Stay(NamedTuple):
    """Values of a world in which nothing moves any more, each (B,)."""

    now: Tensor
    """From the state on."""
    later: Tensor
    """From the next state on."""


class Batch(NamedTuple):
    """What one update learns from; first axis B."""

    state: Entities
    goal: Entities
    action: Tensor
    reward: Tensor
    """Discounted sum of the rewards on the way to `next_state`, (B,)."""
    next_state: Entities
    discount: Tensor
    """What the value of `next_state` is worth now, (B,)."""
    judged: Moments | None = None
    """What critics see instead of the actor's sets; nothing: the same."""
    staying: Stay | None = None
    """What it is worth to leave everything as it is; nothing: not asked for."""


@dataclass(frozen=True, kw_only=True)
class HindsightConfig:
    """How goals are relabeled."""

    share: float = 0.8
    """Share of samples whose goal is something that was achieved later."""
    strategy: Literal["future", "per-object"] = "future"
    """One later moment for all objects (the paper), or one of its own for each object."""
    photos: int = 0
    """Above 0, goals of hindsight are pictures taken every so many steps with the arm retracted, as
    true goals show it; 0: what was seen at a later step, arm and all (the paper)."""
    on_table: bool = False
    """Whether goals of hindsight are only taken from moments at which every object lies on the
    table, as in true goals: what has fallen off is in no picture."""
    n_step: int = 1
    """Steps of reward before the critics' guess of the rest."""
    apart: float = 0.035
    """Per-object goals nearer to each other than this are rejected, in meters."""

    def __post_init__(self) -> None:
        """Refuse shares that are none."""
        require(0 <= self.share <= 1, f"share lies in [0, 1], not {self.share}.")
        require(self.photos >= 0, f"photos must not be negative, not {self.photos}.")
        require(self.n_step >= 1, f"n_step is at least 1, not {self.n_step}.")


@dataclass(frozen=True)
class GoalForm:
    """How a goal is read off a state: which entities and which columns a goal has."""

    first: int
    """First entity of a state that appears in goals (1 skips the gripper)."""
    columns: NDArray[np.float32]
    """(D,) 1 for columns that goals carry, 0 for those they leave blank."""
    places: NDArray[np.float32]
    """(D,) 1 for columns that say where, 0 for those that say who."""
    shared: bool = False
    """Whether all objects get one object's goal, as the T-blocks do."""
    edge: NDArray[np.float32] | None = None
    """Half the table's sides, (2,), if goals must lie on it."""


@dataclass(frozen=True)
class Judge:
    """What transitions are worth."""

    reward: Reward
    """Judges (achieved, desired)."""
    gamma: float
    """Discount per step."""
    stays: bool = False
    """Whether to tell as well what it is worth to leave everything as it is."""


class HindsightSampler:
    """Draws batches from a ring."""

    def __init__(
        self,
        ring: EpisodeRing,
        judge: Judge,
        form: GoalForm,
        config: HindsightConfig,
        rng: np.random.Generator,
        true_form: GoalForm | None = None,
    ) -> None:
        """Draw from `ring`, and let `judge` say what was drawn is worth.

        `true_form` reads goals of true state, where the ring holds it for the critics.
        """
        self._ring, self._judge, self._form, self._true_form = ring, judge, form, true_form
        self._config, self.rng = config, rng

    def sample(self, size: int) -> Batch:
        """Draw `size` transitions, about the first `share` of them with goals of hindsight."""
        held = self._ring.view()
        episode = self.rng.integers(0, len(held), size)
        step = self.rng.integers(0, held.actions.shape[1], size)
        last = self._last(held, episode[: int(self._config.share * size)])
        rows: Rows = slice(len(last)) if last.all() else np.flatnonzero(last)
        last = last[rows]
        step[rows] = (self.rng.random(len(last)) * last).astype(np.int64)
        goals, seen = held.goals.take(episode, 0), held.goals_visible.take(episode, 0)  # copies
        desired = held.desired.take(episode, 0)
        moments = step[:0]
        if len(last):
            *found, moments = self._relabel(held, episode[rows], step[rows], last)
            goals[rows], seen[rows], desired[rows] = found
        reward, ahead = self._returns(held, episode, step, desired)
        here = episode * held.states.shape[1] + step
        there, stays = here + ahead, self._judge.stays
        return Batch(
            Entities.of(pick(held.states, here), pick(held.visible, here)),
            Entities.of(goals, seen),
            torch.from_numpy(at(held.actions, episode, step)),
            torch.from_numpy(reward),
            Entities.of(pick(held.states, there), pick(held.visible, there)),
            torch.from_numpy(np.power(self._judge.gamma, ahead, dtype=np.float32)),
            self._judged(held, episode, (step, step + ahead), (rows, moments)),
            self._staying(held, episode, (step, step + ahead), desired) if stays else None,
        )

    def _last(self, held: Episodes, episode: Index) -> Index:
        """Latest moments (B,) of episodes that may become goals; 0 where none may."""
        # The paper never takes the very last moment as a goal.
        last = held.actions.shape[1] - (1 if held.photos is None else 0)
        found = np.full(len(episode), last)
        if self._form.edge is not None:
            found = np.minimum(found, upheld(held.achieved[episode], self._form.edge))
        every = 1 if held.photos is None else self._config.photos
        return found // every * every

    def _judged(
        self,
        held: Episodes,
        episode: Index,
        ends: tuple[Index, Index],
        relabeled: tuple[Rows, Index],
    ) -> Moments | None:
        """True state of the same samples; goals of some rows are those of their moments."""
        if self._true_form is None:
            return None
        states, visible = held.true_states, held.true_visible
        assert states is not None
        assert visible is not None
        assert held.true_goals is not None
        assert held.true_goals_visible is not None
        goals = held.true_goals.take(episode, 0)  # copies
        seen = held.true_goals_visible.take(episode, 0)
        (step, then), (rows, moments) = ends, relabeled
        if len(moments):
            of, wanted = episode[rows], slice(self._true_form.first, None)
            goals[rows] = at(states, of, moments)[:, :, wanted] * self._true_form.columns
            seen[rows] = at(visible, of, moments)[:, :, wanted]
        return Moments(
            Entities.of(at(states, episode, step), at(visible, episode, step)),
            Entities.of(goals, seen),
            Entities.of(at(states, episode, then), at(visible, episode, then)),
        )

    def _staying(
        self,
        held: Episodes,
        episode: Index,
        ends: tuple[Index, Index],
        desired: NDArray[np.float32],
    ) -> Stay:
        """The same reward for ever after, as things are at both ends."""
        ever = np.float32(1 / (1 - self._judge.gamma))
        rewards = (self._judge.reward(at(held.achieved, episode, end), desired) for end in ends)
        return Stay(*(torch.from_numpy(reward * ever) for reward in rewards))

    def _returns(
        self, held: Episodes, episode: Index, step: Index, desired: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], Index]:
        """Discounted rewards (B,) of the next n steps or what is left of them, and how many."""
        ahead = np.minimum(self._config.n_step, held.actions.shape[1] - step)
        total = self._judge.reward(at(held.achieved, episode, step + 1), desired)
        for k in range(1, self._config.n_step):
            moment = step + np.minimum(k + 1, ahead)
            found = self._judge.reward(at(held.achieved, episode, moment), desired)
            total += np.where(k < ahead, np.float32(self._judge.gamma**k) * found, np.float32(0.0))
        return total, ahead

    def _relabel(
        self, held: Episodes, episode: Index, step: Index, last: Index
    ) -> tuple[NDArray[np.float32], NDArray[np.bool_], NDArray[np.float32], Index]:
        """Goal entities, their mask and coordinates from later moments (B,) or (B, N)."""
        if held.photos is not None and held.photos_visible is not None:
            every = self._config.photos
            taken = photographed(step, every, last // every, self.rng)
            values, seen = (at(x, episode, taken) for x in (held.photos, held.photos_visible))
            moment = (taken + 1) * every
            return values, seen, at(held.achieved, episode, moment), moment
        count, first = held.achieved.shape[2], self._form.first
        if first == 0 or (self._config.strategy == "future" and not self._form.shared):
            # Always so for whole sets, such as particles, in which nobody knows who is who.
            moment = future(step, last, self.rng)  # (B,), one for all
            wanted = slice(first, first + held.goals.shape[2])
            values = at(held.states, episode, moment)[:, :, wanted] * self._form.columns
            seen = at(held.visible, episode, moment)[:, :, wanted]
            return values, seen, at(held.achieved, episode, moment), moment
        if self._config.strategy == "per-object":
            paths = held.achieved[episode]  # (B, T+1, N, w)
            moments = per_object(step, last, paths, self._config.apart, self.rng)
        else:
            moments = np.repeat(future(step, last, self.rng)[:, None], count, axis=1)  # (B, N)
        rows, objects = episode[:, None], np.arange(count)
        if self._form.shared:
            chosen = self.rng.integers(0, count, len(step))[:, None]
            objects = np.broadcast_to(chosen, moments.shape)
        desired = held.achieved[rows, moments, objects]  # (B, N, w)
        values = held.states[rows, moments, :, first + objects].swapaxes(1, 2)  # (B, V, N, D)
        seen = held.visible[rows, moments, :, first + objects].swapaxes(1, 2)
        values = values * self._form.columns
        if self._form.shared:  # the heading is another's, the name remains one's own
            own = held.goals[episode]
            values = np.where(self._form.places > 0, values, own)
        return values, seen, desired, moments


def at(values: NDArray[Any], episode: Index, moment: Index) -> NDArray[Any]:
    """Pick one moment of one episode per sample, (B, ...)."""
    return pick(values, episode * values.shape[1] + moment)


def pick(values: NDArray[Any], rows: Index) -> NDArray[Any]:
    """Pick (B, ...) of (E, T, ...) by rows that count through all episodes.

    `take` is several times faster than two indices.
    """
    return values.reshape(-1, *values.shape[2:]).take(rows, axis=0)

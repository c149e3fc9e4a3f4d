"""The configuration of hindsight; apart, because reading it does not need torch."""

from dataclasses import dataclass
from typing import Literal

from jostle.core.errors import require


@dataclass(frozen=True, kw_only=True)
class HindsightConfig:
    """How goals are relabeled."""

    her_ratio: float = 0.8
    """Fraction of samples whose goal is something that was achieved later."""
    strategy: Literal["future", "per-object"] = "future"
    """One later step for all objects (the paper), or one of its own for each object."""
    other_episode_fraction: float = 0.0
    """With per-object goals: fraction of objects whose goal is a position from another episode."""
    stay_fraction: float = 0.0
    """With per-object goals: fraction of objects whose goal is where they lie already."""
    goal_render_every: int = 0
    """Above 0, hindsight goals are images rendered every so many steps with the arm retracted, as
    in true goals; 0: what was seen at a later step, arm included (the paper)."""
    skip_fallen_goals: bool = False
    """Whether hindsight goals are only taken from steps at which every object lies on the table,
    as in true goals: a fallen object is in no image."""
    n_step: int = 1
    """Steps of reward before bootstrapping from the critics."""
    interaction_fraction: float = 0.0
    """Fraction of samples drawn from the steps at which an object was moved by more than a
    centimeter; the others are drawn from all steps."""
    min_goal_separation: float = 0.035
    """Per-object goals closer to each other than this are rejected, in meters."""

    def __post_init__(self) -> None:
        """Refuse fractions outside [0, 1]."""
        for name in ("her_ratio", "interaction_fraction"):
            value = getattr(self, name)
            require(0 <= value <= 1, f"{name} lies in [0, 1], not {value}.")
        require(
            self.goal_render_every >= 0,
            f"goal_render_every must not be negative, not {self.goal_render_every}.",
        )
        require(self.n_step >= 1, f"n_step is at least 1, not {self.n_step}.")
        fractions = self.other_episode_fraction, self.stay_fraction
        require(
            min(fractions) >= 0 and sum(fractions) <= 1,
            "other_episode_fraction and stay_fraction are fractions of the objects that add up to "
            f"at most 1, not {fractions[0]} and {fractions[1]}.",
        )
        require(
            not self.mixes_sources or self.strategy == "per-object",
            "Goals of other episodes, and objects that stay, are chosen object by object. Train "
            "with --strategy per-object.",
        )

    @property
    def mixes_sources(self) -> bool:
        """Whether goals come from elsewhere than later steps of the same episode."""
        return self.other_episode_fraction > 0 or self.stay_fraction > 0

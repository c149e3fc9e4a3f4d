"""Paired comparison of two agents on the same episodes, with a significance test."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jostle.core.errors import require
from jostle.evaluation.statistics import mcnemar_p_value

if TYPE_CHECKING:  # a comparison of stored results does not need MuJoCo
    from jostle.evaluation.evaluate import Evaluation


@dataclass(frozen=True)
class Comparison:
    """Counts of a paired comparison, and McNemar's exact test on them."""

    only_first: int
    """Episodes solved only by the first agent."""
    only_second: int
    """Episodes solved only by the second agent."""
    both: int
    """Episodes solved by both agents."""
    neither: int
    """Episodes solved by neither agent."""

    @property
    def episodes(self) -> int:
        """Number of episodes compared."""
        return self.only_first + self.only_second + self.both + self.neither

    @property
    def p_value(self) -> float:
        """Exact probability of a split at least this uneven if the agents were equally good."""
        return mcnemar_p_value(self.only_first, self.only_second)

    @property
    def episodes_needed(self) -> int | None:
        """Total episodes needed to show the observed difference at 5 % with 80 % power."""
        gap = abs(self.only_first - self.only_second) / self.episodes
        discord = (self.only_first + self.only_second) / self.episodes
        if gap == 0:
            return None
        root = 1.96 * math.sqrt(discord) + 0.8416 * math.sqrt(max(discord - gap**2, 0.0))
        return math.ceil((root / gap) ** 2)

    def verdict(self, first: str, second: str) -> str:
        """Describe the result in one line of text."""
        split = f"only {first}: {self.only_first}, only {second}: {self.only_second}"
        text = f"{split}, both: {self.both}, neither: {self.neither}; p = {self.p_value:.3f}"
        if self.p_value < 0.05:
            better = first if self.only_first > self.only_second else second
            return f"{text}. {better} is better."
        if self.episodes_needed is None:
            return f"{text}. No difference."
        more = max(self.episodes_needed - self.episodes, 0)
        return (
            f"{text}. Not significant: a difference of this size needs about {more} more episodes."
        )


def compare(first: "Evaluation", second: "Evaluation") -> Comparison:
    """Compare two evaluations episode by episode; they must be of the same episodes."""
    require(
        first.digest == second.digest,
        f"Only evaluations on the same episodes can be compared: episode sets {first.digest} "
        f"and {second.digest} differ.",
    )
    successes = [
        [episode.success > 0.5 for episode in evaluation.episodes] for evaluation in (first, second)
    ]
    return count_successes(*successes)


def count_successes(first: Sequence[bool], second: Sequence[bool]) -> Comparison:
    """Count on how many of the same episodes each of two agents succeeds."""
    pairs = list(zip(first, second, strict=True))
    return Comparison(
        only_first=pairs.count((True, False)),
        only_second=pairs.count((False, True)),
        both=pairs.count((True, True)),
        neither=pairs.count((False, False)),
    )

"""Two agents on the same episodes: who wins where the other does not, and is it luck?"""

import math
from dataclasses import dataclass

from jostle.core.errors import require
from jostle.evaluation.examine import Examination


@dataclass(frozen=True)
class Comparison:
    """A paired comparison (McNemar)."""

    only_first: int
    """Episodes that only the first agent solved."""
    only_second: int
    """Episodes that only the second agent solved."""
    both: int
    """Episodes that both solved."""
    neither: int
    """Episodes that neither solved."""

    @property
    def episodes(self) -> int:
        """Episodes compared."""
        return self.only_first + self.only_second + self.both + self.neither

    @property
    def p_value(self) -> float:
        """Chance of a split at least this uneven if the two were equally good (exact)."""
        total, least = self.only_first + self.only_second, min(self.only_first, self.only_second)
        if total == 0:
            return 1.0
        tail = sum(math.comb(total, k) for k in range(least + 1)) / 2.0**total
        return min(1.0, 2 * tail)

    @property
    def episodes_needed(self) -> int | None:
        """Episodes in all that would show the observed difference at 5 % with 80 % power."""
        gap = abs(self.only_first - self.only_second) / self.episodes
        discord = (self.only_first + self.only_second) / self.episodes
        if gap == 0:
            return None
        root = 1.96 * math.sqrt(discord) + 0.8416 * math.sqrt(max(discord - gap**2, 0.0))
        return math.ceil((root / gap) ** 2)

    def verdict(self, first: str, second: str) -> str:
        """Say it in words."""
        split = f"only {first}: {self.only_first}, only {second}: {self.only_second}"
        text = f"{split}, both: {self.both}, neither: {self.neither}; p = {self.p_value:.3f}"
        if self.p_value < 0.05:
            better = first if self.only_first > self.only_second else second
            return f"{text}. {better} is better."
        if self.episodes_needed is None:
            return f"{text}. No difference at all."
        more = max(self.episodes_needed - self.episodes, 0)
        return f"{text}. Not settled: a difference of this size needs about {more} more episodes."


def compare(first: Examination, second: Examination) -> Comparison:
    """Pair two examinations episode by episode; they must be of the same episodes."""
    require(
        first.digest == second.digest,
        f"Only the same episodes can be paired: {first.digest} and {second.digest} differ.",
    )
    pairs = [
        (one.success > 0.5, two.success > 0.5)
        for one, two in zip(first.episodes, second.episodes, strict=True)
    ]
    return Comparison(
        only_first=pairs.count((True, False)),
        only_second=pairs.count((False, True)),
        both=pairs.count((True, True)),
        neither=pairs.count((False, False)),
    )

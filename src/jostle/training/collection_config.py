"""Where episodes are collected: in this process, or by workers."""

from dataclasses import dataclass

from jostle.core.checks import check_int
from jostle.core.errors import require


@dataclass(frozen=True, kw_only=True)
class CollectionConfig:
    """Groups of environments, and the processes that they run in."""

    workers: int = 0
    """Processes that collect episodes while this one learns, through Ray; 0: none."""
    env_groups: int = 0
    """Groups that the environments are divided into, each with randomness of its own; 0: one per
    worker. What is collected depends on the groups, not on where they run."""
    sync: bool = False
    """Whether workers wait for the weights of the last update, and learning for all workers: the
    same data as in one process with as many --env-groups, bit-for-bit."""
    max_staleness: int = 2
    """Iterations by which the weights that workers act with may be behind, without --sync."""
    ray: str = ""
    """Address of a Ray cluster, such as 10.0.0.1:6379; empty: workers on this machine."""

    def __post_init__(self) -> None:
        """Refuse values that do not go together."""
        for name in ("workers", "env_groups"):
            check_int(name, getattr(self, name), 0)
        check_int("max_staleness", self.max_staleness, 1)
        require(
            not self.workers or self.env_groups in (0, self.workers),
            f"Each worker has one group of environments: give --env-groups {self.workers} or none "
            f"with --workers {self.workers}.",
        )
        require(self.workers > 0 or not self.sync, "--sync is for workers: add --workers N.")
        require(self.workers > 0 or not self.ray, "--ray is for workers: add --workers N.")

    @property
    def groups(self) -> int:
        """Number of groups."""
        return self.env_groups or max(self.workers, 1)

    @property
    def exact(self) -> bool:
        """Whether a seed decides what is collected, and a run resumes bit-for-bit."""
        return self.workers == 0 or self.sync

    def same_data(self, other: "CollectionConfig") -> bool:
        """Whether a run of one can be resumed as the other."""
        return self.exact == other.exact and (not self.exact or self.groups == other.groups)

"""How long a task is trained in the paper, and what a training of it starts from."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class TrainingBudget:
    """Training settings that belong to a task and its number of objects."""

    env_steps: int
    """Environment steps of the paper, rounded up to whole epochs as its code does."""
    replay_size: int = 100_000
    """Transitions in the paper's replay buffer."""
    decay_from: int = 24_000
    """Episodes after which the paper's exploration starts to decay."""
    decay_until: int = 32_000
    """Episodes after which it has reached half its value."""
    hindsight: bool = True
    """Whether goals are relabeled: the original trains Ordered-Push without."""
    imitation_horizon: int = 60
    """Steps of an episode in imitation."""
    imitation_episodes: int = 20_000
    """Episodes in imitation."""
    encoder: str = "dlp-6cubes"
    """Default encoder of pixel agents."""
    teacher: str = "oracle"
    """Teacher of pixel agents in imitation."""


_BY_COUNT = {
    1: TrainingBudget(
        env_steps=504_000, decay_from=8_000, decay_until=16_000, imitation_horizon=30,
        imitation_episodes=8_000, teacher="three-cubes-state-dagger",
    ),
    2: TrainingBudget(
        env_steps=3_040_000, decay_from=16_000, decay_until=24_000, imitation_horizon=45,
        teacher="three-cubes-state-dagger",
    ),
    3: TrainingBudget(
        env_steps=6_080_000, replay_size=200_000, teacher="three-cubes-state-dagger"
    ),
}  # fmt: skip
"""Cubes, by their number; the last also holds for more."""


def cubes_budget(count: int) -> TrainingBudget:
    """The budget of so many cubes."""
    return _BY_COUNT[min(count, max(_BY_COUNT))]

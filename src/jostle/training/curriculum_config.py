"""The stages of a curriculum; apart, because an experiment has many fields."""

from dataclasses import dataclass

from jostle.core.errors import require


@dataclass(frozen=True, kw_only=True)
class CurriculumConfig:
    """Stages with fewer objects that come before the training itself: one number for each."""

    stage_objects: tuple[int, ...] = (1, 2)
    """Numbers of objects of the stages."""
    stage_env_steps: tuple[int, ...] = (28_800, 33_600)
    """Environment steps of the stages, at most."""
    stage_success: tuple[float, ...] = (0.8, 0.8)
    """Success in an evaluation at which a stage ends early."""
    stage_horizons: tuple[int, ...] = (30, 50)
    """Steps of an episode."""
    stage_epsilon: tuple[float, ...] = (0.3, 0.1)
    """Probabilities of a random action."""
    stage_sigma: tuple[float, ...] = (0.2, 0.15)
    """Standard deviations of the noise on every action."""
    stage_reach_prob: tuple[float, ...] = (0.1, 0.05)
    """Probabilities per step to start moving towards an object."""
    random_episodes_first: int = 64
    """Episodes of random actions before the first stage starts to learn."""

    def __post_init__(self) -> None:
        """Refuse stages that are not complete."""
        numbers = self.stage_objects
        require(
            list(numbers) == sorted(set(numbers)) and all(number >= 1 for number in numbers),
            f"stage_objects are rising numbers such as 1 2, not {numbers}.",
        )
        for name in (
            "stage_env_steps", "stage_success", "stage_horizons", "stage_epsilon", "stage_sigma",
            "stage_reach_prob",
        ):  # fmt: skip
            require(
                len(getattr(self, name)) == len(numbers),
                f"{name} needs {len(numbers)} numbers, one per stage, not {getattr(self, name)}.",
            )

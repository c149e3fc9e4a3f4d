"""Numbers of the learning rule and of exploration."""

from dataclasses import dataclass
from typing import Literal

from jostle.core.errors import require


@dataclass(frozen=True, kw_only=True)
class TD3Config:
    """Twin delayed policy gradient, with the paper's values."""

    lr: float = 5e-4
    """Adam step size of the actor."""
    critic_lr: float | None = None
    """Adam step size of the critics; the actor's by default."""
    gamma: float = 0.98
    """Discount per environment step."""
    tau: float = 0.05
    """How far the slow copies move at each of their updates."""
    slow_copies: Literal["round", "actor-step"] = "round"
    """When the slow copies move: once per round of episodes (the paper), or at actor steps."""
    policy_delay: int = 2
    """Critic updates per actor update."""
    actor_rests: int = 0
    """Updates in which only the critics learn: for an actor that already knows something."""
    anchor: float = 0.0
    """Weight of the squared distance to the actions of the actor that training began with."""
    imitate_self: float = 0.0
    """Weight of the squared distance to the actions of the batch that the first critic prefers to
    the actor's own; 0: the paper's."""
    gains: bool = False
    """Whether critics judge what is gained over leaving everything as it is, whose value the reward
    alone tells; off: the whole value (the paper). What is best stays best."""
    target_noise: float = 0.2
    """Deviation of the noise on target actions."""
    target_clip: float = 0.5
    """Where that noise is cut off."""
    action_penalty: float = 1.0
    """Weight of the mean squared action in the actor's loss."""
    batch: int = 512
    """Transitions per update."""
    worst_reward: float = -2.0
    """Least reward of a step; targets are clipped to [worst / (1 - gamma), 0]."""
    clip_gradient: float = 0.0
    """Largest gradient norm; 0 leaves gradients alone."""
    precision: Literal["full", "bf16"] = "full"
    """Arithmetic of TD3's updates: full, or matrix products in bfloat16, which is faster where the
    processor knows it. Weights stay full."""

    def __post_init__(self) -> None:
        """Refuse what cannot learn."""
        require(0 < self.gamma < 1, f"gamma is a discount in (0, 1), not {self.gamma}.")
        require(0 < self.tau <= 1, f"tau lies in (0, 1], not {self.tau}.")
        require(self.lr > 0, f"lr must be positive, not {self.lr}.")
        require(self.batch >= 1, f"batch must be at least 1, not {self.batch}.")
        require(self.anchor >= 0, f"anchor must not be negative, not {self.anchor}.")
        require(
            self.imitate_self >= 0, f"imitate_self must not be negative, not {self.imitate_self}."
        )
        require(
            self.precision in ("full", "bf16"),
            f"precision is 'full' or 'bf16', not '{self.precision}'.",
        )
        require(self.policy_delay >= 1, f"policy_delay is at least 1, not {self.policy_delay}.")

    @property
    def lowest_value(self) -> float:
        """Least value that is possible at all."""
        return self.worst_reward / (1 - self.gamma)


@dataclass(frozen=True, kw_only=True)
class ExploreConfig:
    """How training actions differ from the actor's."""

    epsilon: float = 0.3
    """Chance of a random action."""
    sigma: float = 0.2
    """Deviation of the noise on every action."""
    approach: float = 0.0
    """Chance per step to turn to an object drawn at random and head straight for it, and on."""
    approach_steps: float = 6.0
    """How long that lasts on average."""
    spare: bool = False
    """Whether nobody heads for an object that would soon be pushed over the table's edge."""
    restless: float = 0.0
    """Deviation of the noise that stays on when nobody learns: an actor without any can freeze."""
    one_coin: bool = True
    """Whether one coin decides for all copies (the paper), or each copy has its own."""
    decay_from: int = 8000
    """Episodes after which epsilon and sigma begin to fall."""
    decay_until: int = 16000
    """Episodes after which they have reached half their value."""

    def __post_init__(self) -> None:
        """Refuse chances that are none."""
        require(0 <= self.epsilon <= 1, f"epsilon lies in [0, 1], not {self.epsilon}.")
        require(0 <= self.approach <= 1, f"approach lies in [0, 1], not {self.approach}.")
        require(self.approach_steps >= 1, "approach_steps is at least 1.")
        require(self.restless >= 0, f"restless must not be negative, not {self.restless}.")
        require(self.sigma >= 0, f"sigma must not be negative, not {self.sigma}.")
        require(self.decay_from <= self.decay_until, "decay_from must not exceed decay_until.")

    def scale(self, episodes: int) -> float:
        """Factor on epsilon and sigma after so many episodes."""
        span = max(self.decay_until - self.decay_from, 1)
        done = min(max(episodes - self.decay_from, 0) / span, 1.0)
        return 1.0 - 0.5 * done

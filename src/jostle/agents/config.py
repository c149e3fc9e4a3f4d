"""Hyper-parameters of TD3 and of exploration."""

from dataclasses import dataclass
from typing import Literal

from jostle.core.errors import require


@dataclass(frozen=True, kw_only=True)
class TD3Config:
    """Twin delayed deep deterministic policy gradient, with the paper's values."""

    lr: float = 5e-4
    """Adam step size of the actor."""
    critic_lr: float | None = None
    """Adam step size of the critics; the actor's by default."""
    gamma: float = 0.98
    """Discount per environment step."""
    tau: float = 0.05
    """Polyak coefficient of the target networks."""
    target_update: Literal["iteration", "actor-step"] = "iteration"
    """When target networks move: once per iteration of episodes (the paper), or at actor steps."""
    policy_delay: int = 2
    """Critic updates per actor update."""
    critic_warmup_updates: int = 0
    """Updates in which only the critics learn: for an actor that starts from trained weights."""
    bc_weight: float = 0.0
    """Weight of the squared distance to the actions of the actor that training started from."""
    self_imitation_weight: float = 0.0
    """Weight of the squared distance to those actions of the batch that the first critic prefers
    to the actor's own (Q-filtered self-imitation); 0: the paper's."""
    potential_baseline: bool = False
    """Whether critics predict the gain over leaving everything as it is, whose value the reward
    alone gives (potential-based shaping); off: the whole value (the paper)."""
    shared_reward: bool = False
    """Whether the values of all objects learn from the mean reward of the objects, instead of each
    from the reward of its own object; an ablation of --values per-entity."""
    act_with: Literal["actor", "target"] = "actor"
    """Which network acts and is saved: the actor, or the target actor, a moving average of it
    (Polyak averaging) that changes less from one evaluation to the next."""
    target_noise: float = 0.2
    """Standard deviation of the noise on target actions."""
    target_noise_clip: float = 0.5
    """Where that noise is clipped."""
    action_penalty: float = 1.0
    """Weight of the mean squared action in the actor's loss."""
    batch_size: int = 512
    """Transitions per update."""
    reward_min: float = -2.0
    """Least reward of a step; targets are clipped to [reward_min / (1 - gamma), 0]."""
    max_grad_norm: float = 0.0
    """Gradients are clipped to this norm; 0: never."""
    precision: Literal["full", "tf32", "bf16"] = "full"
    """Arithmetic of updates: full; tf32: matrix products in TF32 on GPUs that have it; bf16: matrix
    products in bfloat16, which is faster where the processor supports it. Weights stay full."""
    compile: Literal["off", "default", "cuda-graphs"] = "off"
    """Whether torch.compile compiles the networks of an update; cuda-graphs also records them as
    CUDA graphs. Results differ by rounding."""

    def __post_init__(self) -> None:
        """Refuse values that cannot learn."""
        require(0 < self.gamma < 1, f"gamma is a discount in (0, 1), not {self.gamma}.")
        require(0 < self.tau <= 1, f"tau lies in (0, 1], not {self.tau}.")
        require(self.lr > 0, f"lr must be positive, not {self.lr}.")
        require(self.batch_size >= 1, f"batch_size must be at least 1, not {self.batch_size}.")
        for name in ("bc_weight", "self_imitation_weight"):
            value = getattr(self, name)
            require(value >= 0, f"{name} must not be negative, not {value}.")
        for name, choices in (
            ("precision", ("full", "tf32", "bf16")), ("compile", ("off", "default", "cuda-graphs")),
        ):  # fmt: skip
            value = getattr(self, name)
            require(value in choices, f"{name} is one of {', '.join(choices)}, not '{value}'.")
        require(
            self.act_with in ("actor", "target"),
            f"act_with is 'actor' or 'target', not '{self.act_with}'.",
        )
        require(self.policy_delay >= 1, f"policy_delay is at least 1, not {self.policy_delay}.")

    @property
    def q_min(self) -> float:
        """Least value of a state."""
        return self.reward_min / (1 - self.gamma)


@dataclass(frozen=True, kw_only=True)
class IQLConfig:
    """Offline learning: how state values and the policy follow from the data."""

    expectile: float = 0.7
    """Expectile of the values of the data's actions that is the value of a state: 0.5 the mean,
    near 1 the best action."""
    bc_alpha: float = 10.0
    """Weight of behavior cloning in the actor's loss, beside values scaled to a mean of 1."""
    bc_advantage_filter: bool = True
    """Whether only actions that are better than the value of their state are cloned."""
    bc_by_advantage: bool = False
    """Whether these count in proportion to how much better they are, with a mean weight of 1 in a
    batch; off: all of them alike, with a weight of 1, while the others of the batch have 0."""

    def __post_init__(self) -> None:
        """Refuse values that cannot learn."""
        require(0 < self.expectile < 1, f"expectile lies in (0, 1), not {self.expectile}.")
        require(self.bc_alpha >= 0, f"bc_alpha must not be negative, not {self.bc_alpha}.")
        require(
            self.bc_advantage_filter or not self.bc_by_advantage,
            "Actions cannot count in proportion to a negative advantage. Train with "
            "--bc-advantage-filter.",
        )


@dataclass(frozen=True, kw_only=True)
class ExploreConfig:
    """How training actions differ from the actor's."""

    epsilon: float = 0.3
    """Probability of a random action."""
    sigma: float = 0.2
    """Standard deviation of the noise on every action."""
    reach_prob: float = 0.0
    """Probability per step to pick an object at random and move straight towards and through it."""
    reach_from: Literal["truth", "particles"] = "truth"
    """Where such a move gets the object's place from: true state, or particles that two cameras
    see in one place of the table or that look like those of the goal (needs table_xy); of an agent
    that observes objects, these."""
    reach_steps: float = 6.0
    """Mean number of steps of such a move."""
    reach_avoid_edge: bool = False
    """Whether such moves leave out objects that would soon be pushed off the table."""
    eval_noise_std: float = 0.0
    """Standard deviation of the noise in evaluation and use: without any, an actor can get stuck
    in a state that it does not change."""
    per_env_epsilon: bool = False
    """Whether each environment draws its own random actions, or one draw decides for all (the
    paper)."""
    decay_from: int = 8000
    """Episodes after which epsilon and sigma start to decay."""
    decay_until: int = 16000
    """Episodes after which they have reached half their value."""

    def __post_init__(self) -> None:
        """Refuse probabilities outside [0, 1]."""
        for name in ("epsilon", "reach_prob"):
            value = getattr(self, name)
            require(0 <= value <= 1, f"{name} lies in [0, 1], not {value}.")
        require(
            self.reach_from in ("truth", "particles"),
            f"reach_from is 'truth' or 'particles', not '{self.reach_from}'.",
        )
        require(self.reach_steps >= 1, "reach_steps is at least 1.")
        for name in ("sigma", "eval_noise_std"):
            value = getattr(self, name)
            require(value >= 0, f"{name} must not be negative, not {value}.")
        require(self.decay_from <= self.decay_until, "decay_from must not exceed decay_until.")

    def scale(self, episodes: int) -> float:
        """Factor on epsilon and sigma after so many episodes."""
        span = max(self.decay_until - self.decay_from, 1)
        progress = min(max(episodes - self.decay_from, 0) / span, 1.0)
        return 1.0 - 0.5 * progress

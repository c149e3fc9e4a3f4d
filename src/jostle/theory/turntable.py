"""A toy MDP whose optimal values have the form of Assumption 1 exactly, and critics for it.

Objects lie on a disc that the action turns as a whole. Each object has a worth that falls with its
distance from the center. The reward of an object is the average worth of the objects around it,
weighted by a positive kernel, times the quality of the action; the reward is the mean over the
objects. Turning changes neither distances nor worth, so the best action is the same forever, and

    Q*(S, a) = 1/N sum_i sum_j w_ij v*(s_j, a),  v*(s, a) = worth(s) (quality(a) + gamma/(1-gamma)).
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

QUALITY = (0.4, 0.7, 1.0)
"""Quality of each action."""
TURN = (-0.5, 0.2, 0.6)
"""By how much each action turns the disc, in radians."""
_KERNEL_WIDTH = 0.5
_FAVOR = 1.5
"""How much more objects near the center are attended to."""
_LR = 3e-3
_BATCH = 128
"""Sets of each size in an update."""


@dataclass(frozen=True)
class Turntable:
    """The MDP; rewards lie in [0, 1]."""

    gamma: float = 0.8

    @property
    def top(self) -> float:
        """Largest value."""
        return 1 / (1 - self.gamma)

    def sample(self, sets: int, objects: int, rng: torch.Generator) -> Tensor:
        """Positions uniform on the unit disc, (B, N, 2)."""
        draws = torch.rand(sets, objects, 2, generator=rng)
        angle = 2 * torch.pi * draws[..., :1]
        return draws[..., 1:].sqrt() * torch.cat((angle.cos(), angle.sin()), -1)

    def weights(self, states: Tensor) -> Tensor:
        """Optimal normalized attention, (B, N, N)."""
        gaps = (states[:, :, None] - states[:, None]).square().sum(-1)  # (B, N, N)
        logits = _FAVOR * self.worth(states)[:, None] - gaps / (2 * _KERNEL_WIDTH**2)
        return logits.softmax(-1)

    def worth(self, states: Tensor) -> Tensor:
        """Worth of each object, (B, N) in [0, 1]."""
        return 1 - states.square().sum(-1)

    def rewards(self, states: Tensor, actions: Tensor) -> Tensor:
        """Reward of each object, (B, N), for actions (B,)."""
        shared = (self.weights(states) * self.worth(states)[:, None]).sum(-1)
        return shared * states.new_tensor(QUALITY)[actions][:, None]

    def turned(self, states: Tensor, actions: Tensor) -> Tensor:
        """Positions after the disc has turned, (B, N, 2)."""
        angle = states.new_tensor(TURN)[actions][:, None]  # (B, 1)
        cos, sin, (x, y) = angle.cos(), angle.sin(), states.unbind(-1)
        return torch.stack((cos * x - sin * y, sin * x + cos * y), -1)

    def optimal(self, states: Tensor) -> Tensor:
        """Optimal values of each object for every action, (B, A, N)."""
        factors = states.new_tensor(QUALITY) + self.gamma / (1 - self.gamma)  # (A,)
        shared = (self.weights(states) * self.worth(states)[:, None]).sum(-1)  # (B, N)
        return shared[:, None] * factors[:, None]


class AttentionCritic(nn.Module):
    """The exact form of Assumption 1, with an MLP for the attention and one for the values."""

    def __init__(self, width: int = 64) -> None:
        """Build both networks; attention does not depend on the action."""
        super().__init__()
        self.attention = nn.Sequential(
            nn.Linear(4, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1)
        )
        self.value = nn.Sequential(
            nn.Linear(2, width),
            nn.Tanh(),
            nn.Linear(width, width),
            nn.Tanh(),
            nn.Linear(width, len(QUALITY)),
        )

    def weights(self, states: Tensor) -> Tensor:
        """Normalized attention, (B, N, N)."""
        return self._logits(states).softmax(-1)

    def _logits(self, states: Tensor) -> Tensor:
        count = states.shape[1]
        query = states[:, :, None].expand(-1, -1, count, -1)
        pairs = torch.cat((query, states[:, None].expand_as(query)), -1)  # (B, N, N, 4)
        return self.attention(pairs)[..., 0]

    def forward(self, states: Tensor) -> Tensor:
        """Values of each object for every action, (B, A, N)."""
        values = self.value(states).mT  # (B, A, N)
        return values @ self.weights(states).mT


def train_critic(
    mdp: Turntable, most: int, per_object: bool, seed: int = 0, updates: int = 4000
) -> AttentionCritic:
    """Q-learning on sets of 1 to `most` objects.

    Args:
        mdp: The toy.
        most: Largest number of objects, M.
        per_object: Whether the value of every object is learned from its own reward, or only their
            mean from the mean reward, as in the paper.
        seed: Seed of networks and samples.
        updates: Gradient steps.
    """
    rng = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        critic, target = AttentionCritic(), AttentionCritic()
    target.load_state_dict(critic.state_dict())
    optimizer = torch.optim.Adam(critic.parameters(), lr=_LR)
    for update in range(updates):
        optimizer.param_groups[0]["lr"] = _LR * (1 + math.cos(math.pi * update / updates)) / 2
        loss = torch.zeros(())
        for objects in range(1, most + 1):
            states = mdp.sample(_BATCH, objects, rng)
            actions = torch.randint(len(QUALITY), (_BATCH,), generator=rng)
            goal = _targets(mdp, target, states, actions)  # (B, N)
            learned = critic(states)[torch.arange(_BATCH), actions]  # (B, N)
            if not per_object:
                goal, learned = goal.mean(-1), learned.mean(-1)
            loss = loss + F.mse_loss(learned, goal)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        if update % 25 == 24:
            target.load_state_dict(critic.state_dict())
    return critic


@torch.no_grad()
def _targets(mdp: Turntable, target: AttentionCritic, states: Tensor, actions: Tensor) -> Tensor:
    """Rewards and the values of the best next action, chosen by the mean over objects, (B, N)."""
    values = target(mdp.turned(states, actions))  # (B, A, N)
    best = values.mean(-1).argmax(-1)  # (B,)
    return mdp.rewards(states, actions) + mdp.gamma * values[torch.arange(len(best)), best]


@dataclass(frozen=True)
class ToyErrors:
    """Largest errors of a critic over sampled sets, by number of objects."""

    trained: int
    per_object: bool
    epsilon: float
    """Largest error with up to M objects."""
    object_epsilon: float
    """The same of the value of a single object."""
    delta: float
    """Largest difference of an attention weight with up to M objects."""
    errors: dict[int, float]
    """Largest error of the value of a set, by number of objects."""
    error_95: dict[int, float]
    """95 % of the errors are smaller."""


@torch.no_grad()
def measure_critic(
    mdp: Turntable, critic: AttentionCritic, most: int, per_object: bool, used: int, sets: int
) -> ToyErrors:
    """Compare a critic with the optimal values on `sets` sampled sets of each size up to `used`."""
    rng = torch.Generator().manual_seed(1)
    errors, error_95, object_epsilon, delta = {}, {}, 0.0, 0.0
    for objects in range(1, used + 1):
        states = mdp.sample(sets, objects, rng)
        difference = critic(states) - mdp.optimal(states)  # (B, A, N)
        of_sets = difference.mean(-1).abs().flatten()
        errors[objects] = float(of_sets.max())
        error_95[objects] = float(of_sets.quantile(0.95))
        if objects <= most:
            object_epsilon = max(object_epsilon, float(difference.abs().max()))
            gap = (critic.weights(states) - mdp.weights(states)).abs().max()
            delta = max(delta, float(gap))
    return ToyErrors(
        trained=most,
        per_object=per_object,
        epsilon=max(errors[objects] for objects in range(1, most + 1)),
        object_epsilon=object_epsilon,
        delta=delta,
        errors=errors,
        error_95=error_95,
    )

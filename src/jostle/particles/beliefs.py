"""What the encoder believes: Gaussians and Betas, their samples and their divergences."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

_FLOOR = 1e-5
"""Smallest concentration of a Beta."""
_LEAST, _MOST = math.log(1e-4), math.log(100.0)
"""Range of a bounded log-concentration."""
_CALM = (-14.0, 6.0)
"""Range of log-variances; only what would be NaN soon is ever cut off."""


class Normal(NamedTuple):
    """Independent Gaussians."""

    mean: Tensor
    logvar: Tensor

    @staticmethod
    def calm(mean: Tensor, logvar: Tensor) -> "Normal":
        """Gaussians whose variance can neither vanish nor explode."""
        return Normal(mean, logvar.clamp(*_CALM))

    def sample(self, rng: torch.Generator | None) -> Tensor:
        """Draw, so that gradients reach mean and variance."""
        noise = torch.empty_like(self.mean).normal_(generator=rng)
        return self.mean + (0.5 * self.logvar).exp() * noise

    def divergence(self, mean: float, deviation: float) -> Tensor:
        """KL divergence from N(mean, deviation²), summed over the last axis."""
        spread = (self.logvar.exp() + (self.mean - mean) ** 2) / deviation**2
        return 0.5 * (spread - 1 - self.logvar + 2 * math.log(deviation)).sum(-1)


class Beta(NamedTuple):
    """Independent Beta distributions: how sure it is that a particle is there."""

    on: Tensor
    off: Tensor

    @staticmethod
    def free(logs: Tensor) -> "Beta":
        """From two log-concentrations in the last axis."""
        on, off = logs.exp().nan_to_num(0.01).clamp(min=_FLOOR, max=1e6).unbind(-1)
        return Beta(on, off)

    @staticmethod
    def bounded(logit: Tensor) -> "Beta":
        """From one logit: both concentrations stay in [1e-4, 100], and their product is 0.01."""
        part = logit[..., 0].sigmoid() * (_MOST - _LEAST)
        return Beta((_LEAST + part).exp(), (_MOST - part).exp())

    @property
    def mean(self) -> Tensor:
        """Expected transparency."""
        return self.on / (self.on + self.off)

    def sample(self, rng: torch.Generator | None) -> Tensor:
        """Draw, so that gradients reach both concentrations."""
        beta = torch.distributions.Beta(self.on, self.off, validate_args=False)
        if rng is None:
            return beta.rsample()
        # Torch's Beta only draws from the global stream: lend it a seed of ours.
        seed = int(torch.randint(2**62, (), generator=rng))
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return beta.rsample()

    def divergence(self, prior: float) -> Tensor:
        """KL divergence from Beta(prior, prior)."""
        on, off, both = self.on, self.off, self.on + self.off
        own = torch.lgamma(on) + torch.lgamma(off) - torch.lgamma(both)
        theirs = 2 * math.lgamma(prior) - math.lgamma(2 * prior)
        return (
            theirs
            - own
            + (on - prior) * torch.digamma(on)
            + (off - prior) * torch.digamma(off)
            + (2 * prior - both) * torch.digamma(both)
        )


def chamfer(anchors: Tensor, proposals: Tensor) -> Tensor:
    """Chamfer distance (N,) of anchors (N, K, 2) and proposals (N, L, 2).

    The KL divergence of two Gaussians of unit variance is half the squared distance of their means.
    """
    gap = 0.5 * (anchors[:, :, None] - proposals[:, None]).square().sum(-1)  # (N, K, L)
    return gap.min(1).values.sum(-1) + gap.min(2).values.sum(-1)

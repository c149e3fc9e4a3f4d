"""Distributions of particle attributes: Gaussians and Betas, their samples and KL divergences."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

_MIN_CONCENTRATION = 1e-5
"""Smallest concentration of a Beta."""
_LOG_MIN, _LOG_MAX = math.log(1e-4), math.log(100.0)
"""Range of a bounded log-concentration."""
_LOGVAR_RANGE = (-14.0, 6.0)
"""Range of log-variances; wide enough to change only values that would soon become NaN."""


class Normal(NamedTuple):
    """Independent Gaussians."""

    mean: Tensor
    logvar: Tensor

    @staticmethod
    def clamped(mean: Tensor, logvar: Tensor) -> "Normal":
        """Gaussians whose variance can neither vanish nor explode."""
        return Normal(mean, logvar.clamp(*_LOGVAR_RANGE))

    def sample(self, rng: torch.Generator | None) -> Tensor:
        """Draw reparameterized samples: gradients reach mean and variance."""
        noise = torch.empty_like(self.mean).normal_(generator=rng)
        return self.mean + (0.5 * self.logvar).exp() * noise

    def kl_divergence(self, mean: float, std: float) -> Tensor:
        """KL divergence from N(mean, std²), summed over the last axis."""
        ratio = (self.logvar.exp() + (self.mean - mean) ** 2) / std**2
        return 0.5 * (ratio - 1 - self.logvar + 2 * math.log(std)).sum(-1)


class Beta(NamedTuple):
    """Independent Beta distributions of opacity; the concentrations are named as in torch."""

    concentration1: Tensor
    """Concentration of opacity 1."""
    concentration0: Tensor
    """Concentration of opacity 0."""

    @staticmethod
    def from_log_concentrations(logs: Tensor) -> "Beta":
        """From two log-concentrations in the last axis."""
        positive = logs.exp().nan_to_num(0.01).clamp(min=_MIN_CONCENTRATION, max=1e6)
        return Beta(*positive.unbind(-1))

    @staticmethod
    def from_logit(logit: Tensor) -> "Beta":
        """From one logit: both concentrations stay in [1e-4, 100], and their product is 0.01."""
        part = logit[..., 0].sigmoid() * (_LOG_MAX - _LOG_MIN)
        return Beta((_LOG_MIN + part).exp(), (_LOG_MAX - part).exp())

    @property
    def mean(self) -> Tensor:
        """Expected opacity."""
        return self.concentration1 / (self.concentration1 + self.concentration0)

    def sample(self, rng: torch.Generator | None) -> Tensor:
        """Draw reparameterized samples: gradients reach both concentrations."""
        beta = torch.distributions.Beta(
            self.concentration1, self.concentration0, validate_args=False
        )
        if rng is None:
            return beta.rsample()
        # Torch's Beta only draws from the global generator: seed that temporarily from `rng`.
        seed = int(torch.randint(2**62, (), generator=rng))
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return beta.rsample()

    def kl_divergence(self, prior: float) -> Tensor:
        """KL divergence from Beta(prior, prior)."""
        alpha, beta = self.concentration1, self.concentration0
        total = alpha + beta
        log_norm = torch.lgamma(alpha) + torch.lgamma(beta) - torch.lgamma(total)
        log_norm_prior = 2 * math.lgamma(prior) - math.lgamma(2 * prior)
        return (
            log_norm_prior
            - log_norm
            + (alpha - prior) * torch.digamma(alpha)
            + (beta - prior) * torch.digamma(beta)
            + (2 * prior - total) * torch.digamma(total)
        )


def chamfer(anchors: Tensor, proposals: Tensor) -> Tensor:
    """Chamfer distance (N,) of anchors (N, K, 2) and proposals (N, L, 2).

    The pairwise distance is the KL divergence of two Gaussians of unit variance: half the squared
    distance of their means.
    """
    gap = 0.5 * (anchors[:, :, None] - proposals[:, None]).square().sum(-1)  # (N, K, L)
    return gap.min(1).values.sum(-1) + gap.min(2).values.sum(-1)

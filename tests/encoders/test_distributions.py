"""Gaussians, Betas and the Chamfer distance, against torch and by hand."""

import pytest

torch = pytest.importorskip("torch")
from torch import distributions  # noqa: E402

from jostle.encoders.distributions import Beta, Normal, chamfer  # noqa: E402


def test_kl_divergence_of_gaussians_equals_torch():
    normal = Normal(torch.randn(7, 2), torch.randn(7, 2))
    reference = distributions.Normal(normal.mean, (0.5 * normal.logvar).exp())
    prior = distributions.Normal(-1.47, 0.3)
    expected = distributions.kl_divergence(reference, prior).sum(-1)
    torch.testing.assert_close(normal.kl_divergence(-1.47, 0.3), expected)


@pytest.mark.parametrize("prior", [0.01, 0.1, 1.0])
def test_kl_divergence_of_betas_equals_torch(prior):
    beta = Beta.from_log_concentrations(2 * torch.randn(50, 2, dtype=torch.float64))
    fixed = torch.tensor(prior, dtype=torch.float64)
    reference = distributions.Beta(fixed, fixed)
    expected = distributions.kl_divergence(distributions.Beta(*beta), reference)
    torch.testing.assert_close(beta.kl_divergence(prior), expected)


def test_a_bounded_beta_is_symmetric_at_logit_zero_and_stays_within_bounds():
    symmetric = Beta.from_logit(torch.zeros(1, 1))
    assert symmetric.concentration1.item() == pytest.approx(0.1)
    assert symmetric.concentration0.item() == pytest.approx(0.1)
    extreme = Beta.from_logit(torch.tensor([[-1e4], [-3.0], [2.0], [1e4]]))
    product = extreme.concentration1 * extreme.concentration0
    torch.testing.assert_close(product, torch.full((4,), 0.01))
    assert extreme.concentration1.min() >= 0.99e-4
    assert extreme.concentration1.max() <= 100.1
    assert (extreme.mean.diff() > 0).all()


def test_samples_and_their_gradients_are_finite_even_for_extreme_distributions():
    logits = torch.tensor([[-50.0], [-5.0], [0.0], [5.0], [50.0]]).repeat(200, 1).requires_grad_()
    samples = Beta.from_logit(logits).sample(torch.Generator().manual_seed(0))
    samples.sum().backward()
    assert torch.isfinite(samples).all()
    assert torch.isfinite(logits.grad).all()
    assert samples.view(200, 5)[:, 0].max() < 1e-3
    assert samples.view(200, 5)[:, 4].min() > 1 - 1e-3
    raw = torch.tensor([[90.0, -90.0], [float("nan"), 0.0], [-90.0, -90.0]])
    assert torch.isfinite(Beta.from_log_concentrations(raw).sample(None)).all()
    assert torch.isfinite(Beta.from_log_concentrations(raw).kl_divergence(0.1)).all()


def test_samples_use_only_the_given_generator():
    beta = Beta.from_logit(torch.zeros(20, 1))
    before = torch.random.get_rng_state()
    first, second = (beta.sample(torch.Generator().manual_seed(3)) for _ in range(2))
    assert (first == second).all()
    assert (torch.random.get_rng_state() == before).all()


def test_chamfer_is_zero_when_every_proposal_is_an_anchor():
    positions = torch.randn(3, 6, 2)
    assert chamfer(positions[:, torch.randperm(6)], positions).abs().max() == 0


def test_chamfer_sums_half_squared_distances_in_both_directions():
    anchors, proposals = torch.tensor([[[0.0, 0.0]]]), torch.tensor([[[0.0, 1.0], [0.0, 2.0]]])
    assert chamfer(anchors, proposals).item() == pytest.approx(0.5 + 2.0 + 0.5)

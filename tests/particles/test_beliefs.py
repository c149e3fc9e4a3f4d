"""Gaussians, Betas and the Chamfer distance, against torch and by hand."""

import pytest

torch = pytest.importorskip("torch")
from torch import distributions as theirs  # noqa: E402

from jostle.particles.beliefs import Beta, Normal, chamfer  # noqa: E402


def test_gaussian_divergence_is_torchs():
    belief = Normal(torch.randn(7, 2), torch.randn(7, 2))
    ours = belief.divergence(-1.47, 0.3)
    one = theirs.Normal(belief.mean, (0.5 * belief.logvar).exp())
    torch.testing.assert_close(ours, theirs.kl_divergence(one, theirs.Normal(-1.47, 0.3)).sum(-1))


@pytest.mark.parametrize("prior", [0.01, 0.1, 1.0])
def test_beta_divergence_is_torchs(prior):
    belief = Beta.free(2 * torch.randn(50, 2, dtype=torch.float64))
    fixed = torch.tensor(prior, dtype=torch.float64)
    expected = theirs.kl_divergence(theirs.Beta(*belief), theirs.Beta(fixed, fixed))
    torch.testing.assert_close(belief.divergence(prior), expected)


def test_a_bounded_beta_starts_undecided_and_is_never_out_of_bounds():
    middle = Beta.bounded(torch.zeros(1, 1))
    assert middle.on.item() == pytest.approx(0.1)
    assert middle.off.item() == pytest.approx(0.1)
    wild = Beta.bounded(torch.tensor([[-1e4], [-3.0], [2.0], [1e4]]))
    torch.testing.assert_close(wild.on * wild.off, torch.full((4,), 0.01))
    assert wild.on.min() >= 0.99e-4
    assert wild.on.max() <= 100.1
    assert (wild.mean.diff() > 0).all()


def test_samples_and_their_gradients_are_numbers_even_where_beliefs_are_extreme():
    logits = torch.tensor([[-50.0], [-5.0], [0.0], [5.0], [50.0]]).repeat(200, 1).requires_grad_()
    drawn = Beta.bounded(logits).sample(torch.Generator().manual_seed(0))
    drawn.sum().backward()
    assert torch.isfinite(drawn).all()
    assert torch.isfinite(logits.grad).all()
    assert drawn.view(200, 5)[:, 0].max() < 1e-3
    assert drawn.view(200, 5)[:, 4].min() > 1 - 1e-3
    raw = torch.tensor([[90.0, -90.0], [float("nan"), 0.0], [-90.0, -90.0]])
    assert torch.isfinite(Beta.free(raw).sample(None)).all()
    assert torch.isfinite(Beta.free(raw).divergence(0.1)).all()


def test_samples_come_from_the_generator_alone():
    belief = Beta.bounded(torch.zeros(20, 1))
    before = torch.random.get_rng_state()
    one, two = (belief.sample(torch.Generator().manual_seed(3)) for _ in range(2))
    assert (one == two).all()
    assert (torch.random.get_rng_state() == before).all()


def test_chamfer_is_zero_when_every_proposal_is_an_anchor():
    places = torch.randn(3, 6, 2)
    assert chamfer(places[:, torch.randperm(6)], places).abs().max() == 0


def test_chamfer_counts_half_squares_in_both_directions():
    anchors, proposals = torch.tensor([[[0.0, 0.0]]]), torch.tensor([[[0.0, 1.0], [0.0, 2.0]]])
    assert chamfer(anchors, proposals).item() == pytest.approx(0.5 + 2.0 + 0.5)

"""Relative positions: what they describe, and how attention uses them."""

import pytest

torch = pytest.importorskip("torch")

from jostle.nets.attention import Attention  # noqa: E402
from jostle.nets.kernels import use_kernels  # noqa: E402
from jostle.nets.relative_positions import (  # noqa: E402
    FourierPositions,
    RelativePositions,
    rel_pos_dim,
)


def test_relative_positions_describe_differences_and_nothing_else():
    query_xy, context_xy = torch.randn(3, 4, 2), torch.randn(3, 5, 2)
    features = RelativePositions.between(query_xy, context_xy, bands=6).features
    assert features.shape == (3, 4, 5, rel_pos_dim(6))
    shift = torch.tensor((0.3, -1.2))
    moved = RelativePositions.between(query_xy + shift, context_xy + shift, bands=6).features
    torch.testing.assert_close(moved, features, atol=1e-4, rtol=0)
    difference = context_xy[:, None] - query_xy[:, :, None]
    torch.testing.assert_close(features[..., :2], difference)
    frequencies = 2 * torch.pi / 8 * 2.0 ** torch.arange(6)
    angles = (difference[..., None] * frequencies).flatten(-2)
    waves = torch.cat((angles.sin(), angles.cos()), dim=-1)
    torch.testing.assert_close(features[..., 2:], waves, atol=1e-4, rtol=0)


def test_masked_pairs_and_unplaced_tokens_have_zero_features():
    same_view = torch.block_diag(torch.ones(4, 5), torch.ones(4, 5))
    relative = RelativePositions.between(
        torch.randn(3, 8, 2), torch.randn(3, 10, 2), bands=3, mask=same_view
    )
    features = relative.features
    assert (features[:, :4, 5:] == 0).all()
    assert (features[:, 4:, :5] == 0).all()
    assert (features[:, :4, :5] != 0).all()
    for in_context in (False, True):
        wider = relative.with_unplaced_token(in_context).features
        torch.testing.assert_close(wider[:, 1:, int(in_context) :], features)
        assert (wider[:, 0] == 0).all()
        assert not in_context or (wider[:, :, 0] == 0).all()


def test_smooth_positions_have_no_short_waves():
    smooth = FourierPositions.of(torch.randn(3, 4, 2), bands=6, num_smooth=1)
    for part in (smooth.sine, smooth.cosine):
        bands = part.unflatten(-1, (2, 6))  # (B, T, 2, W)
        assert (bands[:, 0, :, 4:] == 0).all()
        assert (bands[:, 0, :, :4] != 0).all()
        assert (bands[:, 1:] != 0).all()


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("unplaced", [False, True])
@pytest.mark.parametrize("limit", [12, 0, None], ids=["small", "factored", "no kernels"])
def test_attention_adds_relative_positions_to_keys_and_values(masked, unplaced, limit, monkeypatch):
    monkeypatch.setattr("jostle.nets.kernels.attention._SMALL", limit)
    torch.manual_seed(0)
    mask = (torch.rand(3, 4, 6) > 0.4).float() if masked else None
    relative = [
        RelativePositions.between(torch.randn(3, 4, 2), torch.randn(3, 6, 2), 3, pairs)
        for pairs in (mask, None)
    ]
    if unplaced:
        relative = [kind.with_unplaced_token(in_context=True) for kind in relative]
    queries, keys = 4 + unplaced, 6 + unplaced
    attend = Attention(16, 4, ensemble=2, rel_pos_dim=2 * rel_pos_dim(3))
    query, context = torch.randn(2, 3, queries, 16), torch.randn(2, 3, keys, 16)
    visible = torch.rand(3, keys) > 0.3
    with use_kernels(limit is not None):
        result, weights = attend(query, context, visible, tuple(relative))

    # The same with a key and a value for every pair
    features = torch.cat([kind.features for kind in relative], dim=-1)

    def of_pairs(base, projection):  # (2, B, Q, S, h, d)
        added = torch.einsum("bqsf,chdf->cbqshd", features, projection)
        return base.unflatten(-1, (4, 4))[:, :, None] + added

    k = of_pairs(attend.key(context), attend.rel_pos.key)
    v = of_pairs(attend.value(context), attend.rel_pos.value)
    scores = torch.einsum("cbqhd,cbqshd->cbhqs", attend.query(query).unflatten(-1, (4, 4)), k) / 2
    expected = scores.masked_fill(~visible[None, :, None, None], -torch.inf).softmax(-1)
    if weights is not None:  # the kernel of small sets has none
        torch.testing.assert_close(weights, expected, rtol=1e-4, atol=1e-5)
    mixed = torch.einsum("cbhqs,cbqshd->cbqhd", expected, v).flatten(-2)
    torch.testing.assert_close(result, attend.out(mixed), rtol=1e-4, atol=1e-5)

"""Attention entropy: 1 for attention to all alike, 0 to one alone, whatever is not visible."""

import pytest

torch = pytest.importorskip("torch")

from jostle.nets.attention import Attention  # noqa: E402
from jostle.nets.attention_entropy import attention_entropy  # noqa: E402


def layer(sharpness: float) -> Attention:
    """Attention whose queries and keys are the entities, times a factor."""
    attend = Attention(8, heads=1)
    for part in (attend.query, attend.key):
        with torch.no_grad():
            part.weight.copy_(sharpness * torch.eye(8)[None])
    return attend


def entropy(attend: Attention, x: torch.Tensor, visible: torch.Tensor) -> float:
    """Of self-attention."""
    measured = attention_entropy(attend, lambda: attend(x, x, visible))
    assert measured is not None
    return float(measured)


def test_attention_to_all_alike_has_one_and_to_one_alone_zero():
    x = torch.eye(8)[None, None, :4] * 10  # (1, 1, 4, 8)
    visible = torch.ones(1, 4, dtype=torch.bool)
    assert entropy(layer(0.0), x, visible) == pytest.approx(1.0, abs=1e-5)
    assert entropy(layer(10.0), x, visible) == pytest.approx(0.0, abs=1e-5)
    assert 0.05 < entropy(layer(0.2), x, visible) < 0.95


def test_what_is_not_visible_changes_nothing():
    torch.manual_seed(0)
    x = torch.randn(1, 3, 6, 8)
    visible = torch.ones(3, 6, dtype=torch.bool)
    visible[:, 4:] = False
    attend = layer(0.7)
    others = x.clone()
    others[:, :, 4:] = 50.0
    expected = entropy(attend, x[:, :, :4], visible[:, :4])
    assert entropy(attend, x, visible) == pytest.approx(expected, abs=1e-5)
    assert entropy(attend, others, visible) == pytest.approx(expected, abs=1e-5)


def test_sets_of_one_entity_have_none():
    x, visible = torch.randn(1, 2, 1, 8), torch.ones(2, 1, dtype=torch.bool)
    attend = layer(1.0)
    assert attention_entropy(attend, lambda: attend(x, x, visible)) is None


def test_networks_without_attention_have_none():
    network = torch.nn.Linear(2, 2)
    assert attention_entropy(network, lambda: network(torch.zeros(1, 2))) is None

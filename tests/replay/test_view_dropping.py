"""Dropped views: one per sample, in all sets, as often as asked for."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from jostle.core.entities import Entities  # noqa: E402
from jostle.replay.view_dropping import drop_views  # noqa: E402

BATCH, VIEWS = 400, 2


def sets() -> list[Entities]:
    torch.manual_seed(0)
    shapes = (BATCH, VIEWS, 5, 3), (BATCH, VIEWS, 7, 3)
    return [Entities(torch.randn(shape), torch.rand(shape[:-1]) < 0.8) for shape in shapes]


def test_one_view_is_hidden_in_all_sets_of_some_samples():
    before, after = sets(), drop_views(sets(), 0.25, np.random.default_rng(0))
    missing = [
        (old.visible.any(-1) & ~new.visible.any(-1)) for old, new in zip(before, after, strict=True)
    ]  # (B, V)
    assert torch.equal(*missing)
    assert missing[0].sum(1).max() == 1
    assert 0.18 < missing[0].any(1).float().mean() < 0.32
    assert 0.35 < missing[0][:, 0].sum() / missing[0].sum() < 0.65
    for old, new, gone in zip(before, after, missing, strict=True):
        assert torch.equal(old.visible[~gone], new.visible[~gone])
        assert torch.equal(old.values, new.values)


def test_nothing_is_dropped_or_drawn_without_a_fraction():
    rng = np.random.default_rng(3)
    before = sets()
    assert all(old is new for old, new in zip(before, drop_views(before, 0, rng), strict=True))
    assert rng.random() == np.random.default_rng(3).random()

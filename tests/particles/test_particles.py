"""The columns of a particle."""

import pytest

torch = pytest.importorskip("torch")

from jostle.core.errors import BadValueError  # noqa: E402
from jostle.core.particles import Particles  # noqa: E402


def test_columns_are_in_the_order_of_the_released_code():
    particles = Particles(torch.arange(10.0)[None])
    assert particles.place.tolist() == [[0, 1]]
    assert particles.scale.tolist() == [[2, 3]]
    assert particles.depth.tolist() == [4]
    assert particles.features.tolist() == [[5, 6, 7, 8]]
    assert particles.transparency.tolist() == [9]


def test_joining_is_the_inverse_of_naming():
    whole = Particles(torch.randn(2, 3, 5, 11))
    parts = (whole.place, whole.scale, whole.depth, whole.features, whole.transparency)
    assert (Particles.join(*parts).values == whole.values).all()


def test_entities_begin_with_the_place_and_are_visible_from_the_threshold_on():
    whole = Particles(torch.rand(2, 2, 5, 10))
    seen = whole.entities(0.5)
    assert seen.values.shape == (2, 2, 5, 9)
    assert (seen.values[..., :2] == whole.place).all()
    assert (seen.visible == (whole.transparency >= 0.5)).all()
    assert whole.entities(0.5, hidden=()).values.shape == (2, 2, 5, 10)


def test_what_is_hidden_leaves_the_other_columns_as_they_are():
    whole = Particles(torch.rand(2, 2, 5, 10))
    bare = whole.entities(0.5, hidden=("scale", "depth", "transparency")).values
    assert (bare == torch.cat((whole.place, whole.features), dim=-1)).all()


def test_what_is_too_narrow_for_a_particle_is_refused():
    with pytest.raises(BadValueError, match=r"\(3, 10, 5\) has 5. Is the batch transposed"):
        Particles(torch.zeros(3, 10, 5))

"""The columns of a particle."""

import pytest

torch = pytest.importorskip("torch")

from jostle.core.errors import BadValueError  # noqa: E402
from jostle.core.particles import Particles, entity_layout  # noqa: E402


def test_columns_are_in_the_order_of_the_released_code():
    particles = Particles(torch.arange(10.0)[None])
    assert particles.position.tolist() == [[0, 1]]
    assert particles.scale.tolist() == [[2, 3]]
    assert particles.depth.tolist() == [4]
    assert particles.features.tolist() == [[5, 6, 7, 8]]
    assert particles.opacity.tolist() == [9]


def test_from_parts_inverts_the_named_attributes():
    particles = Particles(torch.randn(2, 3, 5, 11))
    parts = (
        particles.position,
        particles.scale,
        particles.depth,
        particles.features,
        particles.opacity,
    )
    assert (Particles.from_parts(*parts).values == particles.values).all()


def test_entities_start_with_the_position_and_are_visible_from_the_threshold_on():
    particles = Particles(torch.rand(2, 2, 5, 10))
    entities = particles.to_entities(0.5)
    assert entities.values.shape == (2, 2, 5, 9)
    assert (entities.values[..., :2] == particles.position).all()
    assert (entities.visible == (particles.opacity >= 0.5)).all()
    assert particles.to_entities(0.5, dropped=()).values.shape == (2, 2, 5, 10)


def test_dropping_attributes_leaves_the_other_columns_unchanged():
    particles = Particles(torch.rand(2, 2, 5, 10))
    reduced = particles.to_entities(0.5, dropped=("scale", "depth", "opacity")).values
    assert (reduced == torch.cat((particles.position, particles.features), dim=-1)).all()


@pytest.mark.parametrize("dropped", [(), ("opacity",), ("scale", "opacity"), ("depth",)])
def test_the_layout_names_the_columns_of_entities(dropped):
    particles = Particles(torch.rand(2, 2, 5, 10))
    values, layout = particles.to_entities(0.5, dropped).values, entity_layout(4, dropped)
    assert layout.width == values.shape[-1]
    assert (values[..., layout["position"]] == particles.position).all()
    assert (values[..., layout["features"]] == particles.features).all()
    if "depth" in layout:
        assert (values[..., layout["depth"]][..., 0] == particles.depth).all()


def test_tensors_too_narrow_for_a_particle_are_refused():
    with pytest.raises(BadValueError, match=r"\(3, 10, 5\) has 5. Is the batch transposed"):
        Particles(torch.zeros(3, 10, 5))

"""Ranges in variations: written back as read, and drawn from in every episode."""

import numpy as np
import pytest

from jostle.core.errors import JostleError
from jostle.envs.options import EnvOptions
from jostle.scene.shapes import default_mass
from jostle.tasks.vary import parse_vary

RANGES = (
    "size=0.8..1.5x1 mass=x0.1..20 friction=0.5..2 table=0.45..0.5x0.6 "
    "camera.front.x=-0.05..+0.05 camera.side.fov=30..40 light=0.5..1.2 light_angle=0..90"
)


def episode(vary: str | None, seed: int, **options):
    sampler = EnvOptions(variation=vary, **options).episode_sampler("ThreeCubes", {})
    return sampler.sample(np.random.default_rng(seed))


def test_ranges_are_written_back_as_they_were_read():
    assert str(parse_vary(RANGES)) == RANGES
    assert str(parse_vary("size=1..2")) == "size=1..2x1..2"
    assert str(parse_vary("mass=0.1..0.3")) == "mass=0.1..0.3"


def test_every_episode_draws_numbers_within_the_ranges():
    episodes = [episode(RANGES, seed) for seed in range(40)]
    before = episode(None, 0).appearance.cameras[0].position[0]
    drawn = {
        (0.8, 1.5): [obj.scale[0] for item in episodes for obj in item.scene.objects],
        (0.1, 20): [obj.mass for item in episodes for obj in item.scene.objects],
        (0.45, 0.5): [item.scene.table.x for item in episodes],
        (-0.05, 0.05): [item.appearance.cameras[0].position[0] - before for item in episodes],
        (30, 40): [item.appearance.cameras[1].fov for item in episodes],
        (0.5, 1.2): [item.appearance.brightness for item in episodes],
    }
    for (low, high), numbers in drawn.items():
        assert low <= min(numbers) < low + 0.3 * (high - low)
        assert high - 0.3 * (high - low) < max(numbers) <= high
    assert {obj.scale[1] for item in episodes for obj in item.scene.objects} == {1}
    weights = [obj.mass * default_mass(obj) for obj in episode("mass=0.1..0.3", 0).scene.objects]
    assert 0.1 <= min(weights) < max(weights) <= 0.3


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("light=1..0.5", "from less to more"),
        ("light=1..1", "from less to more"),
        ("mass=x0..20", "more than 0"),
        ("size=1..50", "scale"),
        ("camera.front.x=-0.05..0.05", "sign"),
        ("light=0.5..", "not a number"),
    ],
)
def test_impossible_ranges_are_refused(text, reason):
    with pytest.raises(JostleError, match=reason):
        parse_vary(text)

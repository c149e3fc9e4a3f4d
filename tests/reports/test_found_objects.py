"""Found objects drawn over frames: they lie where the cameras see their places on the table."""

import numpy as np
import pytest

pytest.importorskip("torch")

from jostle.core.entities import POSITION, Entities
from jostle.reports.overlays import project_objects
from jostle.rollout.found_object_observer import FOUND_LAYOUT
from jostle.rollout.table_projection import HEIGHT
from jostle.scene.cameras import resolve_cameras, unproject_to_plane

CAMERAS = resolve_cameras(("front", "side"))


def test_places_on_the_table_come_back_from_every_view():
    places = np.random.default_rng(0).uniform(-0.2, 0.2, (5, 2))
    values = np.zeros((1, 1, 5, FOUND_LAYOUT.width), np.float32)
    values[..., FOUND_LAYOUT[POSITION]] = places
    visible = np.array([[[True, True, False, True, True]]])
    weights = np.array([[0.1, 0.2, 0.3, 0.2, 0.2]], np.float32)
    shown = project_objects(Entities(values, visible), FOUND_LAYOUT, CAMERAS, 128, weights)
    for view, camera in enumerate(CAMERAS):
        pixels = shown.positions[view][:, ::-1]  # column and row
        found = unproject_to_plane(camera, pixels, HEIGHT, (128, 128))
        np.testing.assert_allclose(found, places, atol=1e-5)
        assert (shown.visible[view] == visible[0, 0]).all()
        np.testing.assert_array_equal(shown.weights[view], weights[0])
    assert ((shown.half_extent > 1) & (shown.half_extent < 10)).all()

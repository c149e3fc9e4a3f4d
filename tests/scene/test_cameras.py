"""Cameras: the published pixel positions, and images that agree with the projection."""

import numpy as np
import pytest

from jostle.core.errors import BadValueError, UnknownNameError
from jostle.pixels.render import Renderer, RenderRequest
from jostle.scene.build import compile_scene
from jostle.scene.cameras import CAMERAS, project, resolve_cameras
from jostle.scene.physics import table_poses
from jostle.scene.spec import TABLE_TOP, Appearance, CameraSpec, ObjectSpec, SceneSpec

CORNERS = {
    "front": {(-0.25, -0.3): (16.2, 19.7), (-0.25, 0.3): (111.8, 19.7),
              (0.25, -0.3): (-0.4, 85.0), (0.25, 0.3): (128.4, 85.0)},
    "side": {(-0.25, -0.3): (-0.1, 95.3), (0.25, -0.3): (128.1, 95.3),
             (-0.25, 0.3): (22.8, 17.2), (0.25, 0.3): (105.2, 17.2)},
}  # fmt: skip


@pytest.mark.parametrize("name", CORNERS)
def test_table_corners_lie_where_the_original_has_them(name):
    for (x, y), pixel in CORNERS[name].items():
        projected = project(CAMERAS[name], np.array((x, y, TABLE_TOP)), (128, 128))
        np.testing.assert_allclose(projected, pixel, atol=1.5)


@pytest.mark.parametrize("name", CAMERAS)
@pytest.mark.parametrize("position", [(0.1, 0.1), (-0.05, -0.15), (0.15, -0.1)])
def test_a_rendered_cube_is_where_the_projection_says(name, position):
    scene = SceneSpec(objects=(ObjectSpec(),))
    compiled = compile_scene(scene)
    qpos = compiled.model.qpos0.copy()
    qpos[:7] = (0, -0.62, 0, -3.06, 0, 2.18, 0.7854)
    empty = qpos.copy()
    qpos[7:] = table_poses(scene, np.array([(*position, 0.0)])).ravel()
    appearance = Appearance(colors=((1.0, 0.0, 0.0),), cameras=resolve_cameras((name,)))
    renderer = Renderer(compiled, 1, (128, 128))
    frames = np.empty((2, 1, 128, 128, 3), np.uint8)
    for frame, pose in zip(frames, (qpos, empty), strict=True):
        renderer.render(RenderRequest(compiled, pose, appearance), frame)
    renderer.close()
    changed = np.abs(frames[0, 0].astype(int) - frames[1, 0]).sum(-1) > 60
    rows, columns = np.nonzero(changed)
    center = np.array((columns.mean() + 0.5, rows.mean() + 0.5))
    expected = project(CAMERAS[name], np.array((*position, TABLE_TOP + 0.0175)), (128, 128))
    assert changed.sum() > 20
    np.testing.assert_allclose(center, expected, atol=1.5)


def test_image_right_is_plus_y_in_front_and_plus_x_at_the_side():
    middle = np.array((0.0, 0.0, TABLE_TOP))
    for name, axis in (("front", 1), ("side", 0)):
        moved = middle + 0.1 * np.eye(3)[axis]
        near = project(CAMERAS[name], middle, (128, 128))
        assert project(CAMERAS[name], moved, (128, 128))[0] > near[0] + 5


def test_unknown_and_duplicate_cameras_are_refused():
    with pytest.raises(UnknownNameError, match="Did you mean 'front'"):
        resolve_cameras(("frnt",))
    with pytest.raises(BadValueError, match="share a name"):
        resolve_cameras(("front", "front"))
    with pytest.raises(BadValueError, match="own target"):
        CameraSpec(name="blind", position=(0, 0, 1), target=(0, 0, 1))

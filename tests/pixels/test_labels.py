"""Segmentation labels agree with the images, on any thread and in any order."""

from dataclasses import replace

import numpy as np
import pytest

from jostle.pixels.labels import ARM, BACKGROUND, FIRST_OBJECT, unoccluded_pixels
from jostle.pixels.render import RenderRequest
from jostle.pixels.render_pool import RenderPool
from jostle.scene.arm import RETRACTED_POSE
from jostle.scene.build import compile_scene
from jostle.scene.cameras import resolve_cameras
from jostle.scene.physics import table_poses
from jostle.scene.shapes import SHAPES
from jostle.scene.spec import Appearance, ObjectSpec, SceneSpec

SIZE = (96, 128)


def make_requests(shape: str, planar: list[tuple[float, float, float]]) -> list[RenderRequest]:
    """One object alone in each request, clear of the arm, and all of them in the last."""
    objects = (ObjectSpec(shape=shape),) * len(planar)
    scene = SceneSpec(objects=objects, parts=len(SHAPES[shape].boxes))
    appearance = Appearance(
        colors=((0.9, 0.1, 0.1),) * len(planar), cameras=resolve_cameras(("front", "side"))
    )
    requests = []
    for visible in (*range(len(planar)), None):
        poses = np.array(planar)
        if visible is not None:
            poses[np.arange(len(planar)) != visible] = np.nan
        qpos = np.concatenate((RETRACTED_POSE, table_poses(scene, poses).ravel()))
        requests.append(RenderRequest(compile_scene(scene), qpos, appearance))
    return requests


@pytest.mark.parametrize("shape", list(SHAPES))
def test_unoccluded_pixels_are_those_of_the_object_rendered_alone(shape):
    planar = [(0.1, 0.0, 0.3), (0.06, 0.01, 1.1), (0.0, -0.2, 0.0), (0.12, 0.28, 2.0)]
    requests = make_requests(shape, planar)
    pool = RenderPool(requests[0].scene, 2, SIZE, 1)
    labels = pool.render_labels(requests)  # (N + 1, V, H, W)
    pool.close()
    poses = requests[-1].qpos[None, 7:].reshape(1, -1, 7)
    slots = range(len(planar))
    for view, camera in enumerate(requests[-1].appearance.cameras):
        alone = [(labels[slot, view] == FIRST_OBJECT + slot).sum() for slot in slots]
        counted = unoccluded_pixels([requests[-1].scene], poses, camera, SIZE)[0]
        assert np.abs(counted - alone).max() <= 1
        together = [(labels[-1, view] == FIRST_OBJECT + slot).sum() for slot in slots]
        assert (np.array(together) <= alone).all()
    assert sum(alone) > 100


def test_labels_do_not_depend_on_threads_or_appearance_and_do_not_change_images():
    requests = make_requests("cube", [(0.1, 0.0, 0.3), (0.0, -0.1, 0.0)])
    bright = [
        replace(request, appearance=replace(request.appearance, brightness=2.0, shadows=True))
        for request in requests
    ]
    pool, two_threads = (RenderPool(requests[0].scene, 2, SIZE, threads) for threads in (1, 2))
    before = pool.render(requests)
    labels = pool.render_labels(requests)
    np.testing.assert_array_equal(pool.render(requests), before)
    np.testing.assert_array_equal(two_threads.render_labels(requests), labels)
    np.testing.assert_array_equal(pool.render_labels(bright), labels)
    assert set(np.unique(labels).tolist()) <= {BACKGROUND, ARM, FIRST_OBJECT, FIRST_OBJECT + 1}
    pool.close()
    two_threads.close()


def test_an_object_behind_the_camera_or_outside_the_image_covers_no_pixels():
    request = make_requests("cube", [(0.0, 0.0, 0.0)])[0]
    camera = request.appearance.cameras[0]
    for position in ((5.0, 0.0, 3.0), (0.0, 4.0, 1.0)):
        poses = np.array([[[*position, 1.0, 0.0, 0.0, 0.0]]])
        assert unoccluded_pixels([request.scene], poses, camera, SIZE).item() == 0

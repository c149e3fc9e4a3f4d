"""Labels agree with what is drawn, whoever draws and whatever was drawn before."""

from dataclasses import replace

import numpy as np
import pytest

from jostle.pixels.labels import ARM, FIRST_OBJECT, NOTHING, whole_pixels
from jostle.pixels.render import Shot, Studio
from jostle.scene.arm import RETRACTED_POSE
from jostle.scene.build import build
from jostle.scene.cameras import read_cameras
from jostle.scene.physics import table_poses
from jostle.scene.shapes import SHAPES
from jostle.scene.spec import Look, ObjectSpec, SceneSpec

SIZE = (96, 128)


def shots(shape: str, planar: list[tuple[float, float, float]]) -> list[Shot]:
    """One object alone in each shot, out of the arm's way, and all of them in the last."""
    slots = (ObjectSpec(shape=shape),) * len(planar)
    scene = SceneSpec(objects=slots, parts=len(SHAPES[shape].boxes))
    look = Look(colors=((0.9, 0.1, 0.1),) * len(planar), cameras=read_cameras(("front", "side")))
    found = []
    for shown in (*range(len(planar)), None):
        rows = np.array(planar)
        if shown is not None:
            rows[np.arange(len(planar)) != shown] = np.nan
        qpos = np.concatenate((RETRACTED_POSE, table_poses(scene, rows).ravel()))
        found.append(Shot(build(scene), qpos, look))
    return found


@pytest.mark.parametrize("shape", list(SHAPES))
def test_whole_pixels_are_those_of_the_object_drawn_alone(shape):
    places = [(0.1, 0.0, 0.3), (0.06, 0.01, 1.1), (0.0, -0.2, 0.0), (0.12, 0.28, 2.0)]
    several = shots(shape, places)
    studio = Studio(several[0].world, 2, SIZE, 1)
    drawn = studio.label(several)  # (N + 1, V, H, W)
    studio.close()
    poses = several[-1].qpos[None, 7:].reshape(1, -1, 7)
    for view, camera in enumerate(several[-1].look.cameras):
        alone = [(drawn[one, view] == FIRST_OBJECT + one).sum() for one in range(len(places))]
        counted = whole_pixels([several[-1].world], poses, camera, SIZE)[0]
        assert np.abs(counted - alone).max() <= 1
        together = [(drawn[-1, view] == FIRST_OBJECT + one).sum() for one in range(len(places))]
        assert (np.array(together) <= alone).all()
    assert sum(alone) > 100


def test_labels_do_not_depend_on_threads_or_looks_and_leave_the_drawing_alone():
    several = shots("cube", [(0.1, 0.0, 0.3), (0.0, -0.1, 0.0)])
    bright = [
        replace(shot, look=replace(shot.look, brightness=2.0, shadows=True)) for shot in several
    ]
    studio, pair = (Studio(several[0].world, 2, SIZE, threads) for threads in (1, 2))
    before = studio.draw(several)
    labels = studio.label(several)
    np.testing.assert_array_equal(studio.draw(several), before)
    np.testing.assert_array_equal(pair.label(several), labels)
    np.testing.assert_array_equal(studio.label(bright), labels)
    assert set(np.unique(labels).tolist()) <= {NOTHING, ARM, FIRST_OBJECT, FIRST_OBJECT + 1}
    studio.close()
    pair.close()


def test_an_object_behind_the_camera_or_beyond_the_picture_fills_nothing():
    shot = shots("cube", [(0.0, 0.0, 0.0)])[0]
    camera = shot.look.cameras[0]
    for place in ((5.0, 0.0, 3.0), (0.0, 4.0, 1.0)):
        poses = np.array([[[*place, 1.0, 0.0, 0.0, 0.0]]])
        assert whole_pixels([shot.world], poses, camera, SIZE).item() == 0

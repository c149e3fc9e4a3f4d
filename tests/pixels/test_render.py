"""Drawing is repeatable, whoever draws."""

import copy
import ctypes
from dataclasses import replace

import numpy as np
import pytest

from jostle.core.errors import DrawingError
from jostle.pixels import backend
from jostle.pixels.displays import draws_in_software, most_painters
from jostle.pixels.render import Shot, Studio
from jostle.scene.build import build
from jostle.scene.cameras import read_cameras
from jostle.scene.physics import table_poses
from jostle.scene.spec import Look, ObjectSpec, SceneSpec


def shots(count: int, **look) -> tuple[list[Shot], object]:
    scene = SceneSpec(objects=(ObjectSpec(),) * 2)
    world = build(scene)
    found = []
    for number in range(count):
        planar = np.array([(0.1, 0.02 * number, 0.1 * number), (-0.05, -0.1, 0.0)])
        qpos = np.concatenate((np.zeros(7), table_poses(scene, planar).ravel()))
        colors = ((number / count, 0.5, 0.2), (0.0, 0.1, 0.8))
        found.append(
            Shot(world, qpos, Look(colors=colors, cameras=read_cameras(("front", "side")), **look))
        )
    return found, world


def test_frames_do_not_depend_on_the_number_of_threads_or_the_company():
    many, world = shots(5)
    drawn = []
    for threads in (1, 2, 3):
        studio = Studio(world, 2, (96, 128), threads)
        drawn.append(studio.draw(many))
        studio.close()
    alone = Studio(world, 2, (96, 128), 1)
    single = np.concatenate([alone.draw([shot]) for shot in reversed(many)])[::-1]
    alone.close()
    assert drawn[0].shape == (5, 2, 96, 128, 3)
    for other in (*drawn[1:], single):
        np.testing.assert_array_equal(drawn[0], other)


@pytest.mark.skipif(not draws_in_software(backend.backend()), reason="a GPU draws here")
def test_no_two_software_painters_share_a_display():
    many, world = shots(6)
    studio = Studio(world, 2, (32, 32), threads=3)
    studio.draw(many)
    current = _egl_current_display()
    pools = [pool.submit(current).result() for pool in studio._pools]
    assert len(pools) == min(3, most_painters(backend.backend()))
    assert len(set(pools)) == len(pools)
    studio.close()


def test_painters_come_and_go():
    few, world = shots(2)
    drawn = []
    for _ in range(5):
        studio = Studio(world, 2, (32, 32), threads=2)
        drawn.append(studio.draw(few))
        studio.close()
    for other in drawn[1:]:
        np.testing.assert_array_equal(drawn[0], other)


def _egl_current_display():
    current = ctypes.CDLL("libEGL.so.1").eglGetCurrentDisplay
    current.restype = ctypes.c_void_p
    return current


def test_frames_show_colors_lights_and_shadows():
    plain, world = shots(1)
    studio = Studio(world, 2, (128, 128), 1)
    base = studio.draw(plain)
    for look in ({"brightness": 0.5}, {"light_angle": 40.0}, {"shadows": True}):
        changed, _ = shots(1, **look)
        assert (studio.draw(changed) != base).mean() > 0.001, look
    dim, _ = shots(1, brightness=0.5)
    assert studio.draw(dim).mean() < 0.8 * base.mean()
    np.testing.assert_array_equal(studio.draw(plain), base)
    studio.close()


def test_edges_are_antialiased():
    (smooth,), world = shots(1)
    rough_model = copy.copy(world.model)
    rough_model.vis.quality.offsamples = 0
    rough = replace(smooth, world=replace(world, model=rough_model))
    colors = []
    for shot in (smooth, rough):
        studio = Studio(shot.world, 2, (128, 128), 1)
        frame = studio.draw([shot])[0, 0]
        colors.append(len(np.unique(frame.reshape(-1, 3), axis=0)))
        studio.close()
    assert colors[0] > 1.3 * colors[1]


def test_a_wrong_backend_is_reported_in_words(monkeypatch):
    monkeypatch.setenv(backend.VARIABLE, "eggl")
    backend.backend.cache_clear()
    with pytest.raises(DrawingError, match="Did you mean 'egl'"):
        backend.backend()
    monkeypatch.delenv(backend.VARIABLE)
    backend.backend.cache_clear()


def test_without_any_backend_the_cure_is_named(monkeypatch):
    monkeypatch.delenv("MUJOCO_GL", raising=False)
    monkeypatch.delenv(backend.VARIABLE, raising=False)
    monkeypatch.setattr(backend, "egl_devices", lambda: 0)
    monkeypatch.setattr(backend, "osmesa_found", lambda: False)
    backend.backend.cache_clear()
    with pytest.raises(DrawingError, match="apt-get install"):
        backend.backend()
    backend.backend.cache_clear()

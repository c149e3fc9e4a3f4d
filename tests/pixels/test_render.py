"""Rendering is deterministic on any thread, and pools free their GL contexts."""

import copy
import ctypes
import gc
import pickle
import threading
from dataclasses import replace

import numpy as np
import pytest

from jostle.core.errors import RenderError
from jostle.pixels import backend
from jostle.pixels.displays import is_software_rendered, max_renderers
from jostle.pixels.render import Renderer, RenderRequest
from jostle.pixels.render_pool import RenderPool
from jostle.scene.build import CompiledScene, compile_scene
from jostle.scene.cameras import resolve_cameras
from jostle.scene.physics import table_poses
from jostle.scene.spec import Appearance, ObjectSpec, SceneSpec


def make_requests(count: int, **appearance) -> tuple[list[RenderRequest], CompiledScene]:
    scene = SceneSpec(objects=(ObjectSpec(),) * 2)
    compiled = compile_scene(scene)
    cameras = resolve_cameras(("front", "side"))
    requests = []
    for number in range(count):
        planar = np.array([(0.1, 0.02 * number, 0.1 * number), (-0.05, -0.1, 0.0)])
        qpos = np.concatenate((np.zeros(7), table_poses(scene, planar).ravel()))
        colors = ((number / count, 0.5, 0.2), (0.0, 0.1, 0.8))
        request = RenderRequest(
            compiled, qpos, Appearance(colors=colors, cameras=cameras, **appearance)
        )
        requests.append(request)
    return requests, compiled


@pytest.fixture
def freed(monkeypatch):
    """Threads on which renderers were closed, in order."""
    names = []
    close = Renderer.close

    def record(renderer):
        names.append(threading.current_thread().name)
        close(renderer)

    monkeypatch.setattr(Renderer, "close", record)
    return names


def test_images_do_not_depend_on_the_number_of_threads_or_on_other_requests():
    requests, scene = make_requests(5)
    images = []
    for threads in (1, 2, 3):
        pool = RenderPool(scene, 2, (96, 128), threads)
        images.append(pool.render(requests))
        pool.close()
    pool = RenderPool(scene, 2, (96, 128), 1)
    single = np.concatenate([pool.render([request]) for request in reversed(requests)])[::-1]
    pool.close()
    assert images[0].shape == (5, 2, 96, 128, 3)
    for other in (*images[1:], single):
        np.testing.assert_array_equal(images[0], other)


@pytest.mark.skipif(not is_software_rendered(backend.backend()), reason="a GPU renders here")
def test_no_two_software_renderers_share_a_display():
    requests, scene = make_requests(6)
    pool = RenderPool(scene, 2, (32, 32), threads=3)
    pool.render(requests)
    current = _egl_current_display()
    displays = [thread._executor.submit(current).result() for thread in pool._threads]
    assert len(displays) == min(3, max_renderers(backend.backend()))
    assert len(set(displays)) == len(displays)
    pool.close()


def _egl_current_display():
    current = ctypes.CDLL("libEGL.so.1").eglGetCurrentDisplay
    current.restype = ctypes.c_void_p
    return current


def test_pools_can_be_opened_and_closed_repeatedly():
    requests, scene = make_requests(2)
    images = []
    for _ in range(5):
        pool = RenderPool(scene, 2, (32, 32), threads=2)
        images.append(pool.render(requests))
        pool.close()
        pool.close()
    images.append(pool.render(requests))
    pool.close()
    for other in images[1:]:
        np.testing.assert_array_equal(images[0], other)


def test_a_dropped_pool_frees_its_contexts_on_their_threads(freed):
    requests, scene = make_requests(2)
    pool = RenderPool(scene, 2, (32, 32), threads=2)
    pool.render(requests)
    threads = [thread._executor for thread in pool._threads]
    workers = [worker for executor in threads for worker in executor._threads]
    del pool, threads
    gc.collect()
    assert sorted(freed) == sorted(worker.name for worker in workers)
    assert not any(worker.is_alive() for worker in workers)


def test_a_pool_dropped_while_another_renders_is_freed_afterwards(freed, monkeypatch):
    requests, scene = make_requests(1)
    pools = [RenderPool(scene, 2, (32, 32), threads=1) for _ in range(2)]
    expected = pools[1].render(requests)
    pools[0].render(requests)
    render = Renderer.render

    def drop_and_render(*args):
        pools.pop()
        assert freed == []
        render(*args)

    monkeypatch.setattr(Renderer, "render", drop_and_render)
    images = pools[0].render(requests)
    assert len(freed) == 1
    np.testing.assert_array_equal(images, expected)
    pools[0].close()


def test_a_pickled_pool_renders_the_same_images():
    requests, scene = make_requests(2)
    pool = RenderPool(scene, 2, (32, 32), threads=2)
    expected = pool.render(requests)
    restored, restored_requests = pickle.loads(pickle.dumps((pool, requests)))
    np.testing.assert_array_equal(restored.render(restored_requests), expected)
    restored.close()
    pool.close()


def test_images_show_colors_lights_and_shadows():
    requests, scene = make_requests(1)
    pool = RenderPool(scene, 2, (128, 128), 1)
    base = pool.render(requests)
    for appearance in ({"brightness": 0.5}, {"light_angle": 40.0}, {"shadows": True}):
        changed, _ = make_requests(1, **appearance)
        assert (pool.render(changed) != base).mean() > 0.001, appearance
    dim, _ = make_requests(1, brightness=0.5)
    assert pool.render(dim).mean() < 0.8 * base.mean()
    np.testing.assert_array_equal(pool.render(requests), base)
    pool.close()


def test_edges_are_antialiased():
    (smooth,), scene = make_requests(1)
    rough_model = copy.copy(scene.model)
    rough_model.vis.quality.offsamples = 0
    rough = replace(smooth, scene=replace(scene, model=rough_model))
    colors = []
    for request in (smooth, rough):
        pool = RenderPool(request.scene, 2, (128, 128), 1)
        image = pool.render([request])[0, 0]
        colors.append(len(np.unique(image.reshape(-1, 3), axis=0)))
        pool.close()
    assert colors[0] > 1.3 * colors[1]


def test_an_unknown_backend_is_reported(monkeypatch):
    monkeypatch.setenv(backend.VARIABLE, "eggl")
    backend.backend.cache_clear()
    with pytest.raises(RenderError, match="Did you mean 'egl'"):
        backend.backend()
    monkeypatch.delenv(backend.VARIABLE)
    backend.backend.cache_clear()


def test_a_missing_backend_is_reported_with_how_to_install_one(monkeypatch):
    monkeypatch.delenv("MUJOCO_GL", raising=False)
    monkeypatch.delenv(backend.VARIABLE, raising=False)
    monkeypatch.setattr(backend, "egl_devices", lambda: 0)
    monkeypatch.setattr(backend, "osmesa_found", lambda: False)
    backend.backend.cache_clear()
    with pytest.raises(RenderError, match="apt-get install"):
        backend.backend()
    backend.backend.cache_clear()

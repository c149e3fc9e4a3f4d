"""The look of videos: soft shadows, ghosts, deterministic, and never in observations."""

from dataclasses import replace

import numpy as np
import pytest
from test_render import make_requests

from jostle.envs.vector import TabletopVectorEnv
from jostle.pixels.presentation import PresentationRenderer, PresentationRequest
from jostle.pixels.render import Renderer
from jostle.pixels.render_pool import RenderPool
from jostle.pixels.soft_shadows import FAR, NEAR, SIDE, LightView, ShadowMap
from jostle.rollout.recording import VideoRenderer
from jostle.scene.cameras import CAMERAS, project, resolve_cameras
from jostle.scene.physics import table_poses
from jostle.scene.robot import robot_base
from jostle.scene.spec import TABLE_TOP, CameraSpec, TableSpec


def render(requests, scene, size=96, renderer=PresentationRenderer, threads=1):
    pool = RenderPool(scene, len(requests[0].appearance.cameras), (size, size), threads, renderer)
    images = pool.render(requests)
    pool.close()
    return images


def with_ghosts(request, planar):
    poses = table_poses(request.scene.spec, np.array(planar))
    return PresentationRequest(request.scene, request.qpos, request.appearance, poses)


def test_images_are_the_same_on_any_thread_and_after_any_other_request():
    requests, scene = make_requests(4)
    requests = [with_ghosts(request, [(0.0, 0.1, 0.3), (0.1, -0.2, 0.0)]) for request in requests]
    first = render(requests, scene)
    np.testing.assert_array_equal(render(requests, scene, threads=2), first)
    np.testing.assert_array_equal(render(requests[::-1], scene)[::-1], first)


def test_a_surface_far_from_everything_is_fully_lit_and_one_below_another_is_not():
    view = LightView.around(np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (0, 1)]),
                            np.array((0.0, 0.3, -1.0)))  # fmt: skip
    camera = CameraSpec(name="above", position=(0.0, 0.01, 3.0), target=(0.0, 0.0, 0.0))
    distance = np.full((32, 32), 3.0, np.float32)
    empty = np.ones((SIDE, SIDE), np.float32)
    np.testing.assert_allclose(ShadowMap(view, empty).visibility(camera, distance), 1, atol=1e-5)
    blocked = np.full((SIDE, SIDE), (0.5 - NEAR) / (FAR - NEAR), np.float32)
    assert ShadowMap(view, blocked).visibility(camera, distance).max() < 0.01


def test_the_edge_of_a_shadow_is_soft_and_has_no_speckle():
    view = LightView.around(np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (0, 1)]),
                            np.array((0.0, 0.001, -1.0)))  # fmt: skip
    camera = CameraSpec(name="above", position=(0.0, 0.001, 3.0), target=(0.0, 0.0, 0.0), fov=30)
    half = np.ones((SIDE, SIDE), np.float32)
    half[:, : SIDE // 2] = (0.9 - NEAR) / (FAR - NEAR)
    row = ShadowMap(view, half).visibility(camera, np.full((200, 200), 3.0, np.float32))[100]
    assert row.min() < 0.01
    assert row.max() > 0.99
    steps = np.diff(row)
    assert (steps >= -1e-4).all() or (steps <= 1e-4).all(), "from dark to light without reversal"
    assert np.abs(steps).max() < 0.5, "over several pixels"


def test_objects_darken_the_table_beside_them_and_the_light_stays_off_the_maximum():
    (request,), scene = make_requests(1)
    request = replace(request, appearance=replace(request.appearance, cameras=(CAMERAS["table"],)))
    lit = render([request], scene, 256)[0, 0].astype(int)
    parked = request.qpos.copy().reshape(-1)
    parked[7:] = table_poses(scene.spec, np.full((2, 3), np.nan)).ravel()
    empty = render([replace(request, qpos=parked)], scene, 256)[0, 0].astype(int)
    darker = (empty.sum(-1) - lit.sum(-1) > 60) & (np.ptp(lit, axis=-1) < 40)
    assert darker.sum() > 50
    columns, rows = project(CAMERAS["table"], np.array((0.2, -0.2, TABLE_TOP)), (256, 256))
    table = lit[int(rows), int(columns)]
    assert 100 < table.mean() < 215, "neither black nor overexposed"
    assert (lit == 255).all(-1).mean() < 0.01


def test_ghosts_change_only_what_is_around_the_goals():
    (request,), scene = make_requests(1)
    camera = CAMERAS["top"]
    request = replace(request, appearance=replace(request.appearance, cameras=(camera,)))
    goals = [(0.15, 0.2, 0.4), (0.15, -0.2, 0.0)]
    plain, shown = (
        render([request], scene, 200)[0, 0],
        render([with_ghosts(request, goals)], scene, 200)[0, 0],
    )
    rows, columns = np.nonzero((plain != shown).any(-1))
    centers = np.array([(x, y, TABLE_TOP) for x, y, _ in goals])
    centers = project(camera, centers, (200, 200))  # (2, 2) columns and rows
    distance = np.hypot(columns[:, None] - centers[:, 0], rows[:, None] - centers[:, 1])
    assert len(rows) > 50
    assert distance.min(1).max() < 15
    assert (distance.min(0) < 5).all(), "both goals are shown"
    only = with_ghosts(request, [(np.nan, np.nan, np.nan)] * 2)
    only.ghosts[:] = np.nan
    np.testing.assert_array_equal(render([only], scene, 200)[0, 0], plain)


def test_observations_ignore_ghosts_and_the_look_of_videos():
    requests, scene = make_requests(2)
    ghosts = [with_ghosts(request, [(0.0, 0.1, 0.3), (0.1, -0.2, 0.0)]) for request in requests]
    observed = render(requests, scene, renderer=Renderer)
    np.testing.assert_array_equal(render(ghosts, scene, renderer=Renderer), observed)
    model = scene.model.geom_rgba.copy(), scene.model.light_diffuse.copy(), scene.model.geom_size
    presented = render(ghosts, scene)
    assert (presented != observed).mean() > 0.3
    np.testing.assert_array_equal(scene.model.geom_rgba, model[0])
    np.testing.assert_array_equal(scene.model.light_diffuse, model[1])
    np.testing.assert_array_equal(scene.model.geom_size, model[2])
    np.testing.assert_array_equal(render(requests, scene, renderer=Renderer), observed)


@pytest.mark.parametrize("task", ["ThreeCubes", "PushT"])
def test_an_environment_observes_the_same_with_and_without_a_video_of_it(task, make_env):
    def episode(film: bool):
        env = make_env(2, task, obs_type="both", image_size=64, render_mode="rgb_array")
        observation, _ = env.reset(seed=5)
        renderer = VideoRenderer(env, 64, ("hero", "front")) if film else None
        observations = [observation]
        for _ in range(2):
            if renderer is not None:
                assert renderer.render().shape == (2, 2, 64, 64, 3)
                renderer.render_goals()
            observations.append(env.step(np.full((2, 3), 0.3, np.float32))[0])
        if renderer is not None:
            renderer.close()
        return observations, env.render()

    (plain, rendered), (filmed, rendered_too) = episode(False), episode(True)
    for left, right in zip(plain, filmed, strict=True):
        assert all((left[name] == right[name]).all() for name in left)
    np.testing.assert_array_equal(rendered, rendered_too)


@pytest.mark.parametrize("table", [TableSpec(), TableSpec(x=0.8, y=1.2), TableSpec(x=0.3, y=0.4)])
def test_the_hero_camera_shows_the_whole_table_and_the_arm(table, make_env):
    env = make_env(1, "OneCube", variation=f"table={table.x}x{table.y}")
    env.reset(seed=0)
    renderer = VideoRenderer(env, 64)
    (camera,) = renderer._placed_cameras(env.render_requests()[0])
    x, y = table.x / 2, table.y / 2
    points = [(sx * x, sy * y, TABLE_TOP) for sx in (-1, 1) for sy in (-1, 1)]
    points += [robot_base(table), (robot_base(table)[0], 0.0, 1.65)]
    pixels = project(camera, np.array(points), (100, 100))
    assert ((pixels > 0) & (pixels < 100)).all(), pixels


def test_cameras_of_a_video_follow_the_variations_of_the_episode():
    env = TabletopVectorEnv(1, "OneCube", variation="camera.front.x=+0.3")
    env.reset(seed=0)
    renderer = VideoRenderer(env, 32, ("front", "hero"))
    front, hero = renderer._placed_cameras(env.render_requests()[0])
    assert front.position[0] == pytest.approx(CAMERAS["front"].position[0] + 0.3)
    assert hero == resolve_cameras(("hero",))[0]
    assert renderer.names == ["front", "hero"]
    env.close()

"""Ground-plane projection: the inverse of the cameras, one position for all views."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from experiments import observation_spec  # noqa: E402
from jostle.agents.config import TD3Config  # noqa: E402
from jostle.agents.td3 import PixelSensor, TD3Agent  # noqa: E402
from jostle.agents.weights import load_weights, net_tensors  # noqa: E402
from jostle.core.checkpoint import CheckpointError  # noqa: E402
from jostle.core.entities import Entities  # noqa: E402
from jostle.core.errors import BadValueError  # noqa: E402
from jostle.nets.config import FAST_NET, NetConfig  # noqa: E402
from jostle.rollout.table_projection import TableProjection  # noqa: E402
from jostle.scene.cameras import CAMERAS, project, unproject_to_plane  # noqa: E402
from jostle.scene.spec import CUBE_SIDE, TABLE_TOP  # noqa: E402
from jostle.training.observers import make_observer  # noqa: E402
from jostle.zoo.encoders import load_encoder  # noqa: E402

VIEWS = ("front", "side")
TABLE_NET = replace(FAST_NET, table_xy=True)


@pytest.mark.parametrize("name", CAMERAS)
@pytest.mark.parametrize("height", [TABLE_TOP, TABLE_TOP + 0.1])
def test_rays_meet_the_plane_where_the_projected_point_was(name, height, rng):
    positions = rng.uniform(-0.3, 0.3, (20, 2))
    points = np.concatenate((positions, np.full((20, 1), height)), axis=1)
    pixels = project(CAMERAS[name], points, (96, 96))
    unprojected = unproject_to_plane(CAMERAS[name], pixels, height, (96, 96))
    np.testing.assert_allclose(unprojected, positions, atol=1e-9)


def test_rays_above_the_horizon_are_finite_and_clipped():
    values = np.full((1, 1, 1, 9), -1.0, np.float32)  # the upper left corner
    level = replace(CAMERAS["front"], target=(-5.0, 0.0, CAMERAS["front"].position[2]))
    entities = Entities(values, np.ones((1, 1, 1), bool))
    table_xy = TableProjection([level], 128)(entities).values[..., -2:]
    assert np.isfinite(table_xy).all()
    assert (np.abs(table_xy) <= 6).all()


def test_both_views_show_where_cubes_truly_are(make_env):
    env = make_env(6, "ThreeCubes", obs_type="both", autoreset_mode="Disabled")
    observation, _ = env.reset(seed=0)
    sensor = PixelSensor(load_encoder("dlp-6cubes"), VIEWS)
    goal = make_observer(TABLE_NET, env, None, sensor).goal(observation)  # without the arm
    table_xy = 0.1 * goal.values[..., -2:]
    for view in range(2):
        gaps = np.linalg.norm(
            table_xy[:, view, :, None] - observation["desired_goal"][:, None], axis=-1
        )  # (B, K, N)
        gaps[~goal.visible[:, view]] = np.inf
        assert np.median(gaps.min(1)) < 0.005
        assert (gaps.min(1) < CUBE_SIDE / 2).mean() > 0.9


def test_true_state_and_entities_without_positions_are_refused(make_env):
    env = make_env(1, "OneCube", obs_type="both", autoreset_mode="Disabled")
    with pytest.raises(BadValueError, match="this agent reads true state"):
        make_observer(TABLE_NET, env)
    with pytest.raises(BadValueError, match="Only particles have positions"):
        make_observer(TABLE_NET, env, None, PixelSensor(load_encoder("slots-6cubes"), VIEWS))
    with pytest.raises(BadValueError, match="table_xy needs arch 'eit'"):
        NetConfig(table_xy=True)


def random_sets(features: int, seed: int) -> Entities:
    rng = torch.Generator().manual_seed(seed)
    values = torch.randn(5, 2, 6, features, generator=rng)
    return Entities(values, torch.rand(5, 2, 6, generator=rng) < 0.7)


def make_agent(net: NetConfig, features: int, seed: int) -> TD3Agent:
    spec = observation_spec((2, 6, features), (2, 6, features), net.table_xy)
    return TD3Agent(net, TD3Config(), spec, seed)


@pytest.mark.parametrize("embed_mlp", [(), (16,)], ids=["plain", "deeper embedding"])
def test_an_agent_without_table_positions_learns_to_use_them_from_where_it_was(embed_mlp):
    plain = make_agent(FAST_NET, 9, 0)
    grown = make_agent(replace(TABLE_NET, embed_mlp=embed_mlp), 11, 1)
    plain.normalizer.update(random_sets(9, 3))
    load_weights(grown, net_tensors(plain), grow=True)
    state, goal = random_sets(9, 1), random_sets(9, 2)
    wide_state, wide_goal = (
        Entities(torch.cat((sets.values, torch.randn(5, 2, 6, 2)), -1), sets.visible)
        for sets in (state, goal)
    )

    # At first positions on the table change nothing
    before = grown.act(wide_state, wide_goal)
    np.testing.assert_allclose(before, plain.act(state, goal), atol=1e-5)

    # After any change of the weights they do
    for weight in grown.actor.parameters():
        weight.data += 0.02 * torch.randn_like(weight)
    after = grown.act(wide_state, wide_goal)
    shifted = Entities(wide_state.values.clone(), wide_state.visible)
    shifted.values[..., -2:] += torch.randn(5, 2, 6, 2)
    assert np.abs(grown.act(shifted, wide_goal) - after).max() > 1e-3
    assert np.abs(before - after).max() > 1e-3


def test_growing_does_not_hide_that_entities_differ():
    narrow, grown = make_agent(FAST_NET, 7, 0), make_agent(TABLE_NET, 11, 1)
    with pytest.raises(CheckpointError, match="do not fit"):
        load_weights(grown, net_tensors(narrow), grow=True)


def test_positions_on_the_table_are_shared_by_all_views():
    torch.manual_seed(0)
    actor = make_agent(TABLE_NET, 11, 0).actor
    state, goal = random_sets(11, 1), random_sets(11, 2)
    shift = torch.zeros(11)
    shift[-2:] = torch.tensor((0.4, -0.2))
    for name, weight in actor.named_parameters():
        if "embed" in name and "weight" in name:
            weight.data[..., -2:] = 0.0  # positions on the table enter by relative positions only
    moved = [Entities(sets.values + shift, sets.visible) for sets in (state, goal)]
    torch.testing.assert_close(actor(*moved), actor(state, goal), rtol=1e-4, atol=1e-4)
    # The same shift of one view alone changes relative positions
    alone = state.values.clone()
    alone[:, 0, :, -2:] += 0.4
    assert (actor(Entities(alone, state.visible), goal) - actor(state, goal)).abs().max() > 1e-4

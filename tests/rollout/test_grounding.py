"""What cameras see, taken to the table: the inverse of projection, one place for all views."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from jostle.agents.build import Shapes  # noqa: E402
from jostle.agents.saving import load_weights, weights  # noqa: E402
from jostle.agents.td3 import TD3Agent  # noqa: E402
from jostle.core.checkpoint import CheckpointError  # noqa: E402
from jostle.core.entities import Entities  # noqa: E402
from jostle.core.errors import BadValueError  # noqa: E402
from jostle.nets.config import FAST_NET, NetConfig  # noqa: E402
from jostle.presets.catalog import PRESETS  # noqa: E402
from jostle.rollout.grounding import Grounding  # noqa: E402
from jostle.rollout.observer import Sets  # noqa: E402
from jostle.scene.cameras import CAMERAS, onto_plane, project  # noqa: E402
from jostle.scene.spec import CUBE_SIDE, TABLE_TOP  # noqa: E402
from jostle.training.workshop import make_observer  # noqa: E402
from jostle.zoo.encoders import look  # noqa: E402

VIEWS = ("front", "side")
GROUNDED = replace(FAST_NET, ground=True)


@pytest.mark.parametrize("name", CAMERAS)
@pytest.mark.parametrize("height", [TABLE_TOP, TABLE_TOP + 0.1])
def test_rays_meet_the_plane_where_projection_began(name, height, rng):
    places = rng.uniform(-0.3, 0.3, (20, 2))
    points = np.concatenate((places, np.full((20, 1), height)), axis=1)
    pixels = project(CAMERAS[name], points, (96, 96))
    np.testing.assert_allclose(
        onto_plane(CAMERAS[name], pixels, height, (96, 96)), places, atol=1e-9
    )


def test_rays_above_the_horizon_are_finite_and_cut_off():
    values = np.full((1, 1, 1, 9), -1.0, np.float32)  # the uppermost left corner
    level = replace(CAMERAS["front"], target=(-5.0, 0.0, CAMERAS["front"].position[2]))
    told = Grounding([level], 128)(Sets(values, np.ones((1, 1, 1), bool))).values[..., -2:]
    assert np.isfinite(told).all()
    assert (np.abs(told) <= 6).all()


def test_both_views_tell_where_cubes_truly_are(make_env):
    env = make_env(6, "ThreeCubes", obs_type="both", autoreset_mode="Disabled")
    observation, _ = env.reset(seed=0)
    observer = make_observer(GROUNDED, env, None, look("dlp-6cubes"), VIEWS)
    goal = observer.goal(observation)  # pictures of the goal show no arm
    told = 0.1 * goal.values[..., -2:]
    for view in range(2):
        gaps = np.linalg.norm(
            told[:, view, :, None] - observation["desired_goal"][:, None], axis=-1
        )  # (B, K, N)
        gaps[~goal.visible[:, view]] = np.inf
        assert np.median(gaps.min(1)) < 0.005
        assert (gaps.min(1) < CUBE_SIDE / 2).mean() > 0.9


def test_true_state_and_entities_without_places_are_refused(make_env):
    env = make_env(1, "OneCube", obs_type="both", autoreset_mode="Disabled")
    with pytest.raises(BadValueError, match="this sees true state"):
        make_observer(GROUNDED, env, None, None)
    with pytest.raises(BadValueError, match="Only particles have places"):
        make_observer(GROUNDED, env, None, look("slots-6cubes"), VIEWS)
    with pytest.raises(BadValueError, match="ground is for an 'eit' with bearings"):
        NetConfig(ground=True)


def sets(features: int, seed: int) -> Entities:
    rng = torch.Generator().manual_seed(seed)
    values = torch.randn(5, 2, 6, features, generator=rng)
    return Entities(values, torch.rand(5, 2, 6, generator=rng) < 0.7)


def agent(net: NetConfig, features: int, seed: int) -> TD3Agent:
    shape = (2, 6, features)
    return TD3Agent(net, PRESETS["one-cube-pixels"].td3, Shapes(state=shape, goal=shape), seed)


@pytest.mark.parametrize("hidden", [(), (16,)], ids=["plain", "deeper embedding"])
def test_an_agent_without_ground_learns_to_read_it_from_where_it_was(hidden):
    plain, taught = agent(FAST_NET, 9, 0), agent(replace(GROUNDED, embed_hidden=hidden), 11, 1)
    plain.normalizer.update(sets(9, 3))
    load_weights(taught, weights(plain), deepen=True)
    state, goal = sets(9, 1), sets(9, 2)
    wide = [
        Entities(torch.cat((one.values, torch.randn(5, 2, 6, 2)), -1), one.visible)
        for one in (state, goal)
    ]
    np.testing.assert_allclose(taught.act(*wide), plain.act(state, goal), atol=1e-5)
    before = taught.act(*wide)
    for weight in taught.actor.parameters():
        weight.data += 0.02 * torch.randn_like(weight)
    shifted = Entities(wide[0].values.clone(), wide[0].visible)
    shifted.values[..., -2:] += torch.randn(5, 2, 6, 2)
    assert np.abs(taught.act(shifted, wide[1]) - taught.act(*wide)).max() > 1e-3
    assert np.abs(before - taught.act(*wide)).max() > 1e-3


def test_ground_does_not_hide_that_entities_are_others():
    narrow, taught = agent(FAST_NET, 7, 0), agent(GROUNDED, 11, 1)
    with pytest.raises(CheckpointError, match="do not fit"):
        load_weights(taught, weights(narrow), deepen=True)


def test_ground_is_shared_by_all_views():
    torch.manual_seed(0)
    actor = agent(GROUNDED, 11, 0).actor
    state, goal = sets(11, 1), sets(11, 2)
    shift = torch.zeros(11)
    shift[-2:] = torch.tensor((0.4, -0.2))
    moved = [Entities(one.values + shift, one.visible) for one in (state, goal)]
    for name, weight in actor.named_parameters():
        if "embed" in name and "weight" in name:
            weight.data[..., -2:] = 0.0  # only bearings are left to tell places on the table
    torch.testing.assert_close(actor(*moved), actor(state, goal), rtol=1e-4, atol=1e-4)
    # The same shift of one view alone changes what lies where from whom.
    alone = state.values.clone()
    alone[:, 0, :, -2:] += 0.4
    assert (actor(Entities(alone, state.visible), goal) - actor(state, goal)).abs().max() > 1e-4

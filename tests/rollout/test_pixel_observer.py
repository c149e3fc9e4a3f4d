"""Images to entities: nothing but images is read, goals once per episode, missing views empty."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from experiments import small_encoder  # noqa: E402
from jostle.core.errors import BadValueError  # noqa: E402
from jostle.nets.config import FAST_NET  # noqa: E402
from jostle.nets.eit import EITActor  # noqa: E402
from jostle.rollout.pixel_observer import PixelObserver  # noqa: E402

CAMERAS = ("front", "side")


class CountingEncoder:
    """An encoder that counts the scenes it has encoded."""

    def __init__(self) -> None:
        self.model, self.scenes = small_encoder(), 0

    @property
    def shape(self):
        return self.model.shape

    def encode(self, frames):
        self.scenes += len(frames)
        return self.model.encode(frames)


def test_entities_depend_on_images_alone(make_env):
    env = make_env(2, "TwoCubes", obs_type="both", autoreset_mode="Disabled")
    observer = PixelObserver(small_encoder(), CAMERAS)
    observation, _ = env.reset(seed=0)
    without_state = {
        name: array if array.dtype == np.uint8 else np.full_like(array, np.nan)
        for name, array in observation.items()
    }
    for observe in (observer.state, observer.goal):
        entities, again = observe(observation), observe(without_state)
        assert (entities.values == again.values).all()
        assert (entities.visible == again.visible).all()
        assert entities.visible.any()


def test_goals_are_encoded_once_per_episode_and_environment(make_env):
    env = make_env(3, "OneCube", obs_type="both", autoreset_mode="Disabled")
    encoder = CountingEncoder()
    observer = PixelObserver(encoder, CAMERAS)
    observation, _ = env.reset(seed=0)
    first = observer.goal(observation)
    assert encoder.scenes == 3
    observation, *_ = env.step(np.zeros((3, 3), np.float32))
    assert (observer.goal(observation).values == first.values).all()
    assert encoder.scenes == 3
    observation, _ = env.reset(options={"reset_mask": np.array([False, True, False])})
    second = observer.goal(observation)
    assert encoder.scenes == 4
    assert (second.values[[0, 2]] == first.values[[0, 2]]).all()
    uncached = PixelObserver(encoder, CAMERAS).goal(observation)
    np.testing.assert_allclose(second.values, uncached.values, rtol=1e-4, atol=1e-4)


def test_without_any_of_its_cameras_an_agent_says_what_it_needs(make_env):
    env = make_env(1, "OneCube", obs_type="both", cameras=("front",), autoreset_mode="Disabled")
    observation, _ = env.reset(seed=0)
    with pytest.raises(BadValueError, match=r"uses the cameras side, but .* no images 'side'"):
        PixelObserver(small_encoder(), ("side",)).state(observation)


@pytest.mark.parametrize("present", CAMERAS)
def test_a_missing_view_is_an_empty_set_and_the_others_stay(present, make_env):
    env = make_env(3, "TwoCubes", obs_type="both", autoreset_mode="Disabled")
    observer = PixelObserver(small_encoder(), CAMERAS)
    observation, _ = env.reset(seed=0)
    one_view = {
        name: array
        for name, array in observation.items()
        if present in name or array.dtype != np.uint8
    }
    view = CAMERAS.index(present)
    for observe in (observer.state, observer.goal):
        both, alone, again = observe(observation), observe(one_view), observe(observation)
        np.testing.assert_allclose(
            alone.values[:, view], both.values[:, view], rtol=1e-4, atol=1e-4
        )
        assert (alone.visible[:, view] == both.visible[:, view]).all()
        assert not alone.visible[:, 1 - view].any()
        assert (again.values == both.values).all()
    actor = EITActor(FAST_NET, observer.layout, 2, 3)
    state, goal = observer.state(one_view).to_torch(), observer.goal(one_view).to_torch()
    assert torch.isfinite(actor(state, goal)).all()

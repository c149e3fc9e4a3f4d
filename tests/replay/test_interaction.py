"""Interaction sampling: as many samples as asked come from steps at which an object was moved."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from numbered_episodes import (  # noqa: E402
    EPISODE,
    GOAL_SPEC,
    STEP,
    STEPS,
    all_visible,
    make_sampler,
    numbered_episodes,
)

from jostle.core.errors import BadValueError  # noqa: E402
from jostle.presets.axes import Axes  # noqa: E402
from jostle.presets.experiments import make_experiment  # noqa: E402
from jostle.replay.buffer import EpisodeBuffer  # noqa: E402
from jostle.replay.episodes import Trajectory  # noqa: E402
from jostle.replay.interaction import moved_steps  # noqa: E402

EPISODES, MOVED_STEP = 40, 4


def pushed_once() -> EpisodeBuffer:
    """Episodes in which one object moves at one step; in every second one, nothing does."""
    episodes = numbered_episodes(EPISODES)
    start = episodes.achieved[:, :1].repeat(STEPS + 1, axis=1)
    start[::2, MOVED_STEP + 1 :, 1] += 0.05
    states = episodes.actor.states.values.copy()
    states[..., 0, 1:, :2] = start
    buffer = EpisodeBuffer(EPISODES)
    actor = Trajectory(all_visible(states), episodes.actor.goal)
    buffer.add(replace(episodes, achieved=start, actor=actor))
    return buffer


def drawn(buffer: EpisodeBuffer, **options) -> tuple[np.ndarray, np.ndarray]:
    """Episodes and steps of a large batch."""
    state = make_sampler(buffer, **options).sample(4000).actor.state.values[:, 0, 0].numpy()
    return state[:, EPISODE].astype(int), state[:, STEP].astype(int)


def test_steps_that_move_an_object_are_found():
    found = moved_steps(pushed_once().view(), GOAL_SPEC)
    np.testing.assert_array_equal(found, np.arange(0, EPISODES, 2) * STEPS + MOVED_STEP)


@pytest.mark.parametrize("her_ratio", [0.0, 0.8, 1.0])
@pytest.mark.parametrize("fraction", [0.3, 1.0])
def test_the_asked_fraction_comes_from_moving_steps(fraction: float, her_ratio: float):
    episode, step = drawn(pushed_once(), interaction_fraction=fraction, her_ratio=her_ratio)
    moving = (episode % 2 == 0) & (step == MOVED_STEP)
    by_chance = (1 - fraction) * 0.5 / STEPS
    assert fraction <= moving.mean() + 0.03
    assert moving.mean() <= fraction + 2 * by_chance + 0.03


def test_without_the_option_and_without_any_motion_batches_are_as_before():
    still = EpisodeBuffer(EPISODES)
    episodes = numbered_episodes(EPISODES)
    still.add(replace(episodes, achieved=episodes.achieved[:, :1].repeat(STEPS + 1, axis=1)))
    for buffer, fraction in ((pushed_once(), 0.0), (still, 0.5)):
        plain = make_sampler(buffer).sample(500)
        option = make_sampler(buffer, interaction_fraction=fraction).sample(500)
        torch.testing.assert_close(plain.actor.state.values, option.actor.state.values)
        torch.testing.assert_close(plain.reward, option.reward)


def test_hindsight_goals_of_moving_steps_are_later():
    buffer = pushed_once()
    batch = make_sampler(buffer, interaction_fraction=1.0, her_ratio=1.0).sample(1000)
    after = batch.actor.goal.values[:, 0, :, :2].numpy()
    moved = batch.actor.next_state.values[:, 0, 1:, :2].numpy()
    np.testing.assert_allclose(after, moved)  # nothing moves after the one push


def test_from_images_the_places_of_found_objects_decide():
    episodes = pushed_once().view()
    seen = replace(
        episodes,
        achieved=np.full_like(episodes.achieved, np.nan),
        goal_steps=np.ones((EPISODES, STEPS + 1), bool),
    )
    found = moved_steps(seen, GOAL_SPEC)
    np.testing.assert_array_equal(found, np.arange(0, EPISODES, 2) * STEPS + MOVED_STEP)


def test_particles_do_not_say_what_was_moved():
    axes = Axes(obs="pixels", method="td3", reward="table")
    experiment = make_experiment("one-cube", axes)
    with pytest.raises(BadValueError, match="interaction-fraction"):
        replace(experiment, hindsight=replace(experiment.hindsight, interaction_fraction=0.5))

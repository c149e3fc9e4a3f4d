"""Per-object goals from other episodes, and objects that stay: laws of the mixture."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from numbered_episodes import (  # noqa: E402
    EPISODE,
    GOAL_SPEC,
    OBJECTS,
    REWARD,
    STEP,
    buffer_of,
    make_sampler,
    numbered_episodes,
)

from jostle.core.errors import BadValueError  # noqa: E402
from jostle.replay.buffer import EpisodeBuffer  # noqa: E402

MIXED = {"her_ratio": 1.0, "strategy": "per-object"}
SAMPLES = 600


def origins(buffer, batch):
    """Episode and step (B, N) at which each object was where its goal is."""
    achieved = buffer.view().achieved  # (E, T+1, N, 2)
    goal = batch.actor.goal.values[:, 0, :, :2].numpy()  # (B, N, 2)
    match = (achieved[None] == goal[:, None, None]).all(-1)  # (B, E, T+1, N)
    assert (match.sum((1, 2)) == 1).all(), "every goal is a place where this object has been"
    flat = match.reshape(len(goal), -1, OBJECTS).argmax(1)  # (B, N)
    return flat // match.shape[2], flat % match.shape[2]


def own(batch, column):
    """Number of the sample's episode or step, (B, 1)."""
    return batch.actor.state.values[:, 0, :1, column].numpy()


@pytest.mark.parametrize("fraction", [0.0, 0.3, 1.0])
def test_goals_of_other_episodes_have_the_fraction_that_was_asked_for(fraction):
    buffer = buffer_of(20)
    batch = make_sampler(buffer, other_episode_fraction=fraction, **MIXED).sample(SAMPLES)
    episode, _ = origins(buffer, batch)
    share = (episode != own(batch, EPISODE)).mean()
    expected = fraction * 19 / 20  # the other episode may be the same
    # An object that hardly moves takes its goal from elsewhere; overlaps fall back to the own one
    assert abs(share - expected) < (0.1 if fraction else 1e-9)


def test_identities_stay_and_rewards_belong_to_the_mixed_goals():
    buffer = buffer_of(20)
    fractions = {"other_episode_fraction": 0.4, "stay_fraction": 0.3}
    batch = make_sampler(buffer, **fractions, **MIXED).sample(SAMPLES)
    goal = batch.actor.goal.values[:, 0].numpy()
    np.testing.assert_array_equal(goal[..., 4:], np.broadcast_to(np.eye(2), (SAMPLES, 2, 2)))
    achieved = batch.actor.next_state.values[:, 0, 1:, :2].numpy()
    np.testing.assert_array_equal(batch.reward.numpy(), REWARD.total(achieved, goal[..., :2]))


def test_some_objects_stay_but_never_all_of_them():
    buffer = buffer_of(20)
    batch = make_sampler(buffer, stay_fraction=1.0, **MIXED).sample(SAMPLES)
    episode, step = origins(buffer, batch)
    stays = (episode == own(batch, EPISODE)) & (step == own(batch, STEP))  # (B, N)
    assert 0.4 < stays.mean() <= 0.5, "one of two objects, unless goals overlap"
    assert not stays.all(1).any()


def test_where_nothing_moves_one_object_still_gets_another_place():
    episodes, buffer = numbered_episodes(20), EpisodeBuffer(20)
    achieved = np.repeat(episodes.achieved[:, :1], episodes.achieved.shape[1], axis=1)
    episodes.actor.states.values[..., 0, 1:, :2] = achieved
    buffer.add(replace(episodes, achieved=achieved))
    batch = make_sampler(buffer, stay_fraction=0.5, **MIXED).sample(SAMPLES)
    present = batch.actor.state.values[:, 0, 1:, :2].numpy()
    moved = np.linalg.norm(batch.actor.goal.values[:, 0, :, :2].numpy() - present, axis=-1) > 0
    # Left out: another episode that is the same one (1 in 20), and overlapping goals
    assert moved.any(1).mean() > 0.8
    assert not moved.all(1).any()


def test_mixed_goals_lie_on_the_table():
    buffer = buffer_of(20)
    half_size = np.array([0.15, 0.15], np.float32)
    goal_spec = replace(GOAL_SPEC, table_half_size=half_size)
    sampler = make_sampler(buffer, goal_spec, other_episode_fraction=1.0, **MIXED)
    batch = sampler.sample(SAMPLES)
    goal = batch.actor.goal.values[:, 0, :, :2].numpy()
    relabeled = ~(goal == buffer.view().desired[own(batch, EPISODE)[:, 0].astype(int)]).all((1, 2))
    assert relabeled.any()
    assert (np.abs(goal[relabeled]) <= half_size).all()


def test_mixtures_that_make_no_sense_are_refused():
    buffer = buffer_of(2)
    with pytest.raises(BadValueError, match="add up to at most 1"):
        make_sampler(buffer, stay_fraction=0.6, other_episode_fraction=0.6, **MIXED)
    with pytest.raises(BadValueError, match="--strategy per-object"):
        make_sampler(buffer, stay_fraction=0.5)
    for spec in ({"shared": True}, {"whole_sets": True}):
        with pytest.raises(BadValueError, match="need a goal per object"):
            make_sampler(buffer, replace(GOAL_SPEC, **spec), stay_fraction=0.5, **MIXED)

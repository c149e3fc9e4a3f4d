"""Memory: nothing is lost, nothing leaks, hindsight looks only ahead."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from jostle.core.measures import Measure  # noqa: E402
from jostle.replay.hindsight import future, per_object  # noqa: E402
from jostle.replay.ring import EpisodeRing, Episodes  # noqa: E402
from jostle.replay.sampler import (  # noqa: E402
    GoalForm,
    HindsightConfig,
    HindsightSampler,
    Judge,
)

MEASURE = Measure(kind="position", radius=0.04, scale=0.39)
STEPS, OBJECTS, FEATURES = 9, 2, 6
PLACES = np.array([1, 1, 0, 0, 0, 0], np.float32)
FORM = GoalForm(1, np.array([1, 1, 0, 1, 1, 1], np.float32), PLACES)


def episodes(count: int, seed: int = 0) -> Episodes:
    """Episodes whose entities tell their own coordinates, episode number and moment."""
    rng = np.random.default_rng(seed)
    achieved = rng.uniform(-0.2, 0.2, (count, STEPS + 1, OBJECTS, 2)).astype(np.float32)
    states = np.zeros((count, STEPS + 1, 1, 1 + OBJECTS, FEATURES), np.float32)
    states[..., 0, 1:, :2] = achieved
    states[..., 2] = np.arange(STEPS + 1)[None, :, None, None]
    states[..., 3] = np.arange(count)[:, None, None, None] + 100 * seed
    states[..., 0, 1:, 4:] = np.eye(2)
    goals = np.zeros((count, 1, OBJECTS, FEATURES), np.float32)
    goals[..., 4:] = np.eye(2)
    desired = rng.uniform(-0.2, 0.2, (count, OBJECTS, 2)).astype(np.float32)
    goals[:, 0, :, :2] = desired
    return Episodes(
        states, np.ones(states.shape[:-1], bool), goals, np.ones(goals.shape[:-1], bool),
        achieved, desired, rng.uniform(-1, 1, (count, STEPS, 3)).astype(np.float32),
    )  # fmt: skip


def sampler(
    ring: EpisodeRing, form: GoalForm = FORM, gamma=0.9, stays=False, **options
) -> HindsightSampler:
    config, rng = HindsightConfig(**options), np.random.default_rng(3)
    return HindsightSampler(ring, Judge(MEASURE.reward, gamma, stays), form, config, rng)


def test_the_ring_keeps_the_newest_and_samples_every_slot():
    ring = EpisodeRing(5)
    for seed in range(4):
        ring.add(episodes(2, seed))
    held = ring.view()
    assert len(held) == 5
    names = set(held.states[:, 0, 0, 0, 3])
    assert names == {101.0, 200.0, 201.0, 300.0, 301.0}
    batch = sampler(ring).sample(500)
    assert set(batch.state.values[:, 0, 0, 3].tolist()) == names


def test_every_reward_is_that_of_its_own_goal_and_no_other():
    ring = EpisodeRing(3)
    ring.add(episodes(3))
    held = ring.view()
    batch = sampler(ring).sample(2000)  # many times each transition: nothing may leak
    achieved = batch.next_state.values[:, 0, 1:, :2].numpy()
    desired = batch.goal.values[:, 0, :, :2].numpy()
    np.testing.assert_array_equal(batch.reward.numpy(), MEASURE.reward(achieved, desired))
    np.testing.assert_array_equal(ring.view().desired, held.desired)


def test_n_steps_add_up_discounted_and_stop_at_the_end_of_the_episode():
    ring = EpisodeRing(3)
    ring.add(episodes(3))
    held = ring.view()
    batch = sampler(ring, gamma=0.9, n_step=3).sample(300)
    assert len(batch.discount.unique()) == 3
    for row in range(300):
        episode, step = (int(batch.state.values[row, 0, 0, c]) for c in (3, 2))
        later = int(batch.next_state.values[row, 0, 0, 2])
        assert later == min(step + 3, STEPS)
        goal = batch.goal.values[row, 0, :, :2].numpy()[None]
        parts = [
            0.9**k * MEASURE.reward(held.achieved[episode, step + 1 + k][None], goal)[0]
            for k in range(later - step)
        ]
        np.testing.assert_allclose(batch.reward[row], sum(parts), rtol=1e-5)
        np.testing.assert_allclose(batch.discount[row], 0.9 ** (later - step), rtol=1e-5)


@pytest.mark.parametrize("n_step", [1, 3])
def test_staying_is_worth_the_same_reward_for_ever(n_step):
    ring = EpisodeRing(3)
    ring.add(episodes(3))
    assert sampler(ring).sample(5).staying is None
    batch = sampler(ring, gamma=0.9, stays=True, n_step=n_step).sample(200)
    desired = batch.goal.values[:, 0, :, :2].numpy()
    for worth, end in zip(batch.staying, (batch.state, batch.next_state), strict=True):
        reward = MEASURE.reward(end.values[:, 0, 1:, :2].numpy(), desired)
        np.testing.assert_allclose(worth.numpy(), reward / (1 - 0.9), rtol=1e-5)


def test_hindsight_takes_later_moments_of_the_same_episode():
    ring = EpisodeRing(4)
    ring.add(episodes(4))
    held = ring.view()
    batch = sampler(ring, share=1.0).sample(800)
    for row in range(800):
        episode = int(batch.state.values[row, 0, 0, 3])
        step = int(batch.state.values[row, 0, 0, 2])
        goal = batch.goal.values[row, 0, :, :2].numpy()
        match = (held.achieved[episode] == goal).all((1, 2))
        assert match.sum() == 1
        assert step < int(match.argmax()) < STEPS
        assert (batch.goal.values[row, 0, :, 2] == 0).all(), (
            "goals leave columns of no concern blank"
        )


def test_without_hindsight_goals_are_the_ones_that_were_asked_for():
    ring = EpisodeRing(4)
    ring.add(episodes(4))
    batch = sampler(ring, share=0.0).sample(200)
    rows = batch.state.values[:, 0, 0, 3].long().numpy()
    np.testing.assert_array_equal(batch.goal.values[:, 0, :, :2].numpy(), ring.view().desired[rows])


def test_per_object_hindsight_gives_each_object_a_moment_of_its_own():
    ring = EpisodeRing(4)
    ring.add(episodes(4))
    held = ring.view()
    batch = sampler(ring, share=1.0, strategy="per-object").sample(500)
    apart = 0
    for row in range(500):
        episode, step = (int(batch.state.values[row, 0, 0, c]) for c in (3, 2))
        goal = batch.goal.values[row, 0, :, :2].numpy()
        moments = [(held.achieved[episode, :, n] == goal[n]).all(-1).argmax() for n in range(2)]
        assert min(moments) > step
        apart += moments[0] != moments[1]
        if moments[0] != moments[1]:
            assert np.linalg.norm(goal[0] - goal[1]) >= 0.035
    assert apart > 200


def test_blocks_that_share_a_goal_are_relabeled_with_one_blocks_heading():
    ring = EpisodeRing(4)
    ring.add(episodes(4))
    form = GoalForm(1, FORM.columns, PLACES, shared=True)
    batch = sampler(ring, form=form, share=1.0).sample(300)
    goal = batch.goal.values[:, 0].numpy()
    np.testing.assert_array_equal(goal[:, 0, :2], goal[:, 1, :2])
    np.testing.assert_array_equal(goal[:, :, 4:], np.broadcast_to(np.eye(2), (300, 2, 2)))


def test_future_moments_are_uniform_and_in_range():
    step = np.full(20_000, 3)
    found = future(step, np.full_like(step, 7), np.random.default_rng(0))
    assert set(found) == {4, 5, 6, 7}
    np.testing.assert_allclose(np.bincount(found)[4:] / 20_000, 0.25, atol=0.02)


def test_crowded_goals_fall_back_to_one_moment():
    paths = np.zeros((50, 10, 2, 2), np.float32)
    moments = per_object(np.zeros(50, int), np.full(50, 8), paths, 0.035, np.random.default_rng(0))
    assert (moments[:, 0] == moments[:, 1]).all()


def test_a_ring_survives_saving():
    ring = EpisodeRing(5)
    for seed in range(3):
        ring.add(episodes(2, seed))
    again = EpisodeRing(5)
    again.restore(*ring.export())
    for one in (ring, again):
        one.add(episodes(2, 9))
    for name, values in vars(ring.view()).items():
        np.testing.assert_array_equal(values, getattr(again.view(), name))
    assert ring.bytes_per_transition < 400


def test_episodes_of_another_layout_are_refused():
    ring = EpisodeRing(5)
    ring.add(episodes(2))
    wrong = episodes(2)
    with pytest.raises(ValueError, match="one layout"):
        ring.add(Episodes(**{**vars(wrong), "actions": wrong.actions[:, :3]}))


def test_episodes_that_bring_more_or_less_than_memory_holds_are_refused_and_nothing_is_lost():
    ring = EpisodeRing(5)
    ring.add(episodes(2))
    more = Episodes(**{**vars(episodes(2, 1)), "looks": np.zeros((2, OBJECTS), np.int64)})
    with pytest.raises(ValueError, match=r"Only they have: looks.*--from RUN"):
        ring.add(more)
    assert ring.size == 2
    other = EpisodeRing(5)
    other.add(more)
    with pytest.raises(ValueError, match="Only memory has: looks"):
        other.add(episodes(2))


@pytest.mark.parametrize("every", [1, 2, 4, 9])
def test_goals_of_hindsight_can_be_pictures_taken_on_the_way(every):
    ring, drawn = EpisodeRing(3), episodes(3)
    drawn = replace(drawn, goals=drawn.states[:, 0], goals_visible=drawn.visible[:, 0])
    taken = np.arange(every, STEPS + 1, every)
    pictures = -drawn.states[:, taken]  # no state looks like this
    ring.add(replace(drawn, photos=pictures, photos_visible=np.ones(pictures.shape[:-1], bool)))
    whole = GoalForm(0, np.ones(FEATURES, np.float32), np.ones(FEATURES, np.float32))
    batch = sampler(ring, form=whole, photos=every, share=1.0).sample(400)
    moments = -batch.goal.values[:, 0, 0, 2]
    assert set(moments.int().tolist()) == set(taken.tolist())
    assert (moments > batch.state.values[:, 0, 0, 2]).all()
    assert (-batch.goal.values[:, 0, 0, 3] == batch.state.values[:, 0, 0, 3]).all()
    achieved = batch.next_state.values[:, 0, 1:, :2].numpy()
    shown = -batch.goal.values[:, 0, 1:, :2].numpy()
    np.testing.assert_array_equal(batch.reward.numpy(), MEASURE.reward(achieved, shown))


@pytest.mark.parametrize("photos", [0, 2])
@pytest.mark.parametrize("strategy", ["future", "per-object"])
def test_goals_of_hindsight_lie_on_the_table_if_asked_to(photos, strategy):
    ring, drawn = EpisodeRing(4), episodes(4)
    fall = np.array([STEPS + 1, 5, 2, 1])  # never, late, early, at once: nothing to ask for
    for one, moment in enumerate(fall):
        drawn.achieved[one, moment:, 0, 0] = 0.3
    drawn.states[..., 0, 1:, :2] = drawn.achieved
    form = replace(FORM, edge=np.array([0.25, 0.3], np.float32))
    if photos:
        goals, seen, desired = drawn.states[:, 0], drawn.visible[:, 0], drawn.achieved[:, 0]
        drawn = replace(drawn, goals=goals, goals_visible=seen, desired=desired)
        pictures = drawn.states[:, photos::photos]
        seen = np.ones(pictures.shape[:-1], bool)
        drawn = replace(drawn, photos=pictures, photos_visible=seen)
        form = replace(form, first=0)
    ring.add(drawn)
    batch = sampler(ring, form, photos=photos, strategy=strategy, share=1.0).sample(800)

    asked = batch.goal.values[:, 0, -OBJECTS:, :2].numpy()
    assert (np.abs(asked) <= form.edge).all()
    of = batch.state.values[:, 0, 0, 3].numpy().astype(int)
    moment = batch.state.values[:, 0, 0, 2].numpy()
    kept = (asked == drawn.goals[of, 0, -OBJECTS:, :2]).all((1, 2))
    assert kept[of == 3].all()
    hopeful = ~kept
    assert hopeful[of == 0].all()
    assert (moment[hopeful] < fall[of[hopeful]] - 1).all()
    achieved = batch.next_state.values[:, 0, 1:, :2].numpy()
    np.testing.assert_array_equal(batch.reward.numpy(), MEASURE.reward(achieved, asked))

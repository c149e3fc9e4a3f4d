"""Edits of an episode: what they change, what they leave alone, and what they refuse."""

import numpy as np
import pytest
from gymnasium.utils.seeding import np_random

from jostle.core.errors import BadValueError, ImpossibleSceneError
from jostle.envs.options import EnvOptions
from jostle.playground import edits
from jostle.playground.footprints import PLAY_COLORS, check_place, color_name, placed
from jostle.scene.spec import ObjectSpec, SceneSpec
from jostle.tasks.catalog import TASKS


def sampled(task, **options):
    return EnvOptions(**options).episode_sampler(task, {}).sample(np_random(0)[0])


def test_a_moved_goal_changes_this_goal_and_nothing_else():
    episode = sampled("ThreeCubes")
    moved = edits.move_goal(episode, 1, -0.1, 0.12, 0.0)
    np.testing.assert_array_equal(moved.goal[1], (-0.1, 0.12, 0.0))
    np.testing.assert_array_equal(moved.goal[[0, 2]], episode.goal[[0, 2]])
    np.testing.assert_array_equal(moved.start, episode.start)
    assert (moved.scene, moved.appearance) == (episode.scene, episode.appearance)
    back = edits.move_goal(moved, 1, *episode.goal[1])
    assert back.to_json() == episode.to_json()


@pytest.mark.parametrize("task", ["PushT", "Sorting"])
def test_objects_that_share_a_goal_get_it_moved_together(task):
    episode = sampled(task, objects=2 if task == "PushT" else 12)
    sharing = (episode.goal == episode.goal_view[0]).all(-1)
    moved = edits.move_goal(episode, 0, 0.02, 0.01, 0.5)
    assert sharing.sum() > 1
    assert (moved.goal[sharing] == (0.02, 0.01, 0.5)).all()
    np.testing.assert_array_equal(moved.goal[~sharing], episode.goal[~sharing])


@pytest.mark.parametrize(
    ("x", "y", "why"), [(0.24, 0.0, "on the table"), (0.0, 9.0, "on the table")]
)
def test_goals_beside_the_table_are_refused(x, y, why):
    with pytest.raises(ImpossibleSceneError, match=why):
        edits.move_goal(sampled("ThreeCubes"), 0, x, y, 0.0)


def test_goals_that_overlap_or_lie_in_walls_are_refused():
    episode = sampled("ThreeCubes")
    near = episode.goal[1] + (0.02, 0.01, 0.0)
    with pytest.raises(ImpossibleSceneError, match="overlap that of the green"):
        edits.move_goal(episode, 0, *near)
    with pytest.raises(ImpossibleSceneError, match="wall"):
        edits.move_goal(sampled("OrderedPush"), 0, 0.18, 0.07, 0.0)


def test_refusals_do_not_depend_on_which_of_two_objects_was_moved(rng):
    scene = SceneSpec(objects=(ObjectSpec(shape="tee"), ObjectSpec()), parts=5)
    colors = tuple(PLAY_COLORS.values())[:2]

    def refused(poses, slot):
        try:
            check_place(scene, colors, poses, slot, "goal")
        except ImpossibleSceneError as error:
            return "overlap" in str(error)
        return False

    answers = []
    for _ in range(200):
        poses = np.column_stack((rng.uniform(-0.1, 0.1, (2, 2)), rng.uniform(-3, 3, 2)))
        answers.append(refused(poses, 0))
        assert answers[-1] == refused(poses, 1)
    assert 10 < sum(answers) < 190


def test_outlines_turn_with_their_object():
    straight, turned = (placed(ObjectSpec(shape="tee"), (0.1, 0.2, yaw)) for yaw in (0.0, np.pi))
    for first, second in zip(straight, turned, strict=True):
        np.testing.assert_allclose(first + second, np.broadcast_to((0.2, 0.4), (4, 2)), atol=1e-12)


def test_colors_change_in_groups_and_have_names():
    episode = sampled("Sorting")
    changed = edits.recolor(episode, TASKS["Sorting"], 4, "pink").appearance.colors
    assert [color_name(color) for color in changed[:4]] == ["red", "pink", "blue", "red"]
    with pytest.raises(BadValueError, match="no color 'mauve'"):
        edits.recolor(episode, TASKS["Sorting"], 0, "mauve")


@pytest.mark.parametrize("task", ["NCubes", "PushT"])
def test_removing_what_was_added_gives_the_episode_back(task, rng):
    episode = sampled(task, objects=1)
    grown = edits.add_object(episode, TASKS[task], episode.start, rng)
    assert len(grown.scene.objects) == 2
    assert not np.isnan(grown.goal[1]).any()
    shrunk = edits.remove_object(grown, TASKS[task], grown.start, 1)
    assert shrunk.to_json() == episode.to_json()


def test_the_number_of_objects_stays_between_one_and_twelve(rng):
    task, episode = TASKS["NCubes"], sampled("NCubes", objects=1)
    with pytest.raises(BadValueError, match="One object must stay"):
        edits.remove_object(episode, task, episode.start, 0)
    while len(episode.scene.objects) < 12:
        episode = edits.add_object(episode, task, episode.start, rng)
    assert len(set(episode.appearance.colors)) == 12
    with pytest.raises(BadValueError, match="at most 12"):
        edits.add_object(episode, task, episode.start, rng)

"""What an agent finds, drawn over frames of any size."""

import numpy as np
import pytest

pytest.importorskip("torch")

from jostle.reports.overlays import Found, marked, with_goal, with_state

SIDE, PLACE = 64, (255, 140, 0)
VIEWS = {name: np.full((96, 96, 3), 255, np.uint8) for name in ("front", "side")}
GOALS = {name: np.full((96, 96, 3), 200, np.uint8) for name in ("front", "side")}


def found(weights=None) -> Found:
    """Three entities in the first view, of which the last is hidden; none in the second."""
    places = np.array([[(16.0, 16.0), (40.0, 48.0), (50.0, 10.0)]] * 2)
    visible = np.array([(True, True, False), (False, False, False)])
    return Found(places, np.full((2, 3, 2), 6.0), visible, weights, SIDE)


def around(picture: np.ndarray, place, reach: float = 10.0) -> np.ndarray:
    """The surroundings of a place of the agent's frames."""
    by = len(picture) / SIDE
    top, left = (np.array(place) + 0.5 - reach) * by
    side = int(2 * reach * by)
    return picture[int(top) : int(top) + side, int(left) : int(left) + side]


@pytest.mark.parametrize("size", [64, 96, 200, 256])
def test_marks_are_where_the_agent_found_something_whatever_the_size_of_the_film(size):
    blank = np.full((size, size, 3), 255, np.uint8)
    picture = marked(blank, found(), 0)
    assert picture.shape == blank.shape
    for at, drawn in enumerate((True, True, False)):
        part = around(picture, found().places[0, at])
        assert (part != 255).any() == drawn, at
        if drawn:
            rows, columns = np.nonzero((part == PLACE).all(-1))
            middle = np.array((rows.mean(), columns.mean())) + 0.5
            np.testing.assert_allclose(middle, len(part) / 2, atol=1 + size / SIDE / 2)
    assert (marked(blank, found(), 1) == 255).all(), "nothing is visible there"
    assert (blank == 255).all(), "the frame itself stays as it was"


def test_the_entity_with_more_weight_has_the_thicker_box():
    weights = np.array([(0.8, 0.2, 0.0), (0.0, 0.0, 0.0)], np.float32)
    blank = np.full((256, 256, 3), 255, np.uint8)
    picture = marked(blank, found(weights), 0)
    much, little = ((around(picture, found().places[0, at]) != 255).any(-1).sum() for at in (0, 1))
    assert much > 1.5 * little
    alike = marked(blank, found(np.full((2, 3), 1 / 2, np.float32)), 0)
    one, two = ((around(alike, found().places[0, at]) != 255).any(-1).sum() for at in (0, 1))
    assert one == two


def test_no_weight_at_all_can_be_drawn():
    assert marked(VIEWS["front"], found(np.zeros((2, 3), np.float32)), 0).shape == (96, 96, 3)


def test_layouts_show_all_views_and_goals_over_a_line_of_text():
    state = with_state(VIEWS, GOALS, found(), "to the goal: 12 mm")
    assert state.shape[1] == 2 * 96 + 96 // 2 + 2 * 4
    goal = with_goal(VIEWS, GOALS, found(), "to the goal: 12 mm")
    assert goal.shape[1] == 4 * 96 + 3 * 4
    for picture in (state, goal):
        assert (picture[-20:] < 128).any()
        assert (with_state(VIEWS, GOALS, found(), "to the goal: 9 mm") != state).any()


def test_layouts_take_any_number_of_views_and_odd_sizes():
    names = ("a", "b", "c")
    views = {name: np.full((97, 97, 3), 255, np.uint8) for name in names}
    three = Found(np.ones((3, 1, 2)), np.ones((3, 1, 2)), np.ones((3, 1), bool), None, SIDE)
    assert with_state(views, views, three, "").shape[1] == 3 * 97 + 97 // 3 + 3 * 4
    one = Found(np.ones((1, 1, 2)), np.ones((1, 1, 2)), np.ones((1, 1), bool), None, SIDE)
    alone = {"a": views["a"]}
    assert with_state(alone, alone, one, "").shape[1] == 2 * 97 + 4

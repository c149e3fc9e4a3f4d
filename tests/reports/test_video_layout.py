"""Layout of videos and contact sheets."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("PIL")

from jostle.reports.video_layout import Panel, draw_frame, draw_frames, draw_sheet

SIDE = 160
COLORS = ((0.6, 0.1, 0.0), (0.0, 0.6, 0.1), (0.0, 0.1, 0.8))


def panel(steps=3, objects=3, **changes) -> Panel:
    distances = np.full((steps + 1, objects), 120.0, np.float32)
    view = np.full((steps + 1, SIDE, SIDE, 3), 200, np.uint8)
    made = Panel(
        "agent", {"hero": view}, distances, np.zeros((steps + 1, objects), bool),
        (COLORS * objects)[:objects], "mm",
    )  # fmt: skip
    return replace(made, **changes)


def count(image, color):
    """Pixels that have exactly this color."""
    return (image == [round(255 * part) for part in color]).all(-1).sum()


def split(frame):
    """Lines above the views, and below them."""
    rows = np.flatnonzero((frame == 200).all(-1).mean(1) > 0.5)
    return frame[: rows[0]], frame[rows[-1] + 1 :]


def test_views_are_between_the_title_and_the_distances():
    frame = draw_frame([panel()], 0)
    above, below = split(frame)
    assert len(frame) == len(above) + SIDE + len(below)
    assert (above > 200).any(), "the name of the agent"
    other = draw_frame([panel(title="rival")], 0)
    assert (split(other)[0] != above).any()
    np.testing.assert_array_equal(split(other)[1], below)
    assert (split(draw_frame([panel()], 1))[0] != above).any(), "the step"


def test_each_distance_has_the_color_of_its_object():
    shown = panel()
    reached = shown.reached.copy()
    reached[:, 1] = True
    below = split(draw_frame([replace(shown, reached=reached)], 0))[1]
    assert [count(below, color) > 20 for color in COLORS] == [False, True, False]
    nearer = shown.distances.copy()
    nearer[0, 2] = 7
    left, right = (
        split(draw_frame([replace(shown, distances=values)], 0))[1]
        for values in (shown.distances, nearer)
    )
    columns = np.flatnonzero((left != right).any(-1).any(0))
    assert columns.min() > SIDE / 3, "only the number of the last object changes"


def test_success_is_shown_when_all_objects_are_at_their_goals():
    shown = panel()
    some = shown.reached.copy()
    some[1, :2] = True
    every = np.ones_like(some)
    frames = [
        draw_frame([replace(shown, reached=reached)], 1) for reached in (shown.reached, some, every)
    ]
    none, partly, success = (split(frame)[0] for frame in frames)
    np.testing.assert_array_equal(none, partly)
    assert (success != none).any()


@pytest.mark.parametrize("objects", [1, 6, 12])
@pytest.mark.parametrize("side", [24, 160, 401])
def test_any_number_of_objects_and_any_size_fits(objects, side):
    view = np.full((2, side, side, 3), 200, np.uint8)
    reached = np.ones((2, objects), bool)
    shown = panel(1, objects, views={"hero": view}, reached=reached)
    frame = draw_frame([shown], 0)
    assert frame.shape[1] == side
    if side > 100:
        below = split(frame)[1]
        for color in set(shown.colors):
            expected = [index for index in range(objects) if shown.colors[index] == color]
            assert count(below, color) > 20 * len(expected), "every object has its square"


def test_panels_are_side_by_side_and_as_high_as_the_highest():
    few, many = panel(objects=1), panel(objects=12, title="rival")
    frame = draw_frame([few, many], 2)
    alone = [draw_frame([shown], 2) for shown in (few, many)]
    assert len(alone[1]) > len(alone[0])
    assert frame.shape == (len(alone[1]), alone[0].shape[1] + alone[1].shape[1] + 4, 3)
    np.testing.assert_array_equal(frame[: len(alone[0]), : alone[0].shape[1]], alone[0])
    np.testing.assert_array_equal(frame[:, -alone[1].shape[1] :], alone[1])


def test_what_is_beside_the_views_changes_with_the_steps():
    beside = [np.full((SIDE, 50, 3), 10 * step, np.uint8) for step in range(4)]
    frames = draw_frames([panel(beside=beside)])
    assert len(frames) == 4
    above, _ = split(draw_frame([panel()], 0))
    for step, frame in enumerate(frames):
        assert frame.shape[1] == SIDE + 4 + 50
        assert (frame[len(above) : len(above) + SIDE, -50:] == 10 * step).all()


@pytest.mark.parametrize("length", [1, 3, 30])
def test_a_contact_sheet_shows_the_goal_once(length):
    goal = {"hero": np.full((SIDE, SIDE, 3), (1, 2, 3), np.uint8)}
    frames = draw_frames([panel(length - 1)])
    sheet = draw_sheet(frames, goal)
    assert 0.8 * SIDE**2 < (sheet == (1, 2, 3)).all(-1).sum() <= SIDE**2
    assert (sheet == 200).all(-1).sum() == min(length, 8) * SIDE**2

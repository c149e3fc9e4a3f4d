"""Detections drawn over frames of any size."""

from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("torch")

from jostle.reports.overlays import FrameDetections, detections_column, draw_overlay

SIDE, CENTER_COLOR = 64, (255, 140, 0)


def detections(weights=None) -> FrameDetections:
    """Three entities in the first view, of which the last is hidden; none in the second."""
    positions = np.array([[(16.0, 16.0), (40.0, 48.0), (50.0, 10.0)]] * 2)
    visible = np.array([(True, True, False), (False, False, False)])
    return FrameDetections(positions, np.full((2, 3, 2), 6.0), visible, weights, SIDE)


def crop(image: np.ndarray, position, half: float = 10.0) -> np.ndarray:
    """The square around a position in the agent's frames."""
    factor = len(image) / SIDE
    top, left = (np.array(position) + 0.5 - half) * factor
    side = int(2 * half * factor)
    return image[int(top) : int(top) + side, int(left) : int(left) + side]


def count_drawn(image: np.ndarray, index: int) -> int:
    """Pixels that were drawn around an entity of the first view."""
    return (crop(image, detections().positions[0, index]) != 255).any(-1).sum()


@pytest.mark.parametrize("size", [64, 96, 200, 256])
def test_overlays_are_at_the_detections_in_any_size_of_video(size):
    blank = np.full((size, size, 3), 255, np.uint8)
    image = draw_overlay(blank, detections(), 0)
    assert image.shape == blank.shape
    for index, visible in enumerate((True, True, False)):
        part = crop(image, detections().positions[0, index])
        assert (part != 255).any() == visible, index
        if visible:
            rows, columns = np.nonzero((part == CENTER_COLOR).all(-1))
            center = np.array((rows.mean(), columns.mean())) + 0.5
            np.testing.assert_allclose(center, len(part) / 2, atol=1 + size / SIDE / 2)
    assert (draw_overlay(blank, detections(), 1) == 255).all(), "nothing is visible there"
    assert (blank == 255).all(), "the frame itself is unchanged"


def test_larger_weights_have_thicker_boxes():
    weights = np.array([(0.8, 0.2, 0.0), (0.0, 0.0, 0.0)], np.float32)
    blank = np.full((256, 256, 3), 255, np.uint8)
    image = draw_overlay(blank, detections(weights), 0)
    large, small = (count_drawn(image, index) for index in (0, 1))
    assert large > 1.5 * small
    equal = draw_overlay(blank, detections(np.full((2, 3), 1 / 2, np.float32)), 0)
    assert count_drawn(equal, 0) == count_drawn(equal, 1)


def test_zero_weights_can_be_drawn():
    image = draw_overlay(
        np.full((96, 96, 3), 255, np.uint8), detections(np.zeros((2, 3), np.float32)), 0
    )
    assert image.shape == (96, 96, 3)


@pytest.mark.parametrize("views", [1, 2, 3])
@pytest.mark.parametrize("height", [97, 256])
def test_the_frames_of_an_agent_are_below_each_other(views, height):
    frames = np.full((views, SIDE, SIDE, 3), 255, np.uint8)
    one = np.full((views, 1, 2), 40.0)
    detected = FrameDetections(one, one / 8, np.ones((views, 1), bool), None, SIDE)
    names = ["front", "side", "top"][:views]
    column = detections_column(frames, detected, height, names)
    assert column.shape == (height, height // views, 3)
    ends = np.linspace(0, height, views + 1).astype(int)
    for top, bottom in pairwise(ends):
        assert (column[top:bottom] == CENTER_COLOR).all(-1).any(), "each view has its detection"

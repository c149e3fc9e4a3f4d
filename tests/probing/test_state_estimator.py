"""Positions on the table, estimated from frames."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch")

from painted import ARM, OBJECTS, PALETTE, Perfect, PerfectSlots, PerfectVector, paint

from jostle.core.errors import BadValueError, FramesError
from jostle.frames.reader import Frames
from jostle.frames.truth import Truth
from jostle.probing.state_estimator import fit_state_estimator
from jostle.probing.view_agreement import agree_on_entities

EPISODES = 60
"""Enough to fit maps on one half of them."""
MM = 1e-3


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return paint(tmp_path_factory.mktemp("plain") / "frames", EPISODES)


@pytest.fixture(scope="module")
def occluded(tmp_path_factory):
    return paint(tmp_path_factory.mktemp("occluded") / "frames", EPISODES, occluded=True)


def estimate_all(estimator, folder):
    """Estimated and true positions in all scenes of a folder, (S, N, 2) each."""
    frames, truth = Frames(folder), Truth(folder).batch(np.arange(EPISODES * 4))
    estimated = estimator.estimate(frames.batch(np.arange(len(frames))), truth.rgb)
    return estimated, truth.positions[:, :, :2]


@pytest.mark.parametrize("kind", [Perfect, PerfectSlots])
def test_perfect_detections_give_true_positions(plain, kind):
    estimator, errors = fit_state_estimator(kind(plain), plain)
    estimated, true = estimate_all(estimator, plain)
    np.testing.assert_allclose(estimated, true, atol=0.1 * MM)
    assert errors.detected == 1.0
    assert errors.median_cm < errors.p95_cm < 0.01
    assert estimator.height == 0.0


def test_an_object_occluded_in_one_view_is_estimated_from_the_other(occluded):
    estimator, errors = fit_state_estimator(Perfect(occluded), occluded)
    estimated, true = estimate_all(estimator, occluded)
    np.testing.assert_allclose(estimated, true, atol=0.1 * MM)
    assert errors.detected == 1.0


def test_objects_without_detection_are_not_estimated(plain):
    model = Perfect(plain)
    estimator, _ = fit_state_estimator(model, plain)
    model.visible[:, :, 1] = False
    estimated, _ = estimate_all(estimator, plain)
    assert np.isnan(estimated[:, 1]).all()
    assert not np.isnan(estimated[:, [0, 2]]).any()


def test_the_order_of_entities_does_not_matter(plain, rng):
    model = Perfect(plain)
    estimator, _ = fit_state_estimator(model, plain)
    estimated, _ = estimate_all(estimator, plain)
    order = rng.permutation(model.visible.shape[2])
    model.positions, model.visible, model.features = (
        array[:, :, order] for array in (model.positions, model.visible, model.features)
    )
    np.testing.assert_allclose(estimate_all(estimator, plain)[0], estimated)


def test_objects_are_identified_by_their_color_alone(plain):
    estimator, _ = fit_state_estimator(Perfect(plain), plain)
    frames, truth = Frames(plain), Truth(plain).batch([0])
    estimated = estimator.estimate(frames.batch([0]), truth.rgb)
    reversed_ = estimator.estimate(frames.batch([0]), truth.rgb[:, ::-1])
    np.testing.assert_allclose(reversed_, estimated[:, ::-1])


def test_the_arm_is_not_taken_for_an_object(plain):
    model = Perfect(plain)
    model.positions[:, :, OBJECTS:] = (30.0, ARM + 2.0)
    model.visible[:, :, OBJECTS:] = True  # without any features
    estimator, errors = fit_state_estimator(model, plain)
    estimated, true = estimate_all(estimator, plain)
    np.testing.assert_allclose(estimated, true, atol=0.1 * MM)
    assert errors.detected == 1.0


def test_agreement_of_views_outweighs_a_likelier_entity():
    positions = np.array([[[[0.0, 0.0], [0.3, 0.3]], [[0.3, 0.3], [0.9, 0.9]]]])  # (1, V, K, 2)
    log_prob = np.log([[[[0.95, 0.9], [0.9, 0.01]]]])  # (1, N, V, K)
    entity, detected = agree_on_entities(log_prob, positions, tolerance=0.01)
    assert entity.tolist() == [[[1, 0]]]
    assert detected.all()


def test_of_views_that_disagree_the_likelier_one_is_kept():
    positions = np.array([[[[0.0, 0.0]], [[0.3, 0.3]]]])
    log_prob = np.log([[[[0.7], [0.9]]]])
    entity, detected = agree_on_entities(log_prob, positions, tolerance=0.01)
    assert detected.tolist() == [[[False, True]]]
    assert entity[0, 0, 1] == 0


def test_unknown_and_ambiguous_colors_are_refused(plain):
    estimator, _ = fit_state_estimator(Perfect(plain), plain)
    frames, colors = Frames(plain).batch([0]), np.array([[PALETTE[0], (0.5, 0.0, 0.5)]], np.float32)
    with pytest.raises(BadValueError, match=r"color purple, only with red, green, blue, yellow"):
        estimator.estimate(frames, colors)
    with pytest.raises(BadValueError, match="same color"):
        estimator.estimate(frames, colors[:, [0, 0]])
    restricted = replace(estimator, palette=estimator.palette[:1])
    with pytest.raises(BadValueError, match="only with red"):
        restricted.estimate(frames, np.array([[PALETTE[1]]], np.float32))


def test_vectors_and_folders_with_too_few_positions_are_refused(plain, tmp_path):
    with pytest.raises(BadValueError, match="are vectors, which have no positions"):
        fit_state_estimator(PerfectVector(plain), plain)
    small = paint(tmp_path / "small", 2)
    with pytest.raises(BadValueError, match="Too few different positions"):
        fit_state_estimator(Perfect(small), small)
    with pytest.raises(FramesError, match="no such folder"):
        fit_state_estimator(Perfect(plain), tmp_path / "nowhere")

"""Motion distinguishes objects from the arm; the classifier is saved, and knows its encoder."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from found_objects import ARM, COLORS, by_sum  # noqa: E402
from jostle.core.errors import BadValueError, CheckpointError  # noqa: E402
from jostle.core.object_classifier import load_classifier, save_classifier  # noqa: E402
from jostle.probing.motion_labels import OBJECT, OTHER, consistent, motion_labels  # noqa: E402
from jostle.probing.object_classifier import (  # noqa: E402
    accuracy,
    fit_classifier,
    same_color_threshold,
)

EPISODES, STEPS = 20, 10


@pytest.fixture
def scene():
    """Pixels (E, T, 1, 6, 2) and features: four objects, an arm and a lamp that never moves."""
    rng = np.random.default_rng(0)
    pixels = np.zeros((EPISODES, STEPS, 1, 6, 2))
    pixels[:, :, 0, :4] = rng.uniform(0, 128, (EPISODES, 1, 4, 2))
    pixels[:, :, 0, 4] = rng.uniform(0, 128, (EPISODES, STEPS, 2))
    pixels[:, :, 0, 5] = 64.0
    pixels[0, :, 0, 0] = pixels[0, :, 0, 4] + 3  # a cube that the arm pushes all the time
    look = np.concatenate((COLORS, ARM[None], -ARM[None] * [1, -1, 1])).astype(np.float32)
    features = look + rng.normal(0, 0.3, (EPISODES, STEPS, 1, 6, 3)).astype(np.float32)
    return pixels, features


def test_what_stays_is_an_object_what_moves_the_arm_and_what_never_changes_background(scene):
    pixels, _ = scene
    labels = motion_labels(pixels, np.ones(pixels.shape[:-1], bool))[1:, :, 0]
    assert (labels[..., :4] == OBJECT).mean() > 0.95
    assert (labels[..., 4] == OTHER).mean() > 0.95
    assert (labels[..., 5] == OTHER).all()
    hidden = motion_labels(pixels, np.zeros(pixels.shape[:-1], bool))
    assert (hidden == -1).all()


def test_a_cube_that_is_pushed_all_the_time_does_not_teach_that_its_color_is_the_arm(scene):
    pixels, features = scene
    labels = motion_labels(pixels, np.ones(pixels.shape[:-1], bool))
    pushed = labels[0, :, 0, 0]
    assert (pushed == OTHER).any(), "else nothing is proved"
    clear = labels != -1
    agreeing = np.zeros(labels.shape, bool)
    agreeing[clear] = consistent(features[clear], labels[clear])
    assert not agreeing[0, :, 0, 0][pushed == OTHER].any()
    assert agreeing[clear].mean() > 0.95


def test_the_classifier_keeps_objects_only_and_is_the_same_after_saving(scene, tmp_path):
    pixels, features = scene
    labels = motion_labels(pixels, np.ones(pixels.shape[:-1], bool)).ravel()
    flat = features.reshape(-1, 3)
    alike, different = np.array([1.0, 2.0]), np.array([50.0, 60.0])
    classifier = fit_classifier(flat, labels, alike, different, "abc")
    again = fit_classifier(flat, labels, alike, different, "abc")
    np.testing.assert_array_equal(classifier.logits(flat), again.logits(flat))
    truth = np.tile([True, True, True, True, False, False], EPISODES * STEPS)
    scores = accuracy(classifier, flat, truth)
    assert min(scores.values()) > 0.97, scores
    save_classifier(tmp_path / "objects.safetensors", classifier, {})
    loaded = load_classifier(tmp_path / "objects.safetensors")
    np.testing.assert_array_equal(loaded.logits(flat), classifier.logits(flat))
    assert (loaded.same_color, loaded.encoder) == (classifier.same_color, "abc")


def test_the_threshold_of_colors_lies_between_equal_and_different_ones():
    threshold = same_color_threshold(np.linspace(0, 4, 100), np.linspace(50, 90, 100))
    assert 4 < threshold < 50
    with pytest.raises(BadValueError, match="do not distinguish"):
        same_color_threshold(np.linspace(0, 60, 100), np.linspace(5, 9, 100))
    with pytest.raises(BadValueError, match="at least two objects"):
        same_color_threshold(np.ones(3), np.ones(0))


def test_scenes_that_teach_nothing_are_refused(scene):
    pixels, features = scene
    with pytest.raises(BadValueError, match="over at least 20 episodes"):
        motion_labels(pixels[:3], np.ones(pixels[:3].shape[:-1], bool))
    with pytest.raises(BadValueError, match="No particle is clearly an object"):
        consistent(features.reshape(-1, 3), np.zeros(features[..., 0].size, np.int64))


def test_a_classifier_of_another_encoder_or_width_is_refused(tmp_path):
    classifier = by_sum("abc")
    classifier.check_encoder("abc")
    with pytest.raises(BadValueError, match="Fit one for this encoder"):
        classifier.check_encoder("def")
    with pytest.raises(BadValueError, match="another encoder"):
        classifier(np.zeros((2, 5), np.float32))
    with pytest.raises(BadValueError, match="same_color"):
        replace(classifier, same_color=0.0)
    with pytest.raises(CheckpointError, match="no checkpoint"):
        load_classifier(tmp_path / "nothing.safetensors")

"""Places on the table, read off frames."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch")

from painted import ARM, OBJECTS, PALETTE, Perfect, PerfectSlots, PerfectVector, paint

from jostle.core.errors import BadValueError, FramesError
from jostle.frames.reader import Frames
from jostle.frames.truth import Truth
from jostle.probing.reading import calibrate, choose

EPISODES = 60
"""Enough to fit maps on one half."""
MM = 1e-3


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return paint(tmp_path_factory.mktemp("plain") / "frames", EPISODES)


@pytest.fixture(scope="module")
def hidden(tmp_path_factory):
    return paint(tmp_path_factory.mktemp("hidden") / "frames", EPISODES, hidden=True)


def read_all(reader, folder, scenes=slice(None)):
    """What a reader tells of some scenes of a folder, and the truth, (S, N, 2) each."""
    frames, truth = Frames(folder), Truth(folder).batch(np.arange(EPISODES * 4))
    told = reader.read(frames.batch(np.arange(len(frames))[scenes]), truth.rgb[scenes])
    return told, truth.positions[scenes, :, :2]


@pytest.mark.parametrize("kind", [Perfect, PerfectSlots])
def test_true_middles_give_true_places_back(plain, kind):
    reader, errors = calibrate(kind(plain), plain)
    told, true = read_all(reader, plain)
    np.testing.assert_allclose(told, true, atol=0.1 * MM)
    assert errors.read == 1.0
    assert errors.median_cm < errors.most_cm < 0.01
    assert reader.height == 0.0


def test_what_one_view_hides_the_other_tells(hidden):
    reader, errors = calibrate(Perfect(hidden), hidden)
    told, true = read_all(reader, hidden)
    np.testing.assert_allclose(told, true, atol=0.1 * MM)
    assert errors.read == 1.0


def test_what_no_view_shows_is_not_told(plain):
    model = Perfect(plain)
    reader, _ = calibrate(model, plain)
    model.on[:, :, 1] = False
    told, _ = read_all(reader, plain)
    assert np.isnan(told[:, 1]).all()
    assert not np.isnan(told[:, [0, 2]]).any()


def test_the_order_of_entities_does_not_matter(plain, rng):
    model = Perfect(plain)
    reader, _ = calibrate(model, plain)
    told, _ = read_all(reader, plain)
    order = rng.permutation(model.on.shape[2])
    model.places, model.on, model.looks = (
        part[:, :, order] for part in (model.places, model.on, model.looks)
    )
    np.testing.assert_allclose(read_all(reader, plain)[0], told)


def test_a_reader_knows_objects_by_their_color_alone(plain):
    reader, _ = calibrate(Perfect(plain), plain)
    frames, truth = Frames(plain), Truth(plain).batch([0])
    told = reader.read(frames.batch([0]), truth.rgb)
    turned = reader.read(frames.batch([0]), truth.rgb[:, ::-1])
    np.testing.assert_allclose(turned, told[:, ::-1])


def test_the_arm_is_not_taken_for_an_object(plain):
    model = Perfect(plain)
    model.places[:, :, OBJECTS:] = (30.0, ARM + 2.0)
    model.on[:, :, OBJECTS:] = True  # looks like nothing
    reader, errors = calibrate(model, plain)
    told, true = read_all(reader, plain)
    np.testing.assert_allclose(told, true, atol=0.1 * MM)
    assert errors.read == 1.0


def test_views_that_agree_outvote_a_likelier_entity():
    places = np.array([[[[0.0, 0.0], [0.3, 0.3]], [[0.3, 0.3], [0.9, 0.9]]]])  # (1, V, K, 2)
    chance = np.log([[[[0.95, 0.9], [0.9, 0.01]]]])  # (1, N, V, K)
    entity, found = choose(chance, places, tolerance=0.01)
    assert entity.tolist() == [[[1, 0]]]
    assert found.all()


def test_of_views_that_disagree_the_surer_one_is_believed():
    places = np.array([[[[0.0, 0.0]], [[0.3, 0.3]]]])
    entity, found = choose(np.log([[[[0.7], [0.9]]]]), places, tolerance=0.01)
    assert found.tolist() == [[[False, True]]]
    assert entity[0, 0, 1] == 0


def test_colors_that_were_not_calibrated_are_named(plain):
    reader, _ = calibrate(Perfect(plain), plain)
    frames, colors = Frames(plain).batch([0]), np.array([[PALETTE[0], (0.5, 0.0, 0.5)]], np.float32)
    with pytest.raises(BadValueError, match=r"color purple, only with red, green, blue, yellow"):
        reader.read(frames, colors)
    with pytest.raises(BadValueError, match="same color"):
        reader.read(frames, colors[:, [0, 0]])
    few = replace(reader, palette=reader.palette[:1])
    with pytest.raises(BadValueError, match="only with red"):
        few.read(frames, np.array([[PALETTE[1]]], np.float32))


def test_vectors_and_folders_without_enough_truth_are_refused(plain, tmp_path):
    with pytest.raises(BadValueError, match="a vector has no places"):
        calibrate(PerfectVector(plain), plain)
    small = paint(tmp_path / "small", 2)
    with pytest.raises(BadValueError, match="Too few different places"):
        calibrate(Perfect(small), small)
    with pytest.raises(FramesError, match="no such folder"):
        calibrate(Perfect(plain), tmp_path / "nowhere")

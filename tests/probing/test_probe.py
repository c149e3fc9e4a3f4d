"""Metrics of perfect encoders, and of encoders with known errors."""

import json

import numpy as np
import pytest

pytest.importorskip("torch")

from painted import (
    ARM,
    FREE,
    OBJECTS,
    PALETTE,
    SIZE,
    STEPS,
    VIEWS,
    Perfect,
    PerfectSlots,
    PerfectVector,
    paint,
)

from jostle.core.errors import BadValueError, FramesError
from jostle.probing.probe import color_name, probe_encoder

EXACT = 1e-4
"""Error of single precision, in pixels."""


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return paint(tmp_path_factory.mktemp("plain"))


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    return paint(tmp_path_factory.mktemp("many"), episodes=60)


@pytest.fixture(scope="module")
def near(tmp_path_factory):
    return paint(tmp_path_factory.mktemp("near"), near=True)


@pytest.fixture(scope="module")
def occluded(tmp_path_factory):
    return paint(tmp_path_factory.mktemp("occluded"), occluded=True)


def test_a_perfect_encoder_has_perfect_metrics(plain):
    result = probe_encoder(Perfect(plain), plain)
    total = result.total
    assert result.kind == "particles"
    assert total.objects == 24 * STEPS * VIEWS * OBJECTS
    assert (total.recall, total.merged, total.color) == (1, 0, 1)
    assert total.error_px_95 == pytest.approx(0, abs=EXACT)
    assert total.error_all_px_95 == pytest.approx(0, abs=EXACT)
    assert total.jitter_px_95 == pytest.approx(0, abs=EXACT)
    assert (total.on_object, total.on_arm, total.on_nothing) == (1, 0, 0)
    assert (total.particles, total.particles_95) == (OBJECTS, OBJECTS)
    assert total.table_cm == pytest.approx(0, abs=0.01)
    assert total.table_cm == pytest.approx(total.table_best_cm, abs=0.01)
    assert total.table_guess_cm > 10
    assert total.psnr > 80
    assert total.images_per_second > 0


def test_errors_are_in_pixels(plain):
    encoder = Perfect(plain)
    encoder.positions += (1.2, -1.6)
    result = probe_encoder(encoder, plain).total
    assert result.recall == 1
    assert result.error_px == pytest.approx(2, abs=EXACT)
    assert result.error_px_95 == pytest.approx(2, abs=EXACT)
    encoder.positions += (1.8, -2.4)
    result = probe_encoder(encoder, plain).total
    assert result.recall == 0
    assert result.error_px is None
    assert result.error_all_px == pytest.approx(5, abs=EXACT)
    assert result.jitter_px is None
    assert result.color is None
    assert result.table_cm is None


def test_invisible_particles_lower_recall_exactly(plain):
    encoder = Perfect(plain)
    encoder.visible[::2, 0, 1] = False
    result = probe_encoder(encoder, plain)
    assert result.total.recall == pytest.approx(1 - 1 / 2 / 2 / OBJECTS)
    assert result.views["front"].recall == pytest.approx(1 - 1 / 2 / OBJECTS)
    assert result.views["side"].recall == 1
    assert result.total.error_px == pytest.approx(0, abs=EXACT)
    assert result.total.error_all_px_95 > 9
    assert result.total.particles == pytest.approx(OBJECTS - 1 / 4)


def test_missed_objects_near_an_invisible_particle_are_below_threshold(plain):
    encoder = Perfect(plain)
    assert probe_encoder(encoder, plain).total.below_threshold == 0
    encoder.visible[:, 0, 1] = False
    assert probe_encoder(encoder, plain).total.below_threshold == pytest.approx(1 / 2 / OBJECTS)
    encoder.positions[:, 0, 1] = FREE
    assert probe_encoder(encoder, plain).total.below_threshold == 0
    assert probe_encoder(PerfectSlots(plain), plain).total.below_threshold is None


def test_metrics_are_defined_without_visible_particles(plain):
    encoder = Perfect(plain)
    encoder.visible[:] = False
    result = probe_encoder(encoder, plain)
    assert (result.total.recall, result.total.merged, result.total.particles) == (0, 0, 0)
    assert result.total.error_all_px == pytest.approx(np.hypot(SIZE, SIZE))
    assert result.total.on_object is None
    json.dumps(result.to_dict(), allow_nan=False)


def test_one_particle_between_two_objects_merges_both(near):
    separate = probe_encoder(Perfect(near), near).total
    assert separate.merged == 0
    encoder = Perfect(near)
    encoder.positions[:, :, 0] = encoder.positions[:, :, :2].mean(2)
    encoder.visible[:, :, 1] = False
    result = probe_encoder(encoder, near).total
    assert result.merged == pytest.approx(2 / OBJECTS)
    assert result.recall == 1
    assert result.error_px_95 == pytest.approx(3, abs=EXACT)
    encoder.box_px = 5.8  # half of it is 2.9 pixels, and the centers are 3 away
    assert probe_encoder(encoder, near).total.merged == 0


def test_particles_lie_on_what_is_within_two_pixels(plain):
    encoder, free = Perfect(plain), Perfect.unused
    encoder.visible[:, :, -free:] = True
    for position, expected in (
        (FREE, (OBJECTS, 0, free)),
        ((30.0, ARM - 2.0), (OBJECTS, free, 0)),
        ((30.0, ARM - 2.1), (OBJECTS, 0, free)),
        ((30.0, SIZE + 1.0), (OBJECTS, free, 0)),
        ((-300.0, 1e9), (OBJECTS, 0, free)),
    ):
        encoder.positions[:, :, -free:] = position
        result = probe_encoder(encoder, plain).total
        fractions = np.array((result.on_object, result.on_arm, result.on_nothing))
        np.testing.assert_allclose(fractions * (OBJECTS + free), expected)
    for distance, fraction in ((3.9, 1), (4.1, OBJECTS / (OBJECTS + free))):  # half a square is 2
        encoder.positions[:, :, -free:] = encoder.positions[:, :, :1] - (0, distance)
        assert probe_encoder(encoder, plain).total.on_object == pytest.approx(fraction)


def test_constant_features_predict_colors_no_better_than_guessing(plain):
    encoder = Perfect(plain)
    encoder.features[:] = 1
    result = probe_encoder(encoder, plain).total
    assert result.color == result.color_guess
    assert 0.15 < result.color < 0.4  # four colors


def test_the_color_probe_is_tested_on_held_out_episodes(plain, rng):
    encoder = Perfect(plain)
    features = rng.normal(size=(*encoder.visible.shape, 200))
    encoder.features = features  # enough columns to overfit the first half
    assert probe_encoder(encoder, plain).total.color < 0.5


def test_jitter_is_the_shift_of_static_objects(plain):
    encoder = Perfect(plain)
    odd = np.arange(encoder.scenes) % 2 == 1
    encoder.positions[odd] += (0.9, 1.2)
    result = probe_encoder(encoder, plain).total
    assert result.jitter_px == pytest.approx(1.5, abs=EXACT)
    assert result.jitter_px_95 == pytest.approx(1.5, abs=EXACT)


def test_jitter_ignores_moving_and_occluded_objects(occluded):
    encoder = Perfect(occluded)
    last = np.arange(encoder.scenes) % STEPS == STEPS - 1
    encoder.positions[last, :, 0] += 2  # the first square moves in the last step
    encoder.positions[last, 1, 2] += 2  # the third is covered in the second view
    result = probe_encoder(encoder, occluded).total
    assert result.jitter_px_95 == pytest.approx(0, abs=EXACT)
    assert result.error_px_95 > 0


def test_mostly_occluded_objects_are_not_counted(occluded):
    result = probe_encoder(Perfect(occluded), occluded)
    assert result.views["front"].objects == 24 * STEPS * OBJECTS
    assert result.views["side"].objects == 24 * STEPS * (OBJECTS - 1)
    assert result.total.recall == 1


def test_objects_that_fell_off_the_table_are_not_counted(tmp_path):
    path = paint(tmp_path / "fallen", fallen=True)
    encoder = Perfect(path)
    encoder.visible[:, :, 2] = False
    result = probe_encoder(encoder, path).total
    assert result.objects == 24 * STEPS * VIEWS * (OBJECTS - 1)
    assert result.recall == 1


def test_table_positions_need_positions_in_every_view(plain, rng):
    encoder = Perfect(plain)
    encoder.positions += rng.normal(scale=0.5, size=encoder.positions.shape)  # a pixel is 1 cm
    result = probe_encoder(encoder, plain).total
    assert 0.2 < result.table_cm < 0.8
    encoder.visible[:, 1] = False
    assert probe_encoder(encoder, plain).total.table_cm is None


def test_breakdowns_add_up_to_the_total(plain):
    encoder = Perfect(plain)
    encoder.visible[::3, 0, 0] = False
    result = probe_encoder(encoder, plain)
    assert list(result.counts) == [str(OBJECTS)]
    assert set(result.colors) == {"red", "green", "blue", "yellow"}
    for breakdown in (result.views, result.counts, result.colors):
        objects = [part.objects for part in breakdown.values()]
        recalls = [part.recall for part in breakdown.values()]
        assert sum(objects) == result.total.objects
        assert np.average(recalls, weights=objects) == pytest.approx(result.total.recall)
    assert all(part.psnr is None for part in result.colors.values())
    assert json.loads(json.dumps(result.to_dict()))["total"]["recall"] == result.total.recall


def test_perfect_slots_have_perfect_metrics(plain):
    result = probe_encoder(PerfectSlots(plain), plain)
    assert result.kind == "slots"
    assert (result.total.recall, result.total.merged, result.total.color) == (1, 0, 1)
    assert result.total.error_px_95 == pytest.approx(0, abs=EXACT)
    assert result.total.jitter_px_95 == pytest.approx(0, abs=EXACT)
    assert result.total.table_cm == pytest.approx(0, abs=0.01)
    assert result.total.particles == OBJECTS + 2


def test_a_slot_with_most_pixels_of_two_objects_merges_them(plain):
    encoder = PerfectSlots(plain)
    encoder.owner[encoder.owner == 3] = 2
    result = probe_encoder(encoder, plain).total
    assert result.merged == pytest.approx(2 / OBJECTS)
    assert result.recall == pytest.approx(1 / OBJECTS)  # the mean of two is near neither
    assert result.particles == OBJECTS + 1


def test_vectors_are_probed_for_positions_by_color(many, rng):
    result = probe_encoder(PerfectVector(many), many)
    assert result.kind == "vector"
    assert result.total.table_cm == pytest.approx(0, abs=0.1)
    assert result.total.recall is None
    assert result.total.particles is None
    assert result.total.psnr > 80
    assert set(result.colors) == {"red", "green", "blue", "yellow"}
    noise = PerfectVector(many)
    noise.vectors = rng.normal(size=noise.vectors.shape)
    assert probe_encoder(noise, many).total.table_cm > 0.7 * result.total.table_guess_cm


def test_no_map_to_the_table_is_fitted_to_few_positions(many):
    assert probe_encoder(PerfectVector(many), many, limit=60).total.table_cm is None
    assert probe_encoder(Perfect(many), many, limit=30).total.table_cm is None


def test_the_limit_is_a_number_of_scenes(plain):
    result = probe_encoder(Perfect(plain), plain, limit=10)
    assert result.scenes == 10
    assert result.total.objects == 10 * VIEWS * OBJECTS
    with pytest.raises(BadValueError, match="number of scenes"):
        probe_encoder(Perfect(plain), plain, limit=0)


def test_missing_folders_are_refused(tmp_path):
    with pytest.raises(FramesError, match="no such folder"):
        probe_encoder(None, tmp_path / "nowhere")


def test_colors_without_a_name_have_a_hexadecimal_code():
    assert color_name(np.array(PALETTE[0], np.float32)) == "red"
    assert color_name(np.array((1.0, 0.5, 0.0), np.float32)) == "#ff8000"

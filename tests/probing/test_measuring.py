"""Numbers of encoders that are perfect, and of encoders spoiled in a known way."""

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
from jostle.probing.measure import color_name, measure

EXACT = 1e-4
"""Pixels that single precision may cost."""


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
def hidden(tmp_path_factory):
    return paint(tmp_path_factory.mktemp("hidden"), hidden=True)


def test_a_perfect_encoder_has_perfect_numbers(plain):
    found = measure(Perfect(plain), plain)
    total = found.total
    assert found.kind == "particles"
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


def test_a_shift_is_told_in_pixels(plain):
    shifted = Perfect(plain)
    shifted.places += (1.2, -1.6)
    found = measure(shifted, plain).total
    assert found.recall == 1
    assert found.error_px == pytest.approx(2, abs=EXACT)
    assert found.error_px_95 == pytest.approx(2, abs=EXACT)
    shifted.places += (1.8, -2.4)
    far = measure(shifted, plain).total
    assert far.recall == 0
    assert far.error_px is None
    assert far.error_all_px == pytest.approx(5, abs=EXACT)
    assert far.jitter_px is None
    assert far.color is None
    assert far.table_cm is None


def test_hidden_particles_lower_recall_exactly(plain):
    spoiled = Perfect(plain)
    spoiled.on[::2, 0, 1] = False
    found = measure(spoiled, plain)
    assert found.total.recall == pytest.approx(1 - 1 / 2 / 2 / OBJECTS)
    assert found.views["front"].recall == pytest.approx(1 - 1 / 2 / OBJECTS)
    assert found.views["side"].recall == 1
    assert found.total.error_px == pytest.approx(0, abs=EXACT)
    assert found.total.error_all_px_95 > 9
    assert found.total.particles == pytest.approx(OBJECTS - 1 / 4)


def test_missed_objects_are_faint_if_a_particle_is_there_but_off(plain):
    spoiled = Perfect(plain)
    assert measure(spoiled, plain).total.faint == 0
    spoiled.on[:, 0, 1] = False
    assert measure(spoiled, plain).total.faint == pytest.approx(1 / 2 / OBJECTS)
    spoiled.places[:, 0, 1] = FREE
    assert measure(spoiled, plain).total.faint == 0
    assert measure(PerfectSlots(plain), plain).total.faint is None


def test_nothing_visible_is_a_number_too(plain):
    blind = Perfect(plain)
    blind.on[:] = False
    found = measure(blind, plain)
    assert (found.total.recall, found.total.merged, found.total.particles) == (0, 0, 0)
    assert found.total.error_all_px == pytest.approx(np.hypot(SIZE, SIZE))
    assert found.total.on_object is None
    json.dumps(found.to_dict(), allow_nan=False)


def test_one_particle_between_two_objects_counts_both_as_merged(near):
    apart = measure(Perfect(near), near).total
    assert apart.merged == 0
    between = Perfect(near)
    between.places[:, :, 0] = between.places[:, :, :2].mean(2)
    between.on[:, :, 1] = False
    found = measure(between, near).total
    assert found.merged == pytest.approx(2 / OBJECTS)
    assert found.recall == 1
    assert found.error_px_95 == pytest.approx(3, abs=EXACT)
    between.box_px = 5.8  # reaches 2.9 pixels, the middles are 3 away
    assert measure(between, near).total.merged == 0


def test_particles_sit_on_what_is_within_two_pixels(plain):
    spoiled, free = Perfect(plain), Perfect.spare
    spoiled.on[:, :, -free:] = True
    for place, on in (
        (FREE, (OBJECTS, 0, free)),
        ((30.0, ARM - 2.0), (OBJECTS, free, 0)),
        ((30.0, ARM - 2.1), (OBJECTS, 0, free)),
        ((30.0, SIZE + 1.0), (OBJECTS, free, 0)),
        ((-300.0, 1e9), (OBJECTS, 0, free)),
    ):
        spoiled.places[:, :, -free:] = place
        found = measure(spoiled, plain).total
        shares = np.array((found.on_object, found.on_arm, found.on_nothing))
        np.testing.assert_allclose(shares * (OBJECTS + free), on)
    for away, share in ((3.9, 1), (4.1, OBJECTS / (OBJECTS + free))):  # half a square is 2
        spoiled.places[:, :, -free:] = spoiled.places[:, :, :1] - (0, away)
        assert measure(spoiled, plain).total.on_object == pytest.approx(share)


def test_a_constant_feature_tells_colors_no_better_than_guessing(plain):
    spoiled = Perfect(plain)
    spoiled.looks[:] = 1
    found = measure(spoiled, plain).total
    assert found.color == found.color_guess
    assert 0.15 < found.color < 0.4  # four colors


def test_what_was_learnt_by_heart_does_not_count(plain, rng):
    spoiled = Perfect(plain)
    noise = rng.normal(size=(*spoiled.on.shape, 200))
    spoiled.looks = noise  # enough to tell every object of the first half from all others
    assert measure(spoiled, plain).total.color < 0.5


def test_jitter_of_resting_objects_is_what_was_put_in(plain):
    spoiled = Perfect(plain)
    odd = np.arange(spoiled.scenes) % 2 == 1
    spoiled.places[odd] += (0.9, 1.2)
    found = measure(spoiled, plain).total
    assert found.jitter_px == pytest.approx(1.5, abs=EXACT)
    assert found.jitter_px_95 == pytest.approx(1.5, abs=EXACT)


def test_what_moves_or_is_half_hidden_does_not_jitter(hidden):
    spoiled = Perfect(hidden)
    last = np.arange(spoiled.scenes) % STEPS == STEPS - 1
    spoiled.places[last, :, 0] += 2  # the first square moves in the last step
    spoiled.places[last, 1, 2] += 2  # the third is covered in the second view
    found = measure(spoiled, hidden).total
    assert found.jitter_px_95 == pytest.approx(0, abs=EXACT)
    assert found.error_px_95 > 0


def test_objects_that_show_too_little_are_not_looked_for(hidden):
    found = measure(Perfect(hidden), hidden)
    assert found.views["front"].objects == 24 * STEPS * OBJECTS
    assert found.views["side"].objects == 24 * STEPS * (OBJECTS - 1)
    assert found.total.recall == 1


def test_objects_that_fell_off_the_table_are_not_looked_for(tmp_path):
    path = paint(tmp_path / "fallen", fallen=True)
    spoiled = Perfect(path)
    spoiled.on[:, :, 2] = False
    found = measure(spoiled, path).total
    assert found.objects == 24 * STEPS * VIEWS * (OBJECTS - 1)
    assert found.recall == 1


def test_places_on_the_table_need_places_in_every_view(plain, rng):
    spoiled = Perfect(plain)
    spoiled.places += rng.normal(scale=0.5, size=spoiled.places.shape)  # a pixel is 1 cm
    found = measure(spoiled, plain).total
    assert 0.2 < found.table_cm < 0.8
    spoiled.on[:, 1] = False
    assert measure(spoiled, plain).total.table_cm is None


def test_parts_make_up_the_whole(plain):
    spoiled = Perfect(plain)
    spoiled.on[::3, 0, 0] = False
    found = measure(spoiled, plain)
    assert list(found.counts) == [str(OBJECTS)]
    assert set(found.colors) == {"red", "green", "blue", "yellow"}
    for parts in (found.views, found.counts, found.colors):
        objects = [part.objects for part in parts.values()]
        recalls = [part.recall for part in parts.values()]
        assert sum(objects) == found.total.objects
        assert np.average(recalls, weights=objects) == pytest.approx(found.total.recall)
    assert all(part.psnr is None for part in found.colors.values())
    assert json.loads(json.dumps(found.to_dict()))["total"]["recall"] == found.total.recall


def test_perfect_slots_have_perfect_numbers(plain):
    found = measure(PerfectSlots(plain), plain)
    assert found.kind == "slots"
    assert (found.total.recall, found.total.merged, found.total.color) == (1, 0, 1)
    assert found.total.error_px_95 == pytest.approx(0, abs=EXACT)
    assert found.total.jitter_px_95 == pytest.approx(0, abs=EXACT)
    assert found.total.table_cm == pytest.approx(0, abs=0.01)
    assert found.total.particles == OBJECTS + 2


def test_a_slot_that_wins_most_pixels_of_two_objects_merges_them(plain):
    spoiled = PerfectSlots(plain)
    spoiled.owner[spoiled.owner == 3] = 2
    found = measure(spoiled, plain).total
    assert found.merged == pytest.approx(2 / OBJECTS)
    assert found.recall == pytest.approx(1 / OBJECTS)  # the middle of two is on neither
    assert found.particles == OBJECTS + 1


def test_a_vector_is_asked_for_places_by_color(many, rng):
    found = measure(PerfectVector(many), many)
    assert found.kind == "vector"
    assert found.total.table_cm == pytest.approx(0, abs=0.1)
    assert found.total.recall is None
    assert found.total.particles is None
    assert found.total.psnr > 80
    assert set(found.colors) == {"red", "green", "blue", "yellow"}
    noise = PerfectVector(many)
    noise.vectors = rng.normal(size=noise.vectors.shape)
    assert measure(noise, many).total.table_cm > 0.7 * found.total.table_guess_cm


def test_no_map_to_the_table_is_fit_to_a_few_places(many):
    assert measure(PerfectVector(many), many, limit=60).total.table_cm is None
    assert measure(Perfect(many), many, limit=30).total.table_cm is None


def test_a_limit_counts_scenes(plain):
    found = measure(Perfect(plain), plain, limit=10)
    assert found.scenes == 10
    assert found.total.objects == 10 * VIEWS * OBJECTS
    with pytest.raises(BadValueError, match="number of scenes"):
        measure(Perfect(plain), plain, limit=0)


def test_frames_without_truth_are_refused(tmp_path):
    with pytest.raises(FramesError, match="no such folder"):
        measure(None, tmp_path / "nowhere")


def test_colors_have_names_or_codes():
    assert color_name(np.array(PALETTE[0], np.float32)) == "red"
    assert color_name(np.array((1.0, 0.5, 0.0), np.float32)) == "#ff8000"

"""Goal augmentation: goals go to episodes with the same colors, and to the right objects."""

import numpy as np

from jostle.replay.goal_augmentation import _reorder, same_colors


def random_colors(episodes: int, rng: np.random.Generator) -> np.ndarray:
    """Three objects of six colors; in some episodes the last one is absent."""
    color_ids = np.stack([rng.permutation(6)[:3] for _ in range(episodes)])
    color_ids[rng.random(episodes) < 0.3, 2] = -1
    return color_ids


def test_partners_have_objects_of_the_same_colors():
    rng = np.random.default_rng(0)
    color_ids = random_colors(200, rng)
    episode = rng.integers(0, 200, 5000)
    partner = same_colors(color_ids, episode, rng)
    np.testing.assert_array_equal(np.sort(color_ids[partner], 1), np.sort(color_ids[episode], 1))


def test_every_partner_is_drawn_equally_often():
    rng = np.random.default_rng(0)
    color_ids = np.array([[0, 1], [2, 3], [1, 0], [0, 1]])
    partner = same_colors(color_ids, np.zeros(30_000, np.int64), rng)
    counts = np.bincount(partner, minlength=4) / 30_000
    np.testing.assert_allclose(counts, [1 / 3, 0, 1 / 3, 1 / 3], atol=0.02)


def test_each_object_gets_the_row_of_its_own_color():
    rng = np.random.default_rng(1)
    color_ids = random_colors(300, rng)
    wanted = rng.permuted(color_ids, axis=1)
    values = color_ids[..., None].astype(np.float32)
    np.testing.assert_array_equal(_reorder(values, color_ids, wanted)[..., 0], wanted)

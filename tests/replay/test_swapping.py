"""Goals travel between episodes whose objects look the same, and to the right objects."""

import numpy as np

from jostle.replay.swapping import _in_order, like


def drawn_looks(episodes: int, rng: np.random.Generator) -> np.ndarray:
    """Three objects of six colors; now and then one is not there."""
    looks = np.stack([rng.permutation(6)[:3] for _ in range(episodes)])
    looks[rng.random(episodes) < 0.3, 2] = -1
    return looks


def test_partners_have_objects_of_the_same_looks():
    rng = np.random.default_rng(0)
    looks = drawn_looks(200, rng)
    episode = rng.integers(0, 200, 5000)
    other = like(looks, episode, rng)
    np.testing.assert_array_equal(np.sort(looks[other], 1), np.sort(looks[episode], 1))


def test_every_partner_is_drawn_equally_often():
    rng = np.random.default_rng(0)
    looks = np.array([[0, 1], [2, 3], [1, 0], [0, 1]])
    other = like(looks, np.zeros(30_000, np.int64), rng)
    counts = np.bincount(other, minlength=4) / 30_000
    np.testing.assert_allclose(counts, [1 / 3, 0, 1 / 3, 1 / 3], atol=0.02)


def test_each_object_gets_the_row_of_its_own_look():
    rng = np.random.default_rng(1)
    looks = drawn_looks(300, rng)
    wanted = rng.permuted(looks, axis=1)
    values = looks[..., None].astype(np.float32)
    np.testing.assert_array_equal(_in_order(values, looks, wanted)[..., 0], wanted)

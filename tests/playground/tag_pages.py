"""A tagging page with particles made by hand, for tests of its server and of its page."""

from contextlib import contextmanager
from dataclasses import replace
from functools import cache

import numpy as np

from experiments import small_encoder
from jostle.core.entities import FEATURES, POSITION, SCALE, TABLE_XY, Entities
from jostle.playground.tagging import TagSession
from jostle.training.fit_tags import HeldOut
from jostle.training.tag_images import TagConfig, Tags, make_tag_images, read_tags

CONFIG = TagConfig(images=4, objects=(2, 2))
OBJECTS = (0, 2)
"""Particles of each image that show objects; 1 and 3 show the arm."""
_LOOKS = np.array([[9, 0, 0, 0], [-9, -9, 0, 0], [0, 9, 0, 0], [-9, -5, 0, 0]], np.float32)


@cache
def images():
    """Four images of two scenes; the same four particles are in each."""
    made = make_tag_images(small_encoder(), CONFIG)
    rng, layout = np.random.default_rng(0), made.layout
    values = np.zeros(made.particles.values.shape, np.float32)  # (2, 2, 4, D)
    values[..., layout[POSITION]] = [[-0.5, -0.5], [-0.5, 0.5], [0.5, 0.5], [0.5, -0.4]]
    values[..., layout[SCALE]] = -2.0
    values[..., layout[FEATURES]] = _LOOKS + rng.normal(0, 0.3, (2, 2, 4, 4))
    values[..., layout[TABLE_XY]] = [[-1, 0], [0, 0], [1, 0], [0, 1]]
    return replace(made, particles=Entities(values, np.ones(values.shape[:-1], bool)))


def judged():
    """Particles to measure accuracy on."""
    features = np.tile(_LOOKS, (5, 1))
    return HeldOut(features, np.tile([True, False, True, False], 5))


@contextmanager
def tag_session(folder, publish):
    """A session whose tags are in a folder; it resumes if there are some."""
    file = folder / "tags.json"
    tags = read_tags(file, images()) if file.exists() else Tags.empty(CONFIG.images)
    files = file, folder / "classifier.safetensors"
    session = TagSession(images(), tags, "small", files, judged, publish)
    yield session
    session.stop()

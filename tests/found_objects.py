"""Particles, objects and classifiers made by hand, for tests of what is found in images."""

import numpy as np

from jostle.core.entities import FEATURES, POSITION, TABLE_XY, Entities, EntityLayout
from jostle.core.object_classifier import ObjectClassifier
from jostle.rollout.table_projection import UNIT

PARTICLES = EntityLayout(((POSITION, 2), (FEATURES, 3), (TABLE_XY, 2)))
COLORS = np.array([[9.0, 0, 0], [0, 9, 0], [0, 0, 9], [9, 9, 0]], np.float32)
ARM = np.array([-9.0, -9, -9], np.float32)


def by_sum(encoder: str = "abc") -> ObjectClassifier:
    """Keeps particles whose features have a positive sum."""
    weight, bias = np.ones((3, 1), np.float32), np.zeros(1, np.float32)
    mean, std = np.zeros(3, np.float32), np.ones(3, np.float32)
    return ObjectClassifier(mean, std, ((weight, bias),), same_color=20.0, encoder=encoder)


def particles(*views: list[tuple[np.ndarray, tuple[float, float]]], room: int = 6) -> Entities:
    """One scene: for each view a list of features and places on the table in meters."""
    values = np.zeros((1, len(views), room, PARTICLES.width), np.float32)
    visible = np.zeros((1, len(views), room), bool)
    for view, seen in enumerate(views):
        for row, (features, place) in enumerate(seen):
            values[0, view, row, PARTICLES[FEATURES]] = features
            values[0, view, row, PARTICLES[TABLE_XY]] = np.array(place) / UNIT
            visible[0, view, row] = True
    return Entities(values, visible)

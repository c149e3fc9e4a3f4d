"""Fit the classifier of particles that show objects."""

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional as F

from jostle.core.errors import require
from jostle.core.object_classifier import Floats, ObjectClassifier
from jostle.probing.motion_labels import OBJECT, UNKNOWN, Labels, consistent

_HIDDEN, _STEPS, _LR, _WEIGHT_DECAY = 16, 600, 1e-2, 0.1
_ALIKE, _DIFFERENT = 0.95, 0.05
"""Quantiles of the distances of equal and of different colors that same_color lies between."""


def fit_classifier(
    features: Floats,
    labels: Labels,
    alike: Floats,
    different: Floats,
    encoder: str,
    seed: int = 0,
    noisy: bool = True,
) -> ObjectClassifier:
    """Fit features (R, F) with labels (R,), those of unclear particles left out.

    Args:
        features: Appearance of particles.
        labels: Labels of `motion_labels`, or tags.
        alike: Squared distances of features of particles that show one object.
        different: The same for different objects.
        encoder: Hash of the encoder.
        seed: Seed of the initial weights.
        noisy: Whether labels that disagree with those of similar particles are left out.
    """
    clear = labels != UNKNOWN
    features, labels = features[clear], labels[clear]
    if noisy:
        agreeing = consistent(features, labels)
        features, labels = features[agreeing], labels[agreeing]
    mean, std = features.mean(0), features.std(0)
    require(bool((std > 0).all()), "Features of all particles are equal: nothing can be learned.")
    layers = _train((features - mean) / std, labels == OBJECT, seed)
    return ObjectClassifier(mean, std, layers, same_color_threshold(alike, different), encoder)


def same_color_threshold(alike: Floats, different: Floats) -> float:
    """A squared distance of features between those of equal colors and of different ones.

    The geometric mean of the 95 % quantile of equal ones and the 5 % quantile of different ones.
    """
    require(
        len(alike) > 0 and len(different) > 0,
        "Both pairs of particles of one object and of different objects are needed: are there at "
        "least two objects in these images?",
    )
    near, far = float(np.quantile(alike, _ALIKE)), float(np.quantile(different, _DIFFERENT))
    require(
        near < far,
        f"Features do not distinguish the objects: 95 % of the pairs of one object are "
        f"within {near:.3g}, but 5 % of those of different objects within {far:.3g}.",
    )
    return float(np.sqrt(near * far))


def accuracy(
    classifier: ObjectClassifier, features: Floats, is_object: NDArray[np.bool_]
) -> dict[str, float]:
    """Fraction of the objects and of the other particles that are classified correctly."""
    kept = classifier(features)
    return {
        "object_accuracy": float(kept[is_object].mean()) if is_object.any() else float("nan"),
        "other_accuracy": float((~kept)[~is_object].mean()) if (~is_object).any() else float("nan"),
    }


def _train(
    inputs: Floats, is_object: NDArray[np.bool_], seed: int
) -> tuple[tuple[Floats, Floats], ...]:
    """Fit a multilayer perceptron by logistic regression, both classes with equal weight."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        net = nn.Sequential(
            nn.Linear(inputs.shape[1], _HIDDEN), nn.Tanh(), nn.Linear(_HIDDEN, _HIDDEN), nn.Tanh(),
            nn.Linear(_HIDDEN, 1),
        )  # fmt: skip
    x, y = torch.from_numpy(inputs.astype(np.float32)), torch.from_numpy(is_object).float()
    weight = torch.where(y > 0, 0.5 / y.mean(), 0.5 / (1 - y.mean()))
    optimizer = torch.optim.AdamW(net.parameters(), lr=_LR, weight_decay=_WEIGHT_DECAY)
    for step in range(_STEPS):
        for group in optimizer.param_groups:
            group["lr"] = _LR * (1 + math.cos(math.pi * step / _STEPS)) / 2
        optimizer.zero_grad()
        F.binary_cross_entropy_with_logits(net(x)[:, 0], y, weight=weight).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return tuple(
        (layer.weight.detach().numpy().T.copy(), layer.bias.detach().numpy().copy())
        for layer in net
        if isinstance(layer, nn.Linear)
    )

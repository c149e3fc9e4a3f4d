"""What an actor that tells what it sees should say, and how far it is from the truth.

Objects are told of in their order. Those that look alike have none that can be seen: there the
nearest of all orders counts, or an actor could do nothing but learn episodes by heart.
"""

from itertools import permutations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from jostle.core.errors import require
from jostle.envs.vector import TabletopVectorEnv
from jostle.rollout.collect import looks_of
from jostle.training.experiment import Experiment

_DECIMETER = 0.1
"""Unit in which places are told, in meters; headings are told as they are."""
_MOST_ALIKE = 4
"""Objects in all up to which those that look alike are told of: every order is tried."""


class Telling:
    """The truth about the objects of an experiment, for actors that are made to tell it."""

    def __init__(self, experiment: Experiment, env: TabletopVectorEnv) -> None:
        """Refuse an actor that shall tell of objects it cannot know, or of another number."""
        self._unit = 1.0 if env.measure.kind == "yaw" else _DECIMETER
        self._orders = torch.arange(env.recipe.most)[None]
        if experiment.net.tells:
            _check(experiment, env)
            if experiment.encoder:  # true state has codes that tell objects apart
                self._orders = _same_looks(looks_of(env)[0])

    def truth(self, achieved: NDArray[np.float32], desired: NDArray[np.float32]) -> Tensor:
        """What objects have achieved and what is desired of them, (B, 2 * N * w)."""
        both = np.concatenate((achieved, desired), axis=1) / self._unit  # (B, 2N, w)
        return torch.from_numpy(both.reshape(len(both), -1)).float()

    def error(self, told: Tensor, truth: Tensor) -> Tensor:
        """Mean squared error of what is told (B, 2 * N * w), in the order that fits best."""
        objects = self._orders.shape[1]
        told, truth = (x.view(len(x), 2, objects, -1) for x in (told, truth))  # (B, 2, N, w)
        ordered = truth[:, :, self._orders]  # (B, 2, P, N, w)
        return (told[:, :, None] - ordered).square().mean((1, 3, 4)).amin(1).mean()


def _same_looks(looks: NDArray[np.int64]) -> Tensor:
    """All orders (P, N) of objects that leave every look (N,) where it is."""
    if len(np.unique(looks)) == len(looks):
        return torch.arange(len(looks))[None]
    require(
        len(looks) <= _MOST_ALIKE,
        f"Objects that look alike are told of up to {_MOST_ALIKE}, here are {len(looks)}. Train "
        "with --tells 0.",
    )
    orders = [
        order for order in permutations(range(len(looks))) if (looks[[*order]] == looks).all()
    ]
    return torch.tensor(orders)


def _check(experiment: Experiment, env: TabletopVectorEnv) -> None:
    tells, objects = experiment.net.tells, env.recipe.most
    truths = 2 * objects * env.measure.width
    require(
        tells == truths,
        f"tells is 0 or, for {objects} objects of {experiment.task}, {truths}, not {tells}.",
    )
    alike = experiment.training.random_codes and not experiment.encoder
    require(
        not alike and experiment.colors == "fixed" and not isinstance(experiment.objects, tuple),
        "An actor can only tell of objects that it knows again: a fixed number of them, in fixed "
        "colors or, from true state, with --no-random-codes. Train with --tells 0.",
    )

"""Auxiliary targets: true coordinates that an actor predicts besides its action.

Targets list the objects in their order. Objects that look alike have no visible order: for them the
order with the least error counts, or an actor could only memorize episodes.
"""

from itertools import permutations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from jostle.core.errors import require
from jostle.envs.vector import TabletopVectorEnv
from jostle.rollout.collector import color_ids_of
from jostle.training.experiment import Experiment

_DECIMETER = 0.1
"""Unit of positions in meters; headings are used as they are."""
_MAX_ALIKE = 4
"""Most objects, if some look alike: every order is tried."""


class AuxiliaryTargets:
    """Targets and loss of the auxiliary head."""

    def __init__(self, experiment: Experiment, env: TabletopVectorEnv) -> None:
        """Refuse targets that the actor cannot assign to objects, or of another number."""
        objects = env.episode_sampler.max_objects
        self._unit = 1.0 if env.goal_metric.goal_type == "yaw" else _DECIMETER
        self._orders = torch.arange(objects)[None]
        if experiment.net.aux_targets:
            _check(experiment, env)
            if experiment.encoder:  # in true state, ids tell objects apart
                self._orders = _equivalent_orders(color_ids_of(env)[0])

    def targets(self, achieved: NDArray[np.float32], desired: NDArray[np.float32]) -> Tensor:
        """Task coordinates of objects and goals, (B, 2 * N * w)."""
        both = np.concatenate((achieved, desired), axis=1) / self._unit  # (B, 2N, w)
        return torch.from_numpy(both.reshape(len(both), -1)).float()

    def loss(self, predicted: Tensor, targets: Tensor) -> Tensor:
        """Mean squared error of predictions (B, 2 * N * w), in the order that fits best."""
        orders = self._orders.to(predicted.device)
        predicted, targets = (
            x.view(len(x), 2, orders.shape[1], -1) for x in (predicted, targets)
        )  # (B, 2, N, w)
        ordered = targets[:, :, orders]  # (B, 2, P, N, w)
        return (predicted[:, :, None] - ordered).square().mean((1, 3, 4)).amin(1).mean()


def _equivalent_orders(color_ids: NDArray[np.int64]) -> Tensor:
    """All orders (P, N) of objects that leave every color (N,) where it is."""
    objects = len(color_ids)
    if len(np.unique(color_ids)) == objects:
        return torch.arange(objects)[None]
    require(
        objects <= _MAX_ALIKE,
        f"Auxiliary targets of objects that look alike are possible up to {_MAX_ALIKE} objects, "
        f"here are {objects}. Train with --aux-targets 0.",
    )
    orders = [
        order for order in permutations(range(objects)) if (color_ids[[*order]] == color_ids).all()
    ]
    return torch.tensor(orders)


def _check(experiment: Experiment, env: TabletopVectorEnv) -> None:
    given, objects = experiment.net.aux_targets, env.episode_sampler.max_objects
    expected = 2 * objects * env.goal_metric.width
    require(
        given == expected,
        f"aux_targets is 0 or, for {objects} objects of {experiment.task}, {expected}, not "
        f"{given}.",
    )
    anonymous = experiment.training.shuffle_object_ids and not experiment.encoder
    fixed = experiment.colors == "fixed" and not isinstance(experiment.objects, tuple)
    require(
        fixed and not anonymous,
        "Auxiliary targets need objects that can be distinguished: a fixed number of them, in "
        "fixed colors or, from true state, with --no-shuffle-object-ids. Train with "
        "--aux-targets 0.",
    )

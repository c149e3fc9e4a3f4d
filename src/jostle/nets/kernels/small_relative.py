"""Relative positions in attention over small sets, with the samples as the last axis.

What relative positions add to keys and values is never written down for every pair of entities.
Queries are projected to features instead, and features are averaged before they are projected:
both have one array per query. Shapes: C networks, h heads of d, Q queries, S context entities,
F features of a relative position, B samples.
"""

from collections.abc import Sequence

import torch
from torch import Tensor


def project(maps: Tensor, x: Tensor) -> Tensor:
    """Map (C, h, k, Q, B) by `maps` (C, h, n, k) to (C, h, n, Q, B)."""
    ensemble, heads, _, queries, samples = x.shape
    rows = x.reshape(ensemble * heads, x.shape[2], queries * samples)
    return torch.bmm(maps.flatten(0, 1), rows).view(ensemble, heads, -1, queries, samples)


def add_scores(scores: Tensor, projected: Tensor, features: Tensor) -> None:
    """Add (C, h, F, Q, B) times (F, Q, S, B), summed over F, to scores (C, h, Q, S, B)."""
    for of_query, of_pair in zip(projected.unsqueeze(4).unbind(2), features, strict=True):
        scores.addcmul_(of_query, of_pair)


def mean_features(weights: Tensor, features: Tensor) -> Tensor:
    """Sum (C, h, Q, S, B) times (F, Q, S, B) over S: (C, h, F, Q, B)."""
    first, *rest = zip(weights.unsqueeze(2).unbind(4), features.unbind(2), strict=True)
    total = first[0] * first[1]
    for pair in rest:
        total.addcmul_(*pair)
    return total


class Backward:
    """Gradients of one attention, in the order in which they can be computed."""

    def __init__(
        self, features: Tensor, to_key: Tensor, to_value: Tensor, projected: Tensor, mean: Tensor
    ) -> None:
        """Remember what the forward pass saved."""
        self._features, self._to_key, self._to_value = features, to_key, to_value
        self._projected, self._mean = projected, mean
        self._mean_grad = self._projected_grad = projected  # until they are known

    def values(self, weights_grad: Tensor, result_grad: Tensor) -> None:
        """Add to the gradient of weights what comes by values; `result_grad` (C, h, d, Q, B)."""
        self._mean_grad = project(self._to_value.transpose(2, 3), result_grad)  # (C, h, F, Q, B)
        add_scores(weights_grad, self._mean_grad, self._features)

    def queries(self, scores_grad: Tensor) -> Tensor:
        """The gradient of queries that comes by keys, (C, h, d, Q, B)."""
        self._projected_grad = mean_features(scores_grad, self._features)  # (C, h, F, Q, B)
        return project(self._to_key, self._projected_grad)

    def inputs(
        self,
        weights: Tensor,
        scores_grad: Tensor,
        q: Tensor,
        result_grad: Tensor,
        needed: Sequence[bool],
    ) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        """Gradients of features (F, Q, S, B) and of the two maps (C, h, d, F), if needed."""
        return (
            self._features_grad(weights, scores_grad) if needed[0] else None,
            _outer(q, self._projected_grad) if needed[1] else None,
            _outer(result_grad, self._mean) if needed[2] else None,
        )

    def _features_grad(self, weights: Tensor, scores_grad: Tensor) -> Tensor:
        total = torch.zeros_like(self._features)
        for of_pair, of_query in ((scores_grad, self._projected), (weights, self._mean_grad)):
            pairs = of_pair.flatten(0, 1), of_query.unsqueeze(4).flatten(0, 1)
            for pair, query in zip(*pairs, strict=True):  # (Q, S, B), (F, Q, 1, B)
                total.addcmul_(pair, query)
        return total


def _outer(a: Tensor, b: Tensor) -> Tensor:
    """Sum (C, h, d, Q, B) times (C, h, F, Q, B) over queries and samples: (C, h, d, F)."""
    ensemble, heads = a.shape[:2]
    rows, columns = (x.reshape(ensemble * heads, x.shape[2], -1) for x in (a, b))
    return torch.bmm(rows, columns.transpose(1, 2)).view(ensemble, heads, a.shape[2], -1)

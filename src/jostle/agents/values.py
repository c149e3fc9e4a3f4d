"""Values of sets and of their objects: regression targets, and means."""

from torch import Tensor

from jostle.replay.batch import Batch


def td_target(batch: Batch, next_q: Tensor, q_min: float) -> Tensor:
    """Regression targets of the critics from the values of the next states, (B,) or (B, N).

    With a potential baseline both are gains over the potential: the value is their sum.
    """
    discount = batch.discount if next_q.dim() == 1 else batch.discount[:, None]
    if batch.potential is None:
        return (batch.reward + discount * next_q).clamp(q_min, 0)
    value = batch.reward + discount * (batch.potential.next + next_q)
    return value.clamp(q_min, 0) - batch.potential.now


def mean_over_objects(values: Tensor, present: Tensor | None) -> Tensor:
    """The value of a set: the mean (..., B) over its objects (..., B, N) that are present.

    `present` may also be weights that add up to the number of objects, as those of goal particles;
    a set without any has the value 0. Without it, values are of whole sets and stay as they are.
    """
    if present is None:
        return values
    weight = present.to(values.dtype)
    return (values * weight).sum(-1) / weight.sum(-1).clamp(min=1)

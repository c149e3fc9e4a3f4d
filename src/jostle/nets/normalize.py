"""Running normalization as the first layer of networks; replay and rewards keep raw values."""

import torch
from torch import Tensor, nn

from jostle.core.entities import Entities


class Normalizer(nn.Module):
    """Running mean and variance of each feature, over all visible entities.

    With a mask column, such as opacity, entities below its mean become invisible, and the networks
    behind do not get that column.
    """

    mean: Tensor
    variance: Tensor
    count: Tensor

    def __init__(
        self, features: int, num_raw: int = 0, clip: float = 5.0, mask_column: int | None = None
    ) -> None:
        """Normalize and clip `features` features; the last `num_raw` are not rescaled."""
        super().__init__()
        self.mask_column = mask_column
        self.clip, self._num_normalized = clip, features - num_raw
        self.register_buffer("mean", torch.zeros(features, dtype=torch.float64))
        self.register_buffer("variance", torch.ones(features, dtype=torch.float64))
        self.register_buffer("count", torch.full((), 1e-6, dtype=torch.float64))

    @torch.no_grad()
    def update(self, entities: Entities) -> None:
        """Add all visible entities of a batch, on any device, to the statistics."""
        rows = entities.values[entities.visible].double()  # (R, D)
        if not len(rows):
            return

        # Statistics of the batch
        count = rows.shape[0]
        mean, variance = rows.mean(0), rows.var(0, unbiased=False)
        mean[self._num_normalized :], variance[self._num_normalized :] = 0.0, 1.0
        mean, variance = mean.to(self.mean.device), variance.to(self.mean.device)

        # Merge them with the running ones
        total = self.count + count
        delta = mean - self.mean
        squares = self.variance * self.count + variance * count
        self.variance.copy_((squares + delta**2 * self.count * count / total) / total)
        self.mean.add_(delta * count / total)
        self.count.copy_(total)

    def forward(self, entities: Entities) -> Entities:
        """Normalize entities; those that are not visible become zeros."""
        scale = (self.variance + 1e-6).rsqrt().float()
        values = (entities.values - self.mean.float()) * scale
        values, visible = values.clamp(-self.clip, self.clip), entities.visible
        if self.mask_column is not None:
            visible = visible & (values[..., self.mask_column] >= 0)
            before, _, after = values.tensor_split((self.mask_column, self.mask_column + 1), -1)
            values = torch.cat((before, after), dim=-1)
        return Entities(values * visible[..., None], visible)

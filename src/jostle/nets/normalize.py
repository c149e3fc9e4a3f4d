"""Running statistics as the network's first layer, so that memory and rewards keep raw values."""

import torch
from torch import Tensor, nn

from jostle.core.entities import Entities


class Normalizer(nn.Module):
    """Per-feature mean and variance of everything seen so far, pooled over all entities."""

    mean: Tensor
    variance: Tensor
    count: Tensor

    def __init__(self, features: int, plain: int = 0, limit: float = 5.0) -> None:
        """Normalize all but the last `plain` of `features` features; cut off at `limit`."""
        super().__init__()
        self.limit, self._counted = limit, features - plain
        self.register_buffer("mean", torch.zeros(features, dtype=torch.float64))
        self.register_buffer("variance", torch.ones(features, dtype=torch.float64))
        self.register_buffer("count", torch.tensor(1e-6, dtype=torch.float64))

    @torch.no_grad()
    def update(self, entities: Entities) -> None:
        """Add all visible entities of a batch to the statistics."""
        rows = entities.values[entities.visible].double()  # (R, D)
        if not len(rows):
            return
        count = rows.shape[0]
        mean, variance = rows.mean(0), rows.var(0, unbiased=False)
        mean[self._counted :], variance[self._counted :] = 0.0, 1.0
        total = self.count + count
        gap = mean - self.mean
        spread = self.variance * self.count + variance * count
        self.variance.copy_((spread + gap**2 * self.count * count / total) / total)
        self.mean.add_(gap * count / total)
        self.count.copy_(total)

    def forward(self, entities: Entities) -> Entities:
        """Return the normalized entities; hidden ones become zeros."""
        scale = (self.variance + 1e-6).rsqrt().float()
        values = (entities.values - self.mean.float()) * scale
        values = values.clamp(-self.limit, self.limit)
        return Entities(values * entities.visible[..., None], entities.visible)

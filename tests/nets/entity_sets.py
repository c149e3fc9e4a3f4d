"""Random sets of entities, and columns for them."""

import torch

from jostle.core.entities import FEATURES, POSITION, TABLE_XY, Entities, EntityLayout


def layout(features: int, table_xy: bool = False) -> EntityLayout:
    """Columns of entities: a position first and, with `table_xy`, one on the table last."""
    columns = EntityLayout(((POSITION, 2), (FEATURES, features - 2 - 2 * table_xy)))
    return columns.plus(TABLE_XY, 2) if table_xy else columns


def random_sets(
    shape: tuple[int, int, int], features: int = 6, visible: float = 0.7, seed: int = 0
) -> Entities:
    """Sets (B, V, K) of random entities, of which a fraction is visible."""
    rng = torch.Generator().manual_seed(seed)
    values = torch.randn(*shape, features, generator=rng)
    return Entities(values, torch.rand(*shape, generator=rng) < visible)

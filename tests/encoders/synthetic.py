"""Frames with known contents: bright squares on a dark table."""

from dataclasses import replace

import torch

from jostle.encoders.dlp_config import LITE_DLP

TINY = replace(
    LITE_DLP,
    image_size=32,
    patch_size=8,
    num_proposals=12,
    num_particles=6,
    glimpse_size=8,
    box_size_prior=7 / 32,
    num_cameras=1,
    particle_cost=0.5,
)
"""The lite model for images of 32 pixels."""
COLORS = torch.tensor(((230, 40, 40), (40, 220, 60), (60, 80, 240)), dtype=torch.uint8)


def squares(batch: int, views: int = 1, size: int = 32, side: int = 5, seed: int = 0):
    """Frames (B, V, H, W, 3), and the centers (B, V, 2, 2) of two squares in (y, x) of [-1, 1]."""
    rng = torch.Generator().manual_seed(seed)
    frames = torch.full((batch, views, size, size, 3), 70, dtype=torch.uint8)
    corners = torch.randint(1, size - side - 1, (batch, views, 2, 2), generator=rng)
    colors = torch.randint(len(COLORS), (batch, views, 2), generator=rng)
    for b in range(batch):
        for v in range(views):
            for n in range(2):
                y, x = corners[b, v, n].tolist()
                frames[b, v, y : y + side, x : x + side] = COLORS[colors[b, v, n]]
    return frames, 2 * (corners + (side - 1) / 2) / (size - 1) - 1

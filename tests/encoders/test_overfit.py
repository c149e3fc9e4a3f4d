"""The paper's particle model at full size overfits one image, including its particles.

Two cores are too slow to train it to convergence; this shows that it trains at all. Only the
initialization differs from the preset (the released code takes 8,000 warm-up steps to leave its
tiny random weights), and the length of the warm-up.
"""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from synthetic import squares  # noqa: E402

from jostle.encoders.dlp import DLP  # noqa: E402
from jostle.encoders.dlp_config import PAPER_DLP  # noqa: E402
from jostle.encoders.images import to_images  # noqa: E402

WARMUP, STEPS = 300, 1000
EAGER = replace(
    PAPER_DLP, zero_init_heads=True, heatmap_init_std=0.5, feature_init_gain=60.0,
    conv_init_std=0.1, num_cameras=1, warmup_steps=WARMUP, noisy_steps=WARMUP,
)  # fmt: skip
"""The preset with other initial weights and shorter phases."""
TABLE = 70
"""Brightness of the empty table."""


def train(model: DLP, frames: torch.Tensor, steps: range, lr: float) -> float:
    """Train over `steps`; returns the mean reconstruction error of the last fifty."""
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.Adam(trained, lr, betas=(0.9, 0.99))
    rng, errors = torch.Generator().manual_seed(steps.start), []
    for step in steps:
        with torch.autocast("cpu", torch.bfloat16, cache_enabled=False):
            loss, log = model.loss(frames, step, rng)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        errors.append(log["reconstruction"].item())
    return sum(errors[-50:]) / 50


@pytest.mark.slow
@pytest.mark.parametrize("background", ["image", "conv"])
def test_the_papers_model_overfits_one_image(background):
    torch.manual_seed(0)
    frames, _ = squares(1, size=128, side=14)
    empty = torch.full_like(frames, TABLE)
    baseline = (to_images(frames, 128) - to_images(empty, 128)).square().sum().item()
    model = DLP(replace(EAGER, background=background))
    if model.background_images is not None:  # fixed: only particles can explain the squares
        model.init_from_data(empty)
        model.background_images.requires_grad_(False)
    train(model, frames, range(WARMUP), lr=1e-3)
    error = train(model, frames, range(WARMUP, STEPS), lr=2e-4)
    assert error < 0.25 * baseline

"""Figures of the pages on concepts."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from jostle.envs.vector import TabletopVectorEnv
from jostle.reports.concept_diagrams import draw_entities, draw_transformer, draw_values
from jostle.reports.concept_plots import draw_chamfer, draw_hindsight, draw_imitation
from jostle.reports.video import Frame, hstack, save_image, with_title

_ENCODER = "dlp-6cubes"
_DRAWN = {
    "entities": draw_entities, "transformer": draw_transformer, "values": draw_values,
    "hindsight": draw_hindsight, "chamfer": draw_chamfer, "imitation": draw_imitation,
}  # fmt: skip


def concept_figures(folder: Path, seed: int) -> dict[Path, Callable[[Path], object]]:
    """All of them by path, with what draws them; particles are of an episode with this seed."""
    figures: dict[Path, Callable[[Path], object]] = {
        folder / f"{name}.png": draw for name, draw in _DRAWN.items()
    }
    figures[folder / "particles.png"] = lambda path: save_image(particles_sheet(seed), path)
    return figures


def particles_sheet(seed: int) -> Frame:
    """A frame, its particles, and its reconstruction; below, the same of the goal."""
    import torch

    from jostle.reports.overlays import detect, draw_overlay
    from jostle.zoo.encoders import load_encoder

    encoder = load_encoder(_ENCODER)
    env = TabletopVectorEnv(
        1, "ThreeCubes", obs_type="both", cameras=("front", "side"),
        image_size=encoder.config.image_size,
    )  # fmt: skip
    observation, _ = env.reset(seed=seed)
    env.close()
    rows = []
    for title, prefix in (("state", ""), ("goal", "goal_")):
        frames = np.stack([observation[f"{prefix}{name}"][0] for name in ("front", "side")])
        detected = detect(encoder, frames)
        drawn = encoder.reconstruct(torch.from_numpy(frames)[None])[0].numpy()  # (V, H, W, 3)
        large = [_enlarged(frames[0]), _enlarged(drawn[0])]
        particles = draw_overlay(large[0], detected, view=0)
        titles = (f"{title}: frame", "particles", "reconstruction")
        images = (large[0], particles, large[1])
        rows.append(hstack(*(with_title(*pair) for pair in zip(images, titles, strict=True))))
    return np.concatenate(rows, axis=0)


def _enlarged(frame: Frame, factor: int = 2) -> Frame:
    return frame.repeat(factor, axis=0).repeat(factor, axis=1)

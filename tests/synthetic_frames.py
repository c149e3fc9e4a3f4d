"""A folder of frames written without any simulator: bright squares on a dark table."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from jostle.frames.manifest import Layout
from jostle.frames.shards import SCENE, FrameFolder
from jostle.particles.catalog import KINDS, EncoderConfig
from jostle.pretraining.config import Pretraining, recipe

STEPS = 2
"""Scenes of an episode."""
SIZES: dict[str, dict] = {
    "dlp": {"patch": 8, "proposals": 12, "particles": 6, "glimpse": 8, "box_prior": 7 / 32},
    "vae": {
        "shrink": 2, "base": 4, "multipliers": (1, 2), "groups": 2, "latents": 8, "hidden": 16,
        "maps": 4,
    },
    "slots": {"shrink": 2, "slots": 3, "channels": 4, "width": 8, "hidden": 8},
}  # fmt: skip
"""What makes the lite encoders tiny."""


def write_frames(path: Path, episodes: int = 24, size: int = 32, task: str = "Squares") -> Path:
    """Append a shard of episodes, each a square that moves, seen by two cameras."""
    layout = Layout(cameras=({"name": "left"}, {"name": "right"}), size=(size, size))
    with FrameFolder(path, layout) as folder:
        number = folder.begin({"task": task}, {"truth": 0}, [(1.0, 0.0, 0.0)], {})
        first, scenes = folder.episodes(number), episodes * STEPS
        rng = np.random.default_rng(first)
        frames = np.full((scenes, *layout.shape), 70, np.uint8)
        for scene in frames:
            for view in scene:
                y, x = rng.integers(1, size - 6, 2)
                view[y : y + 5, x : x + 5] = rng.integers(0, 255, 3)
        rows = np.zeros(scenes, SCENE)
        rows["episode"] = np.repeat(first + np.arange(episodes), STEPS)
        rows["step"] = np.tile(np.arange(STEPS), episodes)
        streams = {"frames": (frames.dtype, layout.shape, scenes), "scenes": (SCENE, (), scenes)}
        with folder.open_shard(streams) as pen:
            pen.append("frames", frames)
            pen.append("scenes", rows)
            pen.finish(number, first, episodes, scenes)
    return path


def tiny_model(kind: str) -> EncoderConfig:
    """A lite encoder for pictures of 32 pixels."""
    return replace(KINDS[kind].presets["lite"], image=32, **SIZES[kind])


def tiny(data: Path | str, kind: str = "dlp", **changes) -> Pretraining[EncoderConfig]:
    """A lite pretraining cut down to seconds."""
    wish = {
        "data": str(data), "batch": 4, "steps": 12, "log_every": 2, "validate_every": 4,
        "validation": 0.2, "validation_scenes": 6, "save_every": 3, "threads": 1, "device": "cpu",
        "lr_warmup": 3,
    }  # fmt: skip
    return replace(recipe(kind, "lite"), model=tiny_model(kind), **{**wish, **changes})

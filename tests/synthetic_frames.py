"""A folder of frames written without a simulator: bright squares on a dark table."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from jostle.encoders.catalog import ENCODERS, EncoderConfig
from jostle.frames.manifest import Layout
from jostle.frames.shards import SCENE, FrameFolder
from jostle.pretraining.config import Pretraining, preset

STEPS = 2
"""Scenes of an episode."""
SIZES: dict[str, dict] = {
    "dlp": {
        "patch_size": 8, "num_proposals": 12, "num_particles": 6, "glimpse_size": 8,
        "box_size_prior": 7 / 32,
    },
    "vae": {
        "downscale": 2, "base_channels": 4, "channel_multipliers": (1, 2), "norm_groups": 2,
        "latent_dim": 8, "hidden_dim": 16, "bottleneck_channels": 4,
    },
    "slots": {"downscale": 2, "num_slots": 3, "channels": 4, "slot_dim": 8, "hidden_dim": 8},
}  # fmt: skip
"""Changes that make the lite encoders tiny."""


def write_frames(path: Path, episodes: int = 24, size: int = 32, task: str = "Squares") -> Path:
    """Append a shard of episodes, each of one square per frame at random, from two cameras."""
    layout = Layout(cameras=({"name": "left"}, {"name": "right"}), size=(size, size))
    with FrameFolder(path, layout) as folder:
        number = folder.add_collection({"task": task}, {"truth": 0}, [(1.0, 0.0, 0.0)], {})
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
        with folder.open_shard(streams) as writer:
            writer.append("frames", frames)
            writer.append("scenes", rows)
            writer.finish(number, first, episodes, scenes)
    return path


def tiny_model(kind: str) -> EncoderConfig:
    """Config of a lite encoder for images of 32 pixels."""
    return replace(ENCODERS[kind].presets["lite"], image_size=32, **SIZES[kind])


def tiny(data: Path | str, kind: str = "dlp", **changes) -> Pretraining[EncoderConfig]:
    """A lite pretraining cut down to seconds."""
    short = {
        "data": str(data), "batch_size": 4, "steps": 12, "log_every": 2, "validate_every": 4,
        "validation": 0.2, "validation_scenes": 6, "save_every": 3, "threads": 1, "device": "cpu",
        "lr_warmup_steps": 3,
    }  # fmt: skip
    return replace(preset(kind, "lite"), model=tiny_model(kind), **{**short, **changes})

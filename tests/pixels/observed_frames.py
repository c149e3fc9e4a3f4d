"""Frames that agents observe, as hashes: `python tests/pixels/observed_frames.py` writes them.

Encoders and agents of the zoo depend on every pixel of these frames.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from jostle.envs.vector import TabletopVectorEnv
from jostle.pixels.backend import context, renderer_name

STORED = Path(__file__).with_suffix(".json")
CASES: dict[str, dict[str, Any]] = {
    "ThreeCubes": {},
    "PushT": {"objects": 2},
    "Sorting": {},
    "SmallTable": {"colors": "random"},
    "OrderedPush": {"shadows": True},
    "Distractors": {"cameras": ("top", "corner"), "image_size": (96, 160)},
    "NCubes": {"objects": (1, 4), "variation": "shape=star light=0.7 light_angle=30"},
}
"""Options of an environment, by task."""
_ACTIONS = np.array([(0.6, -0.4, -0.2), (-0.3, 0.9, 0.1)], np.float32)


def driver() -> str:
    """Name of the GL driver, on which the last bits of a frame depend."""
    opened = context(8, 8)
    name = renderer_name()
    opened.free()
    return name


def observed(task: str) -> dict[str, dict[str, Any]]:
    """Hash and mean color of all frames, goal images and rendered views of a short episode."""
    options = {"obs_type": "both", "render_mode": "rgb_array", "render_size": 192} | CASES[task]
    env = TabletopVectorEnv(1, task, threads=1, **options)
    steps = [env.reset(seed=3)[0]]
    rendered = [env.render()[0]]
    for action in _ACTIONS:
        steps.append(env.step(action[None])[0])
        rendered.append(env.render()[0])
    env.close()
    frames = {
        name: [step[name] for step in steps] for name in steps[0] if _is_image(steps[0][name])
    }
    return {name: _summary(images) for name, images in (frames | {"render": rendered}).items()}


def _is_image(values: np.ndarray) -> bool:
    return values.dtype == np.uint8


def _summary(images: list[np.ndarray]) -> dict[str, Any]:
    pixels = np.stack(images)
    digest = hashlib.sha256(pixels.tobytes()).hexdigest()[:16]
    mean = pixels.reshape(-1, 3).mean(0)
    return {"hash": digest, "mean": [round(float(value), 3) for value in mean]}


if __name__ == "__main__":
    content = {"driver": driver(), "frames": {task: observed(task) for task in CASES}}
    STORED.write_text(json.dumps(content, indent=2) + "\n")

"""Run an agent that `jostle export onnx` wrote: python onnx_agent.py FOLDER [ENV_ID]. No torch."""

import json
import sys
from pathlib import Path

import gymnasium
import numpy as np
import onnxruntime

import jostle  # noqa: F401  (registers the environments)

folder = Path(sys.argv[1])
agent = json.loads((folder / "agent.json").read_text())
files = {name: folder / graph["file"] for name, graph in agent["graphs"].items()}
actor = onnxruntime.InferenceSession(files["actor"])
encoder = onnxruntime.InferenceSession(files["encoder"]) if "encoder" in files else None


def encode(prefix: str) -> list[np.ndarray]:
    """Entities of the images of all cameras, and which of them are visible."""
    frames = np.stack([observation[prefix + name] for name in agent["cameras"]])[None]
    return encoder.run(None, {"frames": frames})


env_id = sys.argv[2] if len(sys.argv) > 2 else agent["env_id"]
env = gymnasium.make(env_id, **agent["env_kwargs"])
observation, _ = env.reset(seed=0)
goal, truncated = encode("goal_") if encoder else None, False
while not truncated:
    if encoder:  # a pixel agent: state, state_visible, goal, goal_visible
        inputs = [*encode(""), *goal]
    else:  # true state: rows, goals, which objects are present
        rows = observation["observation"][None], observation["desired_goal"][None]
        inputs = [*rows, np.ones(rows[1].shape[:2], bool)]
    names = [given.name for given in actor.get_inputs()]
    action = actor.run(None, dict(zip(names, inputs, strict=True)))[0][0]
    observation, _, _, truncated, info = env.step(action)
print(f"{info['success_fraction']:.0%} of the objects at their goals")

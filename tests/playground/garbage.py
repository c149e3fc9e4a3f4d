"""Messages that no browser would send, and a few that it would."""

import json
import random
import string
from typing import Any

KINDS = ["run", "step", "reset", "speed", "replay", "goal", "push", "release", "color", "add",
         "remove", "drive", "save", "nothing", "", "__class__"]  # fmt: skip
FIELDS = ["slot", "x", "y", "z", "yaw", "final", "running", "seed", "value", "on", "color", "what"]


def garbage(source: random.Random) -> str:
    """One message."""
    choice = source.random()
    if choice < 0.2:
        return "".join(source.choices(string.printable, k=source.randrange(60)))
    if choice < 0.3:
        return json.dumps(value(source, 3))
    fields = source.sample(FIELDS, source.randrange(5))
    text = json.dumps({"type": source.choice(KINDS), **{name: value(source) for name in fields}})
    if choice < 0.4:  # cut off
        return text[: source.randrange(len(text))]
    return text


def value(source: random.Random, depth: int = 1) -> Any:
    """Anything that JSON can hold."""
    plain = [None, True, False, 0, 1, 2, -1, 10**20, 0.05, -0.1, 1e308, float("nan"),
             float("inf"), "", "red", "film", "\x00", "ü" * 50]  # fmt: skip
    if depth and source.random() < 0.1:
        return [value(source, depth - 1), {"a": value(source, depth - 1)}]
    return source.choice(plain)

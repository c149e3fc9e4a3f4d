"""Names of old presets as they are now: used by upgrade_format.py."""

import re

_METHODS = {"distill": "dagger", "privileged": "td3-privileged", "finetune": "td3"}
_FLAGS = {
    "mlp": "--arch mlp", "smorl": "--arch smorl", "slots": "--encoder slots-6cubes",
    "front": "--views 1", "colors": "--colors random", "paper": "--size paper",
}  # fmt: skip
"""Parts of an old preset's name, and the flags of `jostle train` that replace them, in order."""


def new_preset(old: str) -> tuple[str, str]:
    """Name of the experiment of an old preset, and its words of `jostle train`."""
    match = re.fullmatch(r"(.+?)-(state|pixels)((?:-\w+)*)", old)
    if match is None:
        return old, old
    task, obs, rest = match.groups()
    parts = rest.removeprefix("-").split("-") if rest else []
    # Observation and method
    method = next((_METHODS[part] for part in parts if part in _METHODS), "td3")
    if "finetune" in parts and obs == "pixels":
        method = "td3-privileged"
    name, words = [task, obs, method], [task]
    words += ["--obs pixels"] if obs == "pixels" else []
    words += [f"--method {method}"] if (obs, method) != ("pixels", "dagger") else []
    if "finetune" in parts:
        name, words = [*name, "finetune"], [*words, "--finetune"]
    # Variants
    for part, flag in _FLAGS.items():
        if part in parts:
            vector = part == "mlp" and obs == "pixels"  # one vector per image
            name += [part, "vae"] if vector else [part]
            words += [flag, "--encoder vae-123cubes"] if vector else [flag]
    if "no" in parts:
        dropped = parts[parts.index("no") + 1]
        name, words = [*name, f"no-{dropped}"], [*words, f"--drop-attributes {dropped}"]
    return "-".join(name), " ".join(words)

"""The figures as a table to read and as files to keep."""

import json
import os
import platform
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

Row = tuple[str, str, str, str]
HEADER = ("What", "Measured", "Aim", "Details")
PACKAGES = ("jostle", "mujoco", "numpy", "gymnasium", "ogbench", "gymnasium-robotics")


def machine(renderer: str) -> dict[str, Any]:
    """Describe what this ran on."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "renderer": renderer,
        "python": platform.python_version(),
        **{name: _version(name) for name in PACKAGES},
    }


@dataclass(frozen=True)
class Report:
    """Everything one run found out."""

    command: str
    """What was typed."""
    machine: dict[str, Any]
    """What it ran on."""
    settings: dict[str, Any]
    """How it was measured."""
    figures: dict[str, Any]
    """The numbers."""

    def text(self) -> str:
        """Return the table for a terminal."""
        rows = [HEADER, *self._rows()]
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        lines = [
            "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)),
                       row[3]]).rstrip()
            for row in rows
        ]  # fmt: skip
        return "\n".join(lines)

    def markdown(self) -> str:
        """Return the same table as Markdown, with the command and the machine at its top."""
        told = ", ".join(f"{name} {value}" for name, value in self.machine.items())
        lines = ["# How fast the environments are", "", f"Made by `{self.command}` on: {told}.", ""]
        lines += [*self._notes(), ""]
        rows = [HEADER, ("---",) * 4, *self._rows()]
        return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows), ""])

    def write(self, folder: Path) -> None:
        """Write environments.json and environments.md."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "environments.json").write_text(json.dumps(asdict(self), indent=2) + "\n")
        (folder / "environments.md").write_text(self.markdown())

    def _notes(self) -> list[str]:
        rounds = self.settings["rounds"]
        notes = [
            f"{self.settings['copies']} copies on {self.settings['threads']} threads. Contestants "
            f"took turns over {rounds} round{'s' if rounds > 1 else ''}; ratios are the median of "
            "the rounds' ratios, times and speeds the best of the rounds. Bare MuJoCo went through "
            "the same states and drew the same pictures. Steps per second count all copies and "
            "include the start of new episodes. Other packages ran two copies, one per worker "
            "process (Gymnasium's AsyncVectorEnv, `python -O`, without Gymnasium's checks), with "
            "one picture of 128 by 256 pixels, as many as our two views of 128 by 128 have. They "
            "draw their own scenes at their own quality, with meshes (OGBench: 185 000 faces and a "
            "shadow). Their steps simulate less time than ours, hence the second ratio.",
        ]
        if self.settings["quick"]:
            notes += ["", "**Taken with `--quick`: these numbers are no measurement.**"]
        return notes

    def _rows(self) -> Iterator[Row]:
        yield from self._overheads()
        yield from self._speeds()
        yield from self._memory()
        for title, kinds in self.figures["rivals"].items():
            for kind, found in kinds.items():
                yield from _rival(title, kind, found)

    def _overheads(self) -> Iterator[Row]:
        names = {
            "state_overhead": "State: step / bare physics",
            "pixels_overhead": "Two views: step / bare physics and drawing",
        }
        for key, name in names.items():
            found = self.figures[key]
            spread = f"{min(found['ratios']):.2f} to {max(found['ratios']):.2f}"
            times = f"{found['our_best_step_ms']:.2f} ms / {found['bare_best_step_ms']:.2f} ms"
            same = "same states" if found["same_states"] else "STATES DIFFER"
            if found.get("mean_pixel_gap", 0.0) > 1.0:
                same += ", PICTURES DIFFER"
            details = f"{times} per step of all copies; rounds {spread}; {same}"
            yield name, f"{found['ratio']:.2f}", "≤ 1.3", details

    def _speeds(self) -> Iterator[Row]:
        for kind, aim in (("state", "≥ 1000"), ("pixels", "≥ 200")):
            found = self.figures["speed"][kind]
            details = f"3 cubes, median {found['median']:.0f}"
            yield f"Steps per second, {kind}", f"{found['steps_per_second']:.0f}", aim, details
        for count, found in self.figures["cubes"].items():
            name = f"Steps per second, state, {count} cube{'s' if count != '1' else ''}"
            details = f"{found['share_of_three']:.2f} of the speed with 3"
            yield name, f"{found['steps_per_second']:.0f}", "", details

    def _memory(self) -> Iterator[Row]:
        for kind, found in self.figures["memory"].items():
            details = f"on top of {found['imports']:.0f} MiB for the imports"
            yield f"Memory of the copies, {kind}", f"{found['environment']:.0f} MiB", "", details


def _rival(title: str, kind: str, found: dict[str, Any]) -> Iterator[Row]:
    name = f"{title}, {kind}: "
    if "reason" in found:
        yield name + "ours / theirs", "none", "≥ 2", found["reason"].replace("|", "/")
        return
    details = f"{found['ours']:.0f} / {found['theirs']:.0f} steps per second"
    yield name + "steps", f"{found['ratio_steps']:.1f}", "≥ 2", details
    ours, theirs = found["our_simulated_per_second"], found["their_simulated_per_second"]
    clock = found["their_step_seconds"]
    details = f"{ours:.1f} / {theirs:.1f} simulated seconds per second; their step is {clock:g} s"
    yield name + "simulated time", f"{found['ratio_simulated']:.1f}", "≥ 2", details


def _cpu() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or "unknown"
    match = re.search(r"model name\s*:\s*(.+)", text)
    return match[1] if match else "unknown"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"

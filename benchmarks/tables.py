"""Results of the environment benchmark as a table and as files."""

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
    """The machine and the versions of packages."""
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
    """Results of one run."""

    command: str
    """Command line."""
    machine: dict[str, Any]
    """Machine and versions."""
    settings: dict[str, Any]
    """Settings of the measurement."""
    figures: dict[str, Any]
    """Measured numbers."""

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
        machine = ", ".join(f"{name} {value}" for name, value in self.machine.items())
        lines = ["# Speed of the environments", "", f"Made by `{self.command}` on: {machine}.", ""]
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
            f"{self.settings['num_envs']} environments on {self.settings['threads']} threads. "
            f"Contestants took turns over {rounds} round{'s' if rounds > 1 else ''}; ratios are "
            "the median of the rounds' ratios, times and speeds the best of the rounds. Bare "
            "MuJoCo simulated the same states and rendered the same images. Steps per second count "
            "all environments and include resets. Other packages ran two environments, one per "
            "worker process (Gymnasium's AsyncVectorEnv, `python -O`, without Gymnasium's checks), "
            "with one image of 128 by 256 pixels, as many as our two views of 128 by 128 have. "
            "They render their own scenes at their own quality, with meshes (OGBench: 185 000 "
            "faces and a shadow). Their steps simulate less time than ours, hence the second "
            "ratio.",
        ]
        if self.settings["quick"]:
            notes += ["", "**Made with `--quick`: these numbers are not a measurement.**"]
        return notes

    def _rows(self) -> Iterator[Row]:
        yield from self._overheads()
        yield from self._speeds()
        yield from self._memory()
        for package, observations in self.figures["other_packages"].items():
            for observation, result in observations.items():
                yield from _other_package(package, observation, result)

    def _overheads(self) -> Iterator[Row]:
        names = {
            "state_overhead": "State: step / bare physics",
            "pixels_overhead": "Two views: step / bare physics and rendering",
        }
        for key, name in names.items():
            result = self.figures[key]
            spread = f"{min(result['ratios']):.2f} to {max(result['ratios']):.2f}"
            times = f"{result['our_best_step_ms']:.2f} ms / {result['bare_best_step_ms']:.2f} ms"
            same = "same states" if result["same_states"] else "STATES DIFFER"
            if result.get("mean_pixel_gap", 0.0) > 1.0:
                same += ", IMAGES DIFFER"
            details = f"{times} per step of all environments; rounds {spread}; {same}"
            yield name, f"{result['ratio']:.2f}", "≤ 1.3", details

    def _speeds(self) -> Iterator[Row]:
        for observation, aim in (("state", "≥ 1000"), ("pixels", "≥ 200")):
            result = self.figures["speed"][observation]
            name, details = (
                f"Steps per second, {observation}",
                f"3 cubes, median {result['median']:.0f}",
            )
            yield name, f"{result['steps_per_second']:.0f}", aim, details
        for count, result in self.figures["cubes"].items():
            name = f"Steps per second, state, {count} cube{'s' if count != '1' else ''}"
            details = f"{result['share_of_three']:.2f} of the speed with 3"
            yield name, f"{result['steps_per_second']:.0f}", "", details

    def _memory(self) -> Iterator[Row]:
        for observation, result in self.figures["memory"].items():
            details = f"on top of {result['imports']:.0f} MiB for the imports"
            name = f"Memory of the environments, {observation}"
            yield name, f"{result['environment']:.0f} MiB", "", details


def _other_package(package: str, observation: str, result: dict[str, Any]) -> Iterator[Row]:
    name = f"{package}, {observation}: "
    if "reason" in result:
        yield name + "ours / theirs", "none", "≥ 2", result["reason"].replace("|", "/")
        return
    details = f"{result['ours']:.0f} / {result['theirs']:.0f} steps per second"
    yield name + "steps", f"{result['ratio_steps']:.1f}", "≥ 2", details
    ours, theirs = result["our_simulated_per_second"], result["their_simulated_per_second"]
    step = result["their_step_seconds"]
    details = f"{ours:.1f} / {theirs:.1f} simulated seconds per second; their step is {step:g} s"
    yield name + "simulated time", f"{result['ratio_simulated']:.1f}", "≥ 2", details


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

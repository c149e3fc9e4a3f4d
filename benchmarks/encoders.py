"""Speed and memory of encoders: lite and paper presets, and a plain version of the paper's DLP.

All workloads of one run take turns, and speeds are compared by the median over rounds of their
ratios. `make bench-encoders` writes docs/results/encoding.md.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import tables
import torch
import tyro
from environments import take_turns
from memory import resident
from plain_dlp import PlainEncoder

from jostle.encoders.catalog import ENCODERS, build_encoder

Workload = Callable[[], Any]


@dataclass(frozen=True)
class Options:
    """Measure encoding and training steps, and write encoding.json and encoding.md."""

    out: Path = Path("docs/results")
    """Folder for the two files."""
    rounds: int = 5
    """Measurements of each workload; workloads take turns."""
    images: int = 32
    """Images of a batch."""
    threads: int = 2
    """Threads of torch."""
    memory: str = ""
    """Only print the memory of one workload, such as 'dlp lite train'."""


def random_frames(images: int) -> torch.Tensor:
    """Frames of two views with random pixels: the speed does not depend on their content."""
    rng = torch.Generator().manual_seed(0)
    return torch.randint(256, (images // 2, 2, 128, 128, 3), generator=rng, dtype=torch.uint8)


def encoding(kind: str, preset: str, frames: torch.Tensor, plain: bool = False) -> Workload:
    """Encode a batch."""
    model = build_encoder(kind, ENCODERS[kind].presets[preset]).eval()
    if plain:
        plain_encoder = PlainEncoder(model)  # type: ignore[arg-type]
        return lambda: plain_encoder(frames)
    return lambda: model.encode(frames)


def training(kind: str, preset: str, frames: torch.Tensor) -> Workload:
    """A training step: loss, gradient, Adam."""
    model = build_encoder(kind, ENCODERS[kind].presets[preset])
    adam = torch.optim.Adam(model.parameters(), 1e-5)

    def step() -> None:
        loss, _ = model.loss(frames, 10**6)
        adam.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        adam.step()

    return step


def make_workload(name: str, images: int) -> Workload:
    """Make a workload from its name: kind, preset, and encode, plain or train."""
    kind, preset, task = name.split()
    if task == "train":
        return training(kind, preset, random_frames(images))
    return encoding(kind, preset, random_frames(images), plain=task == "plain")


def timed(workload: Workload) -> Callable[[], float]:
    """Function that runs a workload and returns its seconds; warms it up first."""
    workload()

    def run() -> float:
        start = time.perf_counter()
        workload()
        return time.perf_counter() - start

    return run


def memory(name: str, images: int) -> float:
    """Peak memory of a workload, in MiB per image, in a fresh process."""
    command = [sys.executable, __file__, "--memory", name, "--images", str(images)]
    process = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(process.stdout)


def print_memory(name: str, images: int) -> None:
    """Print the memory that a batch adds to that of the model."""
    make_workload(name, 2)()
    workload = make_workload(name, images)
    before = resident("VmRSS")
    workload()
    print(max(resident("VmHWM") - before, 0.0) / images)


NAMES = (
    "dlp lite encode", "dlp paper encode", "dlp paper plain", "vae lite encode",
    "slots lite encode", "dlp lite train", "dlp paper train", "vae lite train", "slots lite train",
)  # fmt: skip


def main() -> None:
    """Measure and write."""
    options = tyro.cli(Options)
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    if options.memory:
        print_memory(options.memory, options.images)
        return
    workloads = {name: timed(make_workload(name, options.images)) for name in NAMES}
    seconds = take_turns(workloads, options.rounds)
    mib_per_image = {name: memory(name, options.images) for name in NAMES}
    text = markdown_page(seconds, mib_per_image, options)
    print(text)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "encoding.md").write_text(text)
    figures = {
        "seconds_per_batch": seconds,
        "mib_per_image": mib_per_image,
        "images": options.images,
    }
    (options.out / "encoding.json").write_text(json.dumps(figures, indent=1) + "\n")


def markdown_page(
    seconds: dict[str, list[float]], mib_per_image: dict[str, float], options: Options
) -> str:
    """A table of ratios with their aims, and a table of all workloads."""

    def ratio(over: str, under: str) -> str:
        pairs = zip(seconds[over], seconds[under], strict=True)
        return f"{median(a / b for a, b in pairs):.2f}"

    def speed(name: str) -> str:
        return f"{options.images / min(seconds[name]):.0f} images/s"

    rows = [
        ("Encode: lite / paper", ratio("dlp paper encode", "dlp lite encode"), "≥ 6",
         f"{speed('dlp lite encode')} / {speed('dlp paper encode')}"),
        ("Encode: lite, images per second", speed("dlp lite encode"), "≥ 200", ""),
        ("Encode: paper / plain version of it", ratio("dlp paper plain", "dlp paper encode"),
         "≥ 1.5", f"{speed('dlp paper encode')} / {speed('dlp paper plain')}"),
        ("Training step: lite / paper", ratio("dlp paper train", "dlp lite train"), "≥ 8",
         f"{speed('dlp lite train')} / {speed('dlp paper train')}"),
    ]  # fmt: skip
    workloads = [(name, speed(name), f"{mib_per_image[name]:.1f} MiB") for name in NAMES]
    machine = ", ".join(f"{k} {v}" for k, v in tables.machine("none").items() if k != "renderer")
    command = f"python benchmarks/encoders.py {' '.join(sys.argv[1:])}".strip()
    lines = ["# Speed and memory of encoders", "", f"Made by `{command}` on: {machine}, torch "
             f"{torch.__version__}.", "",
             f"Batches of {options.images} images of 128 by 128 pixels, {options.threads} threads. "
             f"Workloads took turns over {options.rounds} rounds; ratios are the median of the "
             "rounds' ratios, speeds the best of the rounds. The plain version is "
             "`benchmarks/plain_dlp.py`. Memory is the peak that a batch adds to a process with "
             "the model, per image.", ""]  # fmt: skip
    lines += ["| " + " | ".join(row) + " |" for row in (tables.HEADER, ("---",) * 4, *rows)]
    header = ("Workload", "Speed", "Memory per image")
    lines += [
        "",
        *("| " + " | ".join(row) + " |" for row in (header, ("---",) * 3, *workloads)),
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()

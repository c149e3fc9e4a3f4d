"""How fast seeing is: lite beside paper, and paper beside a plain version of itself.

Everything is compared within one run: contestants take turns, and the median of the rounds' ratios
counts. `make bench-encoders` writes docs/results/encoding.md.
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
from environments import race
from memory import resident
from plain_dlp import PlainEncoder

from jostle.particles.catalog import KINDS, build

Work = Callable[[], Any]


@dataclass(frozen=True)
class Options:
    """Measure encoding and training steps, and write encoding.json and encoding.md."""

    out: Path = Path("docs/results")
    """Folder for the two files."""
    rounds: int = 5
    """How often contestants take turns."""
    images: int = 32
    """Images of a batch."""
    threads: int = 2
    """Threads of torch."""
    memory: str = ""
    """Only print the memory that one contestant takes, such as 'dlp lite train'."""


def frames(images: int) -> torch.Tensor:
    """Noise in the form of two views: the work does not depend on what they show."""
    rng = torch.Generator().manual_seed(0)
    return torch.randint(256, (images // 2, 2, 128, 128, 3), generator=rng, dtype=torch.uint8)


def encoding(kind: str, preset: str, seen: torch.Tensor, plain: bool = False) -> Work:
    """Encode a batch."""
    model = build(kind, KINDS[kind].presets[preset]).eval()
    if plain:
        straight = PlainEncoder(model)  # type: ignore[arg-type]
        return lambda: straight(seen)
    return lambda: model.encode(seen)


def training(kind: str, preset: str, seen: torch.Tensor) -> Work:
    """Take a training step: loss, gradient, Adam."""
    model = build(kind, KINDS[kind].presets[preset])
    adam = torch.optim.Adam(model.parameters(), 1e-5)

    def step() -> None:
        loss, _ = model.loss(seen, 10**6)
        adam.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        adam.step()

    return step


def contestant(name: str, images: int) -> Work:
    """Find a contestant by name: kind, preset, and encode, plain or train."""
    kind, preset, what = name.split()
    if what == "train":
        return training(kind, preset, frames(images))
    return encoding(kind, preset, frames(images), plain=what == "plain")


def turn(work: Work) -> Callable[[], float]:
    """Seconds of one go, after a warm-up."""
    work()

    def go() -> float:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    return go


def memory(name: str, images: int) -> float:
    """MiB per image that a contestant adds at its peak, in a fresh process."""
    command = [sys.executable, __file__, "--memory", name, "--images", str(images)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout)


def tell_memory(name: str, images: int) -> None:
    """Print what a batch adds to what the model alone takes."""
    contestant(name, 2)()
    work = contestant(name, images)
    before = resident("VmRSS")
    work()
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
        tell_memory(options.memory, options.images)
        return
    turns = {}
    for name in NAMES:
        turns[name] = turn(contestant(name, options.images))
    found = race(turns, options.rounds)
    taken = {name: memory(name, options.images) for name in NAMES}
    text = page(found, taken, options)
    print(text)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "encoding.md").write_text(text)
    figures = {"seconds_per_batch": found, "mib_per_image": taken, "images": options.images}
    (options.out / "encoding.json").write_text(json.dumps(figures, indent=1) + "\n")


def page(found: dict[str, list[float]], taken: dict[str, float], options: Options) -> str:
    """Lay out ratios against their aims, then every contestant."""

    def ratio(over: str, under: str) -> str:
        pairs = zip(found[over], found[under], strict=True)
        return f"{median(a / b for a, b in pairs):.2f}"

    def speed(name: str) -> str:
        return f"{options.images / min(found[name]):.0f} images/s"

    rows = [
        ("Encode: lite / paper", ratio("dlp paper encode", "dlp lite encode"), "≥ 6",
         f"{speed('dlp lite encode')} / {speed('dlp paper encode')}"),
        ("Encode: lite, images per second", speed("dlp lite encode"), "≥ 200", ""),
        ("Encode: paper / plain version of it", ratio("dlp paper plain", "dlp paper encode"),
         "≥ 1.5", f"{speed('dlp paper encode')} / {speed('dlp paper plain')}"),
        ("Training step: lite / paper", ratio("dlp paper train", "dlp lite train"), "≥ 8",
         f"{speed('dlp lite train')} / {speed('dlp paper train')}"),
    ]  # fmt: skip
    each = [(name, speed(name), f"{taken[name]:.1f} MiB") for name in NAMES]
    told = ", ".join(f"{k} {v}" for k, v in tables.machine("none").items() if k != "renderer")
    command = f"python benchmarks/encoders.py {' '.join(sys.argv[1:])}".strip()
    lines = ["# How fast seeing is", "", f"Made by `{command}` on: {told}, torch "
             f"{torch.__version__}.", "",
             f"Batches of {options.images} images of 128 by 128 pixels, {options.threads} threads. "
             f"Contestants took turns over {options.rounds} rounds; ratios are the median of the "
             "rounds' ratios, speeds the best of the rounds. The plain version is "
             "`benchmarks/plain_dlp.py`. Memory is what a batch adds at its peak to a process that "
             "holds the model, per image.", ""]  # fmt: skip
    lines += ["| " + " | ".join(row) + " |" for row in (tables.HEADER, ("---",) * 4, *rows)]
    head = ("Who", "Speed", "Memory per image")
    lines += ["", *("| " + " | ".join(row) + " |" for row in (head, ("---",) * 3, *each)), ""]
    return "\n".join(lines)


if __name__ == "__main__":
    main()

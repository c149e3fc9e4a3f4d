"""Where the time goes when an agent learns from pixels, and what packing its sets is worth.

`make bench-pixels` writes docs/results/pixel-speed.md.
"""

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import tables
import torch
import tyro
from environments import race

from jostle.agents.td3 import TD3Agent
from jostle.core.entities import Entities
from jostle.presets.catalog import PRESETS
from jostle.replay.sampler import Batch
from jostle.rollout.collect import play_round
from jostle.training.distill import imitation_loss
from jostle.training.workshop import Workshop, open_workshop
from jostle.zoo.agents import agent_for
from jostle.zoo.encoders import look


@dataclass(frozen=True)
class Options:
    """Measure collecting and updating from pixels, and write pixel-speed.json and .md."""

    out: Path = Path("docs/results")
    """Folder for the two files."""
    preset: str = "three-cubes-pixels-distill"
    """Whose loop."""
    encoder: str = "dlp-6cubes"
    """What it sees with."""
    copies: int = 32
    """Environments at once."""
    steps: int = 20
    """Steps of the episodes that are timed."""
    rounds: int = 5
    """How often contestants take turns."""
    threads: int = 2
    """Threads of physics, drawing and networks."""


class Clock:
    """Adds up the seconds spent inside functions, each without what it calls of the others."""

    def __init__(self) -> None:
        """Start at zero."""
        self.seconds: dict[str, float] = {}
        self._inner = 0.0

    def watch(self, owner: Any, name: str, label: str) -> None:
        """Time every call of `owner.name` under `label`."""
        plain: Callable[..., Any] = getattr(owner, name)

        def timed(*given: Any, **named: Any) -> Any:
            outer, self._inner = self._inner, 0.0
            start = time.perf_counter()
            try:
                return plain(*given, **named)
            finally:
                whole = time.perf_counter() - start
                own = whole - self._inner
                self.seconds[label] = self.seconds.get(label, 0.0) + own
                self._inner = outer + whole

        setattr(owner, name, timed)


def collecting(shop: Workshop, options: Options) -> tuple[dict[str, float], float]:
    """Seconds by part of one round led by the oracle, and environment steps per second."""
    clock, teacher = Clock(), agent_for("oracle", shop.env)
    clock.watch(shop.env._physics, "act", "physics")
    clock.watch(shop.env, "_draw", "drawing")
    clock.watch(shop.observer, "_see", "encoding")
    clock.watch(shop.agent, "act", "acting")

    def choose(observation: Any, state: Any, goal: Any) -> Any:
        shop.agent.act(*(_entities(one) for one in (state, goal)))
        return teacher.act(observation)

    start = time.perf_counter()
    episodes, _ = play_round(shop.env, shop.observer, choose, options.steps)
    whole = time.perf_counter() - start
    shop.ring.add(episodes)
    clock.seconds["the rest"] = whole - sum(clock.seconds.values())
    return clock.seconds, options.copies * options.steps / whole


def _entities(sets: Any) -> Entities:
    return Entities(torch.from_numpy(sets.values), torch.from_numpy(sets.visible))


def updating(agent: TD3Agent, batch: Batch, rounds: int) -> dict[str, list[float]]:
    """Seconds of one imitation update: all particles and a mask, or visible ones only."""

    def turn(see: Callable[[Entities], Entities]) -> Callable[[], float]:
        def go() -> float:
            start = time.perf_counter()
            loss = imitation_loss(agent.actor(see(batch.state), see(batch.goal)), batch.action)
            agent.actor_optimizer.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            return time.perf_counter() - start

        go()
        return go

    return race({"masked": turn(agent.normalizer), "packed": turn(agent.actor_sees)}, rounds)


def main() -> None:
    """Measure and write."""
    options = tyro.cli(Options)
    torch.set_num_threads(options.threads)
    preset = PRESETS[options.preset]
    training = replace(preset.training, copies=options.copies, threads=options.threads)
    shop = open_workshop(replace(preset, training=training), look(options.encoder))
    collecting(shop, options)  # everything is warm afterwards
    parts, speed = collecting(shop, options)
    batch = shop.sampler.sample(preset.td3.batch)
    step = updating(shop.agent, batch, options.rounds)
    sampling = time.perf_counter()
    for _ in range(20):
        shop.sampler.sample(preset.td3.batch)
    sampling = (time.perf_counter() - sampling) / 20
    ratio = median(a / b for a, b in zip(step["masked"], step["packed"], strict=True))
    per_step = preset.training.updates_per_step
    update = min(step["packed"]) * per_step * options.copies * options.steps
    parts |= {"sampling": sampling * per_step * options.copies * options.steps, "updates": update}
    whole = sum(parts.values())
    tokens = batch.state.visible.sum((1, 2)).float().mean().item()
    rows = [
        ("Collecting, two views: environment steps per second", f"{speed:.0f}", "≥ 75",
         f"{options.copies} copies, drawn and encoded"),
        ("Update: masked / packed", f"{ratio:.2f}", "≥ 1.5",
         f"{1e3 * min(step['masked']):.0f} ms / {1e3 * min(step['packed']):.0f} ms, "
         f"batch {preset.td3.batch}"),
        ("Visible particles of a state, both views", f"{tokens:.1f}", "",
         f"of {2 * batch.state.shape[1]}"),
        ("Replay: bytes per transition", f"{shop.ring.bytes_per_transition:.0f}", "≤ 2,500",
         "0.5 GB for 200,000"),
    ]  # fmt: skip
    shares = [(name, f"{100 * s / whole:.0f} %") for name, s in parts.items()]
    told = ", ".join(f"{k} {v}" for k, v in tables.machine("none").items() if k != "renderer")
    command = f"python benchmarks/pixels.py {' '.join(sys.argv[1:])}".strip()
    lines = ["# How fast learning from pixels is", "", f"Made by `{command}` on: {told}.", "",
             f"Preset `{options.preset}`, {options.threads} threads.", ""]  # fmt: skip
    lines += ["| " + " | ".join(row) + " |" for row in (tables.HEADER, ("---",) * 4, *rows)]
    lines += ["", f"Where the time of a training goes, at {per_step} updates per step:", ""]
    lines += ["| " + " | ".join(r) + " |" for r in (("Part", "Share"), ("---",) * 2, *shares)]
    text = "\n".join([*lines, ""])
    print(text)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "pixel-speed.md").write_text(text)
    figures = {"seconds": parts, "update_seconds": step, "steps_per_second": speed}
    (options.out / "pixel-speed.json").write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()

"""Speed of updates of the default networks: samples per CPU second compared to a plain reference.

True state with a value per object, and particles of two views, with relative positions. One thread,
processor time. Usage: python benchmarks/update_speed.py --out docs/results
"""

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import tables
import torch
import tyro
from environments import take_turns
from reference import PlainTD3

from jostle.agents.config import TD3Config
from jostle.agents.networks import ObservationSpec
from jostle.agents.td3 import TD3Agent
from jostle.core.entities import (
    DEPTH,
    FEATURES,
    GRIPPER,
    HEIGHT,
    OBJECT_ID,
    OPACITY,
    POSITION,
    SCALE,
    TABLE_XY,
    Entities,
    EntityLayout,
)
from jostle.presets.axes import Axes
from jostle.presets.experiments import make_experiment
from jostle.replay.batch import Batch, GoalTransition, Potential

CUBES, PARTICLES = 3, 24
STATE = EntityLayout(((POSITION, 2), (HEIGHT, 1), (GRIPPER, 1), (OBJECT_ID, 12)))
PIXELS = EntityLayout(
    ((POSITION, 2), (SCALE, 2), (DEPTH, 1), (FEATURES, 4), (OPACITY, 1), (TABLE_XY, 2))
)


@dataclass(frozen=True)
class Options:
    """Compare updates with the reference, and write update-speed.json and update-speed.md."""

    out: Path = Path("docs/results")
    """Folder for the two files."""
    rounds: int = 7
    """How often contestants take turns."""
    updates: int = 2
    """Updates per turn: an even number, as every second one also updates the actor."""


@dataclass(frozen=True)
class Case:
    """What is observed, and how much faster than the reference the update should be."""

    name: str
    axes: Axes
    layout: EntityLayout
    shape: tuple[int, int, int]
    """Views, entities of a state and entities of a goal."""
    visible: int
    """Visible entities of each view."""
    batch_size: int
    aim: float

    def entities(self, count: int) -> Entities:
        """Random entities of which `visible` of each view are, in random places."""
        values = torch.randn(self.batch_size, self.shape[0], count, self.layout.width)
        order = torch.rand(values.shape[:-1]).argsort(-1).argsort(-1)
        return Entities(values, order < self.visible)

    def batch(self, per_object: bool) -> Batch:
        """Random transitions, with one reward or one per object."""
        size, (_, states, goals) = self.batch_size, self.shape
        transition = GoalTransition(*map(self.entities, (states, goals, states)))
        reward = -torch.rand((size, CUBES) if per_object else (size,))
        present = torch.ones(size, CUBES, dtype=torch.bool) if per_object else None
        action, discount = torch.rand(size, 3) * 2 - 1, torch.full((size,), 0.95)
        potential = Potential(20 * reward, 20 * reward)
        return Batch(transition, transition, action, reward, discount, potential, present)

    def agent(self) -> TD3Agent:
        """The default agent of three cubes."""
        experiment = make_experiment("three-cubes", self.axes)
        views, states, goals = self.shape
        width = self.layout.width
        spec = ObservationSpec(
            state=(views, states, width), goal=(views, goals, width), layout=self.layout
        )
        # The reference moves its target networks at actor steps: so do all
        config = replace(experiment.td3, target_update="actor-step")
        return TD3Agent(experiment.net, config, spec, seed=0)


FROM_PIXELS = Axes(obs="pixels", method="td3")
CASES = (
    Case("2 × 24 particles, all visible", FROM_PIXELS, PIXELS, (2, PARTICLES, PARTICLES),
         PARTICLES, 64, 2),
    Case("2 × 24 particles, 8 of 24 visible", FROM_PIXELS, PIXELS, (2, PARTICLES, PARTICLES),
         8, 64, 5),
    Case("True state, a value per object", Axes(method="td3"), STATE, (1, CUBES + 1, CUBES),
         CUBES + 1, 512, 8),
)  # fmt: skip


def turn(learner: TD3Agent | PlainTD3, batch: Batch, updates: int) -> Callable[[], float]:
    """A turn of some updates, which returns processor seconds per update."""

    def timed() -> float:
        start = time.process_time()
        for _ in range(updates):
            learner.update(batch)
        return (time.process_time() - start) / updates

    timed()
    return timed


def compare(case: Case, options: Options) -> dict[str, list[float]]:
    """Processor seconds per update of both, one number per round."""
    agent = case.agent()
    ours = case.batch(agent.net.values == "per-entity")
    theirs = ours if ours.reward.dim() == 1 else ours._replace(reward=ours.reward.mean(-1))
    reference = PlainTD3(case.layout.width, TD3Config(), views=case.shape[0])
    contestants = {
        "reference": turn(reference, theirs, options.updates),
        "fast": turn(agent, ours, options.updates),
    }
    return take_turns(contestants, options.rounds)


def row(case: Case, seconds: dict[str, list[float]]) -> tuple[str, ...]:
    """The median of the rounds' ratios, and the best times."""
    ratios = [a / b for a, b in zip(seconds["reference"], seconds["fast"], strict=True)]
    best = {name: 1e3 * min(times) for name, times in seconds.items()}
    details = f"{best['reference']:.0f} ms / {best['fast']:.0f} ms, batch {case.batch_size} both; "
    details += f"rounds {min(ratios):.2f} to {max(ratios):.2f}"
    return f"{case.name}: updates / reference", f"{median(ratios):.2f}", f"≥ {case.aim:g}", details


def main() -> None:
    """Measure and write."""
    options = tyro.cli(Options)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    figures = {case.name: compare(case, options) for case in CASES}
    rows = [row(case, figures[case.name]) for case in CASES]
    load = f"{os.getloadavg()[0]:.0f}"
    machine = ", ".join(f"{k} {v}" for k, v in tables.machine("none").items() if k != "renderer")
    command = f"python benchmarks/update_speed.py {' '.join(sys.argv[1:])}".strip()
    lines = [
        "# Speed of updates", "", f"Made by `{command}` on: {machine}.", "",
        f"Size fast, one thread, processor time, while the machine had a load of {load}. "
        f"Contestants took turns over {options.rounds} rounds; ratios are the median of the "
        "rounds' ratios, times the best of the rounds. The reference is "
        "`benchmarks/reference.py`: the paper's sizes, without relative positions, and one value "
        "of the whole set.", "",
    ]  # fmt: skip
    lines += ["| " + " | ".join(cells) + " |" for cells in (tables.HEADER, ("---",) * 4, *rows)]
    text = "\n".join([*lines, ""])
    print(text)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "update-speed.md").write_text(text)
    (options.out / "update-speed.json").write_text(
        json.dumps({"load": load, "update_cpu_seconds": figures}, indent=1) + "\n"
    )


if __name__ == "__main__":
    main()

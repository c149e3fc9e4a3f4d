"""How fast learning is: updates beside a plain reference, replay beside Stable-Baselines3.

Everything is compared within one run: contestants take turns, and the median of the rounds' ratios
counts. `make bench-learning` installs what is needed and writes docs/results/learning.md.
"""

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any, Literal

import numpy as np
import tables
import torch
import tyro
from environments import race
from reference import PlainTD3

from jostle.agents.build import Shapes
from jostle.agents.td3 import TD3Agent
from jostle.core.entities import Entities
from jostle.presets.catalog import PRESETS
from jostle.replay.sampler import Batch
from jostle.rollout.collect import play_round
from jostle.training.workshop import Workshop, open_workshop

CUBES, FEATURES, CODES = 3, 16, 12
FAST, PAPER = "three-cubes-state", "three-cubes-state-paper"


@dataclass(frozen=True)
class Options:
    """Measure updates and replay, and write learning.json and learning.md."""

    out: Path = Path("docs/results")
    """Folder for the two files."""
    rounds: int = 7
    """How often contestants take turns."""
    updates: int = 8
    """Updates per turn."""
    threads: int = 2
    """Threads of torch."""


def random_batch(size: int) -> Batch:
    """Transitions of three cubes, of noise."""

    def entities(count: int) -> Entities:
        return Entities.all_visible(torch.randn(size, 1, count, FEATURES))

    return Batch(
        entities(CUBES + 1), entities(CUBES), torch.rand(size, 3) * 2 - 1, -torch.rand(size),
        entities(CUBES + 1), torch.full((size,), 0.98),
    )  # fmt: skip


def timed(update: Callable[[Batch], Any], batch: Batch, count: int) -> Callable[[], float]:
    """A turn: seconds per update."""

    def turn() -> float:
        start = time.perf_counter()
        for _ in range(count):
            update(batch)
        return (time.perf_counter() - start) / count

    for _ in range(4):
        update(batch)
    return turn


def agent(preset: str, precision: Literal["full", "bf16"] = "full") -> TD3Agent:
    """A fresh agent of a preset, for three cubes."""
    experiment = PRESETS[preset]
    shapes = Shapes(state=(1, CUBES + 1, FEATURES), goal=(1, CUBES, FEATURES), codes=CODES)
    # The reference moves its slow copies at actor steps: so shall all.
    config = replace(experiment.td3, slow_copies="actor-step", precision=precision)
    return TD3Agent(experiment.net, config, shapes, seed=0)


def updates(options: Options) -> dict[str, list[float]]:
    """Seconds per update of all contestants, round by round."""
    paper, fast = PRESETS[PAPER].td3.batch, PRESETS[FAST].td3.batch
    reference = PlainTD3(FEATURES, PRESETS[PAPER].td3)
    contestants = {
        "reference": timed(reference.update, random_batch(paper), options.updates),
        "paper": timed(agent(PAPER).update, random_batch(paper), options.updates),
        "paper, bf16": timed(agent(PAPER, "bf16").update, random_batch(paper), options.updates),
        "fast": timed(agent(FAST).update, random_batch(fast), options.updates),
        "fast, batch of paper": timed(agent(FAST).update, random_batch(paper), options.updates),
    }
    return race(contestants, options.rounds)


def filled(episodes: int) -> Workshop:
    """A workshop of the fast preset whose memory holds episodes of random actions."""
    experiment = PRESETS[FAST]
    shop = open_workshop(
        replace(experiment, training=replace(experiment.training, copies=32, horizon=50))
    )
    rng = np.random.default_rng(0)
    while shop.ring.size < episodes:
        played, _ = play_round(
            shop.env,
            shop.observer,
            lambda *_: rng.uniform(-1, 1, (32, 3)).astype(np.float32),
            shop.steps,
        )
        shop.ring.add(played)
    return shop


def rival_buffer(shop: Workshop, batch: int) -> Callable[[], Any]:
    """Stable-Baselines3's hindsight buffer with the very same episodes; returns its `sample`."""
    import gymnasium as gym
    from stable_baselines3.common.vec_env import DummyVecEnv
    from stable_baselines3.her.her_replay_buffer import HerReplayBuffer

    held = shop.ring.view()
    episodes, steps = held.actions.shape[:2]
    states = held.states.reshape(episodes, steps + 1, -1)
    spaces = {
        "observation": gym.spaces.Box(-np.inf, np.inf, states.shape[2:], np.float32),
        "achieved_goal": gym.spaces.Box(-np.inf, np.inf, held.achieved.shape[2:], np.float32),
        "desired_goal": gym.spaces.Box(-np.inf, np.inf, held.desired.shape[1:], np.float32),
    }

    class Judge(gym.Env):  # type: ignore[type-arg]
        """Knows only how to reward."""

        observation_space = gym.spaces.Dict(spaces)
        action_space = gym.spaces.Box(-1.0, 1.0, (3,), np.float32)

        def compute_reward(self, achieved: Any, desired: Any, info: Any) -> Any:
            return shop.env.measure.reward(achieved, desired)

    env = DummyVecEnv([Judge])
    buffer = HerReplayBuffer(
        episodes * steps, Judge.observation_space, Judge.action_space, env, n_envs=1,
        n_sampled_goal=4, goal_selection_strategy="future",
    )  # fmt: skip
    for e in range(episodes):
        for t in range(steps):
            now, then = (
                {
                    "observation": states[e, m][None],
                    "achieved_goal": held.achieved[e, m][None],
                    "desired_goal": held.desired[e][None],
                }
                for m in (t, t + 1)
            )
            reward = shop.env.measure.reward(held.achieved[e, t + 1][None], held.desired[e][None])
            done = np.array([t == steps - 1])
            buffer.add(now, then, held.actions[e, t][None], reward, done, [{}])
    return lambda: buffer.sample(batch)


def replay(options: Options, batch: int) -> tuple[dict[str, list[float]], float]:
    """Seconds per sampled batch, ours and theirs, and our bytes per transition."""
    shop = filled(512)
    contestants = {"jostle": lambda: shop.sampler.sample(batch), "sb3": rival_buffer(shop, batch)}
    turns = {
        name: timed(lambda _, sample=sample: sample(), None, 50)  # type: ignore[arg-type, misc]
        for name, sample in contestants.items()
    }
    return race(turns, options.rounds), shop.ring.bytes_per_transition


def ratio(over: list[float], under: list[float]) -> float:
    """Median of the rounds' ratios."""
    return median(a / b for a, b in zip(over, under, strict=True))


def main() -> None:
    """Measure and write."""
    options = tyro.cli(Options)
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    paper, fast = PRESETS[PAPER].td3.batch, PRESETS[FAST].td3.batch
    step = updates(options)
    drawn, size = replay(options, fast)
    best = {name: 1e3 * min(times) for name, times in step.items()}
    share = min(drawn["jostle"]) / min(step["fast"])
    same = ratio(step["reference"], step["fast, batch of paper"])
    rows = [
        ("Preset paper: updates per second / reference",
         f"{ratio(step['reference'], step['paper']):.2f}", "≥ 1.5",
         f"{best['reference']:.0f} ms / {best['paper']:.0f} ms, batch {paper} both"),
        ("Preset paper with --precision bf16: updates per second / reference",
         f"{ratio(step['reference'], step['paper, bf16']):.2f}", "",
         f"{best['reference']:.0f} ms in float32 / {best['paper, bf16']:.0f} ms, "
         f"batch {paper} both"),
        ("Preset fast: updates per second / reference",
         f"{ratio(step['reference'], step['fast']):.2f}", "≥ 6",
         f"{best['reference']:.0f} ms, batch {paper} / {best['fast']:.0f} ms, batch {fast}"),
        ("Preset fast: samples per second / reference", f"{same:.2f}", "≥ 6",
         f"{best['reference']:.0f} ms / {best['fast, batch of paper']:.0f} ms, "
         f"batch {paper} both"),
        ("Replay: batches per second / Stable-Baselines3",
         f"{ratio(drawn['sb3'], drawn['jostle']):.2f}", "≥ 3",
         f"{1e3 * min(drawn['sb3']):.2f} ms / {1e3 * min(drawn['jostle']):.2f} ms, "
         f"batch {fast}, same episodes"),
        ("Replay: share of an update's time, fast", f"{100 * share:.1f} %", "≤ 2 %", ""),
        ("Replay: bytes per transition", f"{size:.0f}", "", "3 cubes, codes included"),
    ]  # fmt: skip
    told = ", ".join(f"{k} {v}" for k, v in tables.machine("none").items() if k != "renderer")
    command = f"python benchmarks/learning.py {' '.join(sys.argv[1:])}".strip()
    lines = ["# How fast learning is", "", f"Made by `{command}` on: {told}.", ""]
    lines += [
        f"Three cubes, {options.threads} threads. Contestants took turns over {options.rounds} "
        "rounds; ratios are the median of the rounds' ratios, times the best of the rounds. The "
        "reference is `benchmarks/reference.py`.", "",
    ]  # fmt: skip
    lines += ["| " + " | ".join(row) + " |" for row in (tables.HEADER, ("---",) * 4, *rows)]
    text = "\n".join([*lines, ""])
    print(text)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "learning.md").write_text(text)
    figures = {"update_seconds": step, "sample_seconds": drawn, "bytes_per_transition": size}
    (options.out / "learning.json").write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()

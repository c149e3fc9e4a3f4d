"""Speed of learning: updates compared to a plain reference, replay to Stable-Baselines3.

Everything is compared within one run: the contestants take turns, and the median of the ratios
counts. `make bench-learning` installs what is needed and writes docs/results/learning.md.
"""

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numpy as np
import tables
import torch
import tyro
from environments import take_turns
from reference import PlainTD3

from jostle.agents.networks import ObservationSpec
from jostle.agents.td3 import TD3Agent
from jostle.core.entities import GRIPPER, HEIGHT, OBJECT_ID, POSITION, Entities, EntityLayout
from jostle.presets.axes import Axes
from jostle.presets.experiments import make_experiment
from jostle.replay.batch import Batch, GoalTransition
from jostle.runs.run_dir import RunDir
from jostle.training.components import Components
from jostle.training.experiment import Experiment
from jostle.training.start import scripted_teacher
from jostle.training.train import make_trainer

CUBES = 3
LAYOUT = EntityLayout(((POSITION, 2), (HEIGHT, 1), (GRIPPER, 1), (OBJECT_ID, 12)))
SPEC = ObservationSpec(
    state=(1, CUBES + 1, LAYOUT.width), goal=(1, CUBES, LAYOUT.width), layout=LAYOUT
)
FAST = make_experiment("three-cubes", Axes(method="td3"))
PAPER = make_experiment("three-cubes", Axes(method="td3", size="paper"))


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
    """Random transitions of three cubes."""

    def entities(count: int) -> Entities:
        return Entities.all_visible(torch.randn(size, 1, count, LAYOUT.width))

    transition = GoalTransition(entities(CUBES + 1), entities(CUBES), entities(CUBES + 1))
    action, reward = torch.rand(size, 3) * 2 - 1, -torch.rand(size)
    return Batch(transition, transition, action, reward, torch.full((size,), 0.98))


def timed(call: Callable[[], Any], count: int) -> Callable[[], float]:
    """A turn of `count` calls, which returns seconds per call."""

    def turn() -> float:
        start = time.perf_counter()
        for _ in range(count):
            call()
        return (time.perf_counter() - start) / count

    for _ in range(4):
        call()
    return turn


def make_agent(experiment: Experiment, precision: Literal["full", "bf16"] = "full") -> TD3Agent:
    """A new agent for three cubes."""
    # The reference moves its target networks at actor steps: so do all
    config = replace(experiment.td3, target_update="actor-step", precision=precision)
    return TD3Agent(experiment.net, config, SPEC, seed=0)


def updates(options: Options) -> dict[str, list[float]]:
    """Seconds per update of all contestants, one number per round."""
    paper, fast = PAPER.td3, FAST.td3

    def turn(learner: TD3Agent | PlainTD3, size: int) -> Callable[[], float]:
        batch = random_batch(size)
        return timed(lambda: learner.update(batch), options.updates)

    contestants = {
        "reference": turn(PlainTD3(LAYOUT.width, paper), paper.batch_size),
        "paper": turn(make_agent(PAPER), paper.batch_size),
        "paper, bf16": turn(make_agent(PAPER, "bf16"), paper.batch_size),
        "fast": turn(make_agent(FAST), fast.batch_size),
        "fast, batch of paper": turn(make_agent(FAST), paper.batch_size),
    }
    return take_turns(contestants, options.rounds)


def filled_components(episodes: int, folder: Path) -> Components:
    """Components of the size `fast` with episodes of random actions in replay."""
    experiment = replace(FAST, training=replace(FAST.training, num_envs=32, horizon=50))
    trainer = make_trainer(experiment, RunDir(folder), lambda row: None, None, scripted_teacher)
    components, rng = trainer.components, np.random.default_rng(0)
    while components.buffer.size < episodes:
        collected, _ = components.collector.collect(
            lambda *_: rng.uniform(-1, 1, (32, 3)).astype(np.float32)
        )
        components.buffer.add(collected)
    return components


def sb3_sample(components: Components, batch_size: int) -> Callable[[], Any]:
    """`sample` of Stable-Baselines3's hindsight buffer with the same episodes."""
    import gymnasium as gym
    from stable_baselines3.common.vec_env import DummyVecEnv
    from stable_baselines3.her.her_replay_buffer import HerReplayBuffer

    stored, compute_reward = components.buffer.view(), components.env.reward.total
    episodes, steps = stored.actions.shape[:2]
    states = stored.actor.states.values.reshape(episodes, steps + 1, -1)
    spaces = {
        "observation": gym.spaces.Box(-np.inf, np.inf, states.shape[2:], np.float32),
        "achieved_goal": gym.spaces.Box(-np.inf, np.inf, stored.achieved.shape[2:], np.float32),
        "desired_goal": gym.spaces.Box(-np.inf, np.inf, stored.desired.shape[1:], np.float32),
    }

    class RewardOnly(gym.Env):  # type: ignore[type-arg]
        """An environment that only computes rewards."""

        observation_space = gym.spaces.Dict(spaces)
        action_space = gym.spaces.Box(-1.0, 1.0, (3,), np.float32)

        def compute_reward(self, achieved: Any, desired: Any, info: Any) -> Any:
            return compute_reward(achieved, desired)

    def observation(e: int, t: int) -> dict[str, Any]:
        return {
            "observation": states[e, t][None],
            "achieved_goal": stored.achieved[e, t][None],
            "desired_goal": stored.desired[e][None],
        }

    buffer = HerReplayBuffer(
        episodes * steps, RewardOnly.observation_space, RewardOnly.action_space,
        DummyVecEnv([RewardOnly]), n_envs=1, n_sampled_goal=4, goal_selection_strategy="future",
    )  # fmt: skip
    for e in range(episodes):
        for t in range(steps):
            reward = compute_reward(stored.achieved[e, t + 1][None], stored.desired[e][None])
            done = np.array([t == steps - 1])
            action = stored.actions[e, t][None]
            buffer.add(observation(e, t), observation(e, t + 1), action, reward, done, [{}])
    return lambda: buffer.sample(batch_size)


def replay(options: Options, batch_size: int) -> tuple[dict[str, list[float]], float]:
    """Seconds per sampled batch, ours and theirs, and our bytes per transition."""
    with TemporaryDirectory() as folder:
        components = filled_components(512, Path(folder) / "run")
    contestants = {
        "jostle": timed(lambda: components.sampler.sample(batch_size), 50),
        "sb3": timed(sb3_sample(components, batch_size), 50),
    }
    return take_turns(contestants, options.rounds), components.buffer.bytes_per_transition


def ratio(numerator: list[float], denominator: list[float]) -> float:
    """Median of the rounds' ratios."""
    return median(a / b for a, b in zip(numerator, denominator, strict=True))


def main() -> None:
    """Measure and write."""
    options = tyro.cli(Options)
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    paper, fast = PAPER.td3.batch_size, FAST.td3.batch_size
    update = updates(options)
    sample, size = replay(options, fast)
    best = {name: 1e3 * min(times) for name, times in update.items()}
    fraction = min(sample["jostle"]) / min(update["fast"])
    same_batch = ratio(update["reference"], update["fast, batch of paper"])
    rows = [
        ("Size paper: updates per second / reference",
         f"{ratio(update['reference'], update['paper']):.2f}", "≥ 1.5",
         f"{best['reference']:.0f} ms / {best['paper']:.0f} ms, batch {paper} both"),
        ("Size paper with --precision bf16: updates per second / reference",
         f"{ratio(update['reference'], update['paper, bf16']):.2f}", "",
         f"{best['reference']:.0f} ms in float32 / {best['paper, bf16']:.0f} ms, "
         f"batch {paper} both"),
        ("Size fast: updates per second / reference",
         f"{ratio(update['reference'], update['fast']):.2f}", "≥ 6",
         f"{best['reference']:.0f} ms, batch {paper} / {best['fast']:.0f} ms, batch {fast}"),
        ("Size fast: samples per second / reference", f"{same_batch:.2f}", "≥ 6",
         f"{best['reference']:.0f} ms / {best['fast, batch of paper']:.0f} ms, "
         f"batch {paper} both"),
        ("Replay: batches per second / Stable-Baselines3",
         f"{ratio(sample['sb3'], sample['jostle']):.2f}", "≥ 3",
         f"{1e3 * min(sample['sb3']):.2f} ms / {1e3 * min(sample['jostle']):.2f} ms, "
         f"batch {fast}, same episodes"),
        ("Replay: fraction of an update's time, fast", f"{100 * fraction:.1f} %", "≤ 2 %", ""),
        ("Replay: bytes per transition", f"{size:.0f}", "", "3 cubes, object ids included"),
    ]  # fmt: skip
    machine = ", ".join(f"{k} {v}" for k, v in tables.machine("none").items() if k != "renderer")
    command = f"python benchmarks/learning.py {' '.join(sys.argv[1:])}".strip()
    lines = ["# Speed of learning", "", f"Made by `{command}` on: {machine}.", ""]
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
    figures = {"update_seconds": update, "sample_seconds": sample, "bytes_per_transition": size}
    (options.out / "learning.json").write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()

"""Which networks imitate best: the same labeled states, the same number of updates.

States of three cubes are collected by the oracle with perturbations. Then each network fits the
oracle's actions and is tested on other episodes. Writes docs/results/fit.md.
"""

import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
import tyro
from torch.nn import functional as F

from jostle.agents.td3 import TD3Agent
from jostle.core.entities import OBJECT_ID
from jostle.nets.config import FAST_NET, MLP_NET, NetConfig
from jostle.presets.axes import Axes
from jostle.presets.experiments import make_experiment
from jostle.runs.run_dir import RunDir
from jostle.training.components import Components
from jostle.training.dagger import imitation_errors
from jostle.training.start import scripted_teacher
from jostle.training.train import make_trainer

NETWORKS: dict[str, NetConfig] = {
    "fast": FAST_NET,
    "fast, no relative positions": replace(FAST_NET, relative_positions=0),
    "fast, no relative positions, normalized object ids": replace(
        FAST_NET, relative_positions=0, normalize_object_ids=True
    ),
    "unstructured": MLP_NET,
}


@dataclass(frozen=True)
class Options:
    """Fit and write."""

    out: Path = Path("docs/results")
    """Folder for fit.md."""
    iterations: int = 24
    """Iterations of 64 episodes to fit."""
    updates: int = 2500
    """Updates of each network."""


def collect(iterations: int, seed: int, folder: Path) -> Components:
    """Fill a replay buffer with states and the oracle's labels."""
    experiment = make_experiment("three-cubes", Axes(method="dagger"))
    training = replace(experiment.training, expert_fraction=1.0, utd_ratio=0.0, threads=1)
    experiment = replace(experiment, seed=seed, training=training)
    trainer = make_trainer(experiment, RunDir(folder), lambda row: None, None, scripted_teacher)
    for _ in range(iterations):
        trainer.iterate()
    return trainer.components


def normalize_object_ids(agent: TD3Agent, train: Components) -> None:
    """Add the statistics of object ids, which the collecting agent did not normalize."""
    columns = agent.spec.layout[OBJECT_ID]
    states = train.buffer.view().actor.states.values[:, 0]
    ids = torch.from_numpy(states).flatten(0, 2)[:, columns].double()
    agent.normalizer.mean[columns] = ids.mean(0)
    agent.normalizer.variance[columns] = ids.var(0)


def fit(
    net: NetConfig, train: Components, test: Components, updates: int
) -> tuple[float, float, float]:
    """Loss and fraction of right directions on test episodes, and minutes."""
    agent = TD3Agent(net, train.agent.config, train.agent.spec, seed=0)
    agent.normalizer.load_state_dict(train.agent.normalizer.state_dict())
    if net.normalize_object_ids:
        normalize_object_ids(agent, train)

    # Fit
    start = time.monotonic()
    for update in range(updates):
        remaining = 2 * (1 - update / updates)
        agent.set_lr_scale(min(1.0, (update + 1) / 200, max(0.05, remaining)))
        batch = train.sampler.sample(agent.config.batch_size)
        state, goal = agent.normalizer(batch.actor.state), agent.normalizer(batch.actor.goal)
        loss = imitation_errors(agent.actor(state, goal), batch.action).mean()
        agent.actor_optimizer.zero_grad(set_to_none=True)
        loss.backward()
        agent.actor_optimizer.step()
    minutes = (time.monotonic() - start) / 60

    # Test
    with torch.no_grad():
        batch = test.sampler.sample(8192)
        state, goal = agent.normalizer(batch.actor.state), agent.normalizer(batch.actor.goal)
        actions = agent.actor(state, goal)
        moving = batch.action[:, :2].norm(dim=1) > 0.05
        cosine = F.cosine_similarity(actions[moving, :2], batch.action[moving, :2], dim=1)
    right = float((cosine > 0.9).float().mean())
    return float(imitation_errors(actions, batch.action).mean()), right, minutes


def main() -> None:
    """Collect, fit all networks, write the table."""
    options = tyro.cli(Options)
    torch.set_num_threads(1)
    with TemporaryDirectory() as folder:
        train = collect(options.iterations, 0, Path(folder) / "train")
        test = collect(4, 1, Path(folder) / "test")
    command = f"python benchmarks/fit.py {' '.join(sys.argv[1:])}".strip()
    lines = [
        "# Which networks imitate the oracle best", "",
        f"Made by `{command}`: three cubes, {options.iterations * 64:,} labeled episodes of 60 "
        f"steps, {options.updates:,} updates each, one thread. Right: within about 26 degrees of "
        "the oracle's direction, on other episodes.", "",
        "| network | loss | right | minutes |", "|---|---|---|---|",
    ]  # fmt: skip
    for name, net in NETWORKS.items():
        loss, right, minutes = fit(net, train, test, options.updates)
        lines.append(f"| {name} | {loss:.4f} | {right:.3f} | {minutes:.1f} |")
        print(lines[-1], flush=True)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "fit.md").write_text("\n".join([*lines, ""]))


if __name__ == "__main__":
    main()

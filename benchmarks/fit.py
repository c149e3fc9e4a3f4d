"""What helps a network to imitate: the same labelled states, the same number of updates.

States of three cubes are collected with the oracle at the wheel and led astray at random; then each
contestant fits the oracle's actions, and is asked for those of episodes it has never seen. Writes
docs/results/fit.md.
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
from jostle.core.rundir import RunDir
from jostle.nets.config import FAST_NET, MLP_NET, NetConfig
from jostle.oracles.catalog import oracle
from jostle.presets.catalog import PRESETS
from jostle.training.distill import DistillLoop, imitation_errors
from jostle.training.workshop import Workshop, open_workshop

CONTESTANTS: dict[str, NetConfig] = {
    "fast": FAST_NET,
    "fast, no bearings": replace(FAST_NET, bearings=0),
    "fast, no bearings, codes normalized": replace(FAST_NET, bearings=0, normalize_codes=True),
    "unstructured": MLP_NET,
}


@dataclass(frozen=True)
class Options:
    """Fit and write."""

    out: Path = Path("docs/results")
    """Folder for fit.md."""
    rounds: int = 24
    """Rounds of 64 episodes to fit."""
    updates: int = 2500
    """Updates of each contestant."""


def collect(rounds: int, seed: int, folder: Path) -> Workshop:
    """Fill a workshop's memory with states and the oracle's labels."""
    preset = PRESETS["three-cubes-state-distill"]
    training = replace(preset.training, demo_share=1.0, updates_per_step=0.0, threads=1)
    experiment = replace(preset, seed=seed, training=training)
    shop = open_workshop(experiment)
    loop = DistillLoop(
        experiment, shop, RunDir(folder), lambda row: None, oracle(shop.env.recipe.task)
    )
    for _ in range(rounds):
        loop.round()
    return shop


def fit(
    net: NetConfig, seen: Workshop, unseen: Workshop, updates: int
) -> tuple[float, float, float]:
    """Loss and share of right directions on unseen episodes, and minutes."""
    agent = TD3Agent(net, seen.agent.config, seen.agent.shapes, seed=0)
    agent.normalizer.load_state_dict(seen.agent.normalizer.state_dict())
    if net.normalize_codes:
        held = seen.ring.view()
        codes = torch.from_numpy(held.states[:, 0]).flatten(0, 2)[:, -agent.shapes.codes :].double()
        agent.normalizer.mean[-agent.shapes.codes :] = codes.mean(0)
        agent.normalizer.variance[-agent.shapes.codes :] = codes.var(0)
    start = time.monotonic()
    for number in range(updates):
        left = 2 * (1 - number / updates)
        agent.set_pace(min(1.0, (number + 1) / 200, max(0.05, left)))
        batch = seen.sampler.sample(agent.config.batch)
        state, goal = agent.normalizer(batch.state), agent.normalizer(batch.goal)
        loss = imitation_errors(agent.actor(state, goal), batch.action).mean()
        agent.actor_optimizer.zero_grad(set_to_none=True)
        loss.backward()
        agent.actor_optimizer.step()
    minutes = (time.monotonic() - start) / 60
    with torch.no_grad():
        batch = unseen.sampler.sample(8192)
        actions = agent.actor(agent.normalizer(batch.state), agent.normalizer(batch.goal))
        moving = batch.action[:, :2].norm(dim=1) > 0.05
        alike = F.cosine_similarity(actions[moving, :2], batch.action[moving, :2], dim=1)
    right = float((alike > 0.9).float().mean())
    return float(imitation_errors(actions, batch.action).mean()), right, minutes


def main() -> None:
    """Collect, fit everybody, write the table."""
    options = tyro.cli(Options)
    torch.set_num_threads(1)
    with TemporaryDirectory() as folder:
        seen = collect(options.rounds, 0, Path(folder) / "a")
        unseen = collect(4, 1, Path(folder) / "b")
    command = f"python benchmarks/fit.py {' '.join(sys.argv[1:])}".strip()
    lines = [
        "# What helps a network to imitate the oracle", "",
        f"Made by `{command}`: three cubes, {options.rounds * 64:,} labelled episodes of 60 steps, "
        f"{options.updates:,} updates each, one thread. Right: within about 26 degrees of the "
        "oracle's direction, on unseen episodes.", "",
        "| network | loss | right | minutes |", "|---|---|---|---|",
    ]  # fmt: skip
    for name, net in CONTESTANTS.items():
        loss, right, minutes = fit(net, seen, unseen, options.updates)
        lines.append(f"| {name} | {loss:.4f} | {right:.3f} | {minutes:.1f} |")
        print(lines[-1], flush=True)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "fit.md").write_text("\n".join([*lines, ""]))


if __name__ == "__main__":
    main()

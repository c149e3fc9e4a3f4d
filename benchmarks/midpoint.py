"""Where an agent pushes two cubes: to their goals, or to the midpoint of the goals.

An encoder that does not separate two cubes gives them one position, and the best an agent can do
for both is the midpoint of their goals: the paper's explanation why its agent fails with slots.
Prints mean distances at the first and the last step, and writes nothing.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import tyro
from numpy.typing import NDArray

from jostle.cli.eval_jobs import EvalJob
from jostle.rollout.rollout import Step, rollout
from jostle.zoo.agents import load_policy, required_env_kwargs


@dataclass(frozen=True)
class Options:
    """Run fixed episodes and measure distances."""

    agent: Annotated[str, tyro.conf.Positional]
    """A name of the zoo, a run or a weights file, trained with two cubes."""
    episodes: int = 96
    """Number of fixed episodes, all in parallel."""


def distances(
    cubes: NDArray[np.float32], goals: NDArray[np.float32]
) -> dict[str, NDArray[np.float32]]:
    """Distances (B, 2) of cubes (B, 2, 2) from their goals, the other's, and the midpoint."""
    targets = {"own goal": goals, "other's goal": goals[:, ::-1]}
    targets["midpoint of the goals"] = goals.mean(1, keepdims=True)
    measured = {name: np.linalg.norm(cubes - xy, axis=-1) for name, xy in targets.items()}
    measured["midpoint of the goals, midpoint of the cubes"] = np.linalg.norm(
        (cubes - goals).mean(1, keepdims=True), axis=-1
    )
    measured["each other"] = np.linalg.norm(cubes - cubes[:, ::-1], axis=-1)
    return measured


def main(options: Options) -> None:
    """Run the episodes and print the distances at the start and at the end."""
    job = EvalJob(
        agent=options.agent, task="TwoCubes", episodes=options.episodes, num_envs=options.episodes
    )
    env = job.make_env(**required_env_kwargs(options.agent))
    positions: list[NDArray[np.float32]] = []

    def on_step(step: Step) -> None:
        positions.append(step.observation["achieved_goal"][..., :2].copy())

    last = rollout(env, load_policy(options.agent, env), 100, seed=0, on_step=on_step)
    goals = last.observation["desired_goal"][..., :2]
    before, after = distances(positions[0], goals), distances(positions[-1], goals)
    print("| mean distance of the cubes from | start | end |\n|---|---|---|")
    for name in before:
        print(f"| {name} | {before[name].mean():.3f} m | {after[name].mean():.3f} m |")
    moved = np.linalg.norm(positions[-1] - positions[0], axis=-1)
    print(f"| where they started | 0.000 m | {moved.mean():.3f} m |")
    nearer = after["midpoint of the goals"] < after["own goal"]
    print(
        f"| fraction of cubes nearer to the midpoint than to their goal | | {nearer.mean():.3f} |"
    )


if __name__ == "__main__":
    main(tyro.cli(Options))

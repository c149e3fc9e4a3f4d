"""Where an agent of two cubes brings them: home, or to the middle between the two goals.

Seen as one thing, two cubes have one place, and the best that can be done for both is the middle
of their goals: so the paper explains why its agent fails with slots. Prints means over episodes, at
the start and at the end, and writes nothing.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import tyro
from numpy.typing import NDArray

from jostle.cli.examining import Sitting
from jostle.rollout.driver import Step, play
from jostle.zoo.agents import agent_for, what_it_reads


@dataclass(frozen=True)
class Options:
    """Play and measure."""

    agent: Annotated[str, tyro.conf.Positional]
    """A name of the zoo, a run or a file of weights, trained with two cubes."""
    episodes: int = 96
    """Fixed episodes to play, all at once."""


def distances(
    cubes: NDArray[np.float32], goals: NDArray[np.float32]
) -> dict[str, NDArray[np.float32]]:
    """Distances (B, 2) of cubes (B, 2, 2) from their goals, the other's, and the middle."""
    places = {"own goal": goals, "other's goal": goals[:, ::-1]}
    places["middle of the goals"] = goals.mean(1, keepdims=True)
    found = {name: np.linalg.norm(cubes - place, axis=-1) for name, place in places.items()}
    found["middle of the goals, middle of the cubes"] = np.linalg.norm(
        (cubes - goals).mean(1, keepdims=True), axis=-1
    )
    found["each other"] = np.linalg.norm(cubes - cubes[:, ::-1], axis=-1)
    return found


def main(options: Options) -> None:
    """Play the fixed episodes and print how far cubes are from what, before and after."""
    sitting = Sitting(
        agent=options.agent, task="TwoCubes", episodes=options.episodes, copies=options.episodes
    )
    env = sitting.stage(**what_it_reads(options.agent))
    seen: list[NDArray[np.float32]] = []

    def watch(step: Step) -> None:
        seen.append(step.observation["achieved_goal"][..., :2].copy())

    last = play(env, agent_for(options.agent, env), 100, seed=0, watch=watch)
    goals = last.observation["desired_goal"][..., :2]
    before, after = distances(seen[0], goals), distances(seen[-1], goals)
    print("| mean distance of the cubes from | start | end |\n|---|---|---|")
    for name in before:
        print(f"| {name} | {before[name].mean():.3f} m | {after[name].mean():.3f} m |")
    moved = np.linalg.norm(seen[-1] - seen[0], axis=-1)
    print(f"| where they started | 0.000 m | {moved.mean():.3f} m |")
    nearer = after["middle of the goals"] < after["own goal"]
    print(f"| share of cubes nearer to the middle than home | | {nearer.mean():.3f} |")


if __name__ == "__main__":
    main(tyro.cli(Options))

"""What the actions of a pixel agent lose when one of its views is empty.

The agent acts on both views in a few episodes. In the same states it is also asked for the action
that it would choose with one view alone. Prints how far both actions agree, and writes nothing.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import torch
import tyro
from numpy.typing import NDArray

from jostle.cli.eval_jobs import EvalJob
from jostle.core.entities import Entities
from jostle.rollout.policies import AgentPolicy
from jostle.rollout.rollout import Step, rollout
from jostle.zoo.agents import load_policy, load_zoo_agent, required_env_kwargs


@dataclass(frozen=True)
class Options:
    """Compare actions with both views and with one."""

    agent: Annotated[str, tyro.conf.Positional] = "three-cubes-pixels"
    """A pixel agent with several views."""
    episodes: int = 12
    """Episodes, all in parallel."""
    steps: int = 60
    """Steps of each; every fifth is compared."""


def only(view: int, entities: Entities) -> Entities:
    """Entities of one view; the others are empty."""
    visible = entities.visible.copy()
    visible[:, np.arange(visible.shape[1]) != view] = False
    return Entities(entities.values * visible[..., None], visible)


def cosine(first: NDArray[np.float32], second: NDArray[np.float32]) -> NDArray[np.float32]:
    """Cosine of the directions on the table of two sets of actions, (B,)."""
    lengths = np.linalg.norm(first[:, :2], axis=1) * np.linalg.norm(second[:, :2], axis=1)
    return (first[:, :2] * second[:, :2]).sum(1) / np.maximum(lengths, 1e-9)


def main(options: Options) -> None:
    """Run the episodes and print the agreement."""
    torch.set_num_threads(1)
    job = EvalJob(
        agent=options.agent, task="ThreeCubes", episodes=options.episodes, num_envs=options.episodes
    )
    env = job.make_env(**required_env_kwargs(options.agent))
    policy, (_, agent) = (
        load_policy(options.agent, env, eval_noise=0.0),
        load_zoo_agent(options.agent),
    )
    assert isinstance(policy, AgentPolicy)
    both: list[NDArray[np.float32]] = []
    alone: dict[str, list[NDArray[np.float32]]] = {name: [] for name in policy.cameras}
    taken = 0

    def on_step(step: Step) -> None:
        nonlocal taken
        taken += 1
        if policy.seen is None or taken % 5:
            return
        state, goal = policy.seen  # of the step before
        both.append(agent.act(state.to_torch(), goal.to_torch()))
        for view, name in enumerate(policy.cameras):
            parts = only(view, state).to_torch(), only(view, goal).to_torch()
            alone[name].append(agent.act(*parts))

    rollout(env, policy, options.steps, seed=0, on_step=on_step)
    reference = np.concatenate(both)
    print(f"{len(reference)} states of {options.episodes} episodes of {options.agent}\n")
    print("| views | mean size of actions | median cosine to the action with all | within 45° |")
    print("|---|---|---|---|")
    for name, parts in {"all": both, **alone}.items():
        actions = np.concatenate(parts)
        agreement = cosine(reference, actions)
        print(
            f"| {name} | {np.abs(actions).mean():.3f} | {np.median(agreement):.2f} | "
            f"{(agreement > np.cos(np.pi / 4)).mean():.2f} |"
        )


if __name__ == "__main__":
    main(tyro.cli(Options))

"""One round: every copy plays one whole episode, which goes to memory."""

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray

from jostle.core.entities import Entities
from jostle.envs.vector import Observation, TabletopVectorEnv
from jostle.replay.ring import Episodes
from jostle.rollout.observer import Observer, Sets

Choose = Callable[[Observation, Sets, Sets], NDArray[np.float32]]
"""From the raw observation, the state set and the goal set to actions (B, A)."""


def as_entities(sets: Sets) -> Entities:
    """Hand entities over to torch."""
    return Entities(torch.from_numpy(sets.values), torch.from_numpy(sets.visible))


def play_round(
    env: TabletopVectorEnv, observer: Observer, choose: Choose, steps: int
) -> tuple[Episodes, dict[str, float]]:
    """Play one episode of `steps` actions in every copy.

    Returns:
        The episodes, and the means of what the last moment's infos say.
    """
    observer.begin(np.arange(env.num_envs))
    observation, infos = env.reset()
    goal = observer.goal(observation)
    states, seen, actions = [], [], []
    achieved = [observer.coordinates(observation["achieved_goal"])]
    state = observer.state(observation)
    for _ in range(steps):
        action = choose(observation, state, goal)
        states.append(state.values)
        seen.append(state.visible)
        actions.append(action)
        observation, _, _, _, infos = env.step(action)
        state = observer.state(observation)
        achieved.append(observer.coordinates(observation["achieved_goal"]))
    states.append(state.values)
    seen.append(state.visible)
    episodes = Episodes(
        states=np.stack(states, axis=1),
        visible=np.stack(seen, axis=1),
        goals=goal.values,
        goals_visible=goal.visible,
        achieved=np.stack(achieved, axis=1),
        desired=observer.coordinates(observation["desired_goal"]),
        actions=np.stack(actions, axis=1),
    )
    names = ("success", "success_fraction", "average_distance", "average_return")
    return episodes, {name: float(np.mean(infos[name])) for name in names}

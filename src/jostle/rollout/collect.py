"""One round: every copy plays one whole episode, which goes to memory."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.core.entities import Entities
from jostle.envs.vector import Observation, TabletopVectorEnv
from jostle.replay.ring import Episodes
from jostle.rollout.collection import colors_of
from jostle.rollout.observer import Observer, Sets, StateObserver

Choose = Callable[[Observation, Sets, Sets], NDArray[np.float32]]
"""From the raw observation, the state set and the goal set to actions (B, A)."""


def as_entities(sets: Sets) -> Entities:
    """Hand entities over to torch."""
    return Entities.of(sets.values, sets.visible)


def looks_of(env: TabletopVectorEnv) -> NDArray[np.int64]:
    """Which of the environment's colors each object of each copy has; -1: not there. (B, N)."""
    known, objects = colors_of(env), env.recipe.most
    looks = np.full((env.num_envs, objects), -1, np.int64)
    for copy, episode in enumerate(env.episodes):
        for slot, thing in enumerate(episode.scene.objects[:objects]):
            if thing.present:
                looks[copy, slot] = known.index(episode.look.colors[slot])
    return looks


class _Story:
    """What an observer sees of an episode, moment by moment."""

    def __init__(self, observer: Observer, observation: Observation) -> None:
        self._observer = observer
        self.goal = observer.goal(observation)
        self._moments = [observer.state(observation)]

    @property
    def now(self) -> Sets:
        return self._moments[-1]

    def go_on(self, observation: Observation) -> None:
        self._moments.append(self._observer.state(observation))

    def told(self, states: str, visible: str, goals: str) -> dict[str, NDArray[Any]]:
        """All moments (E, T+1, V, K, ...) and the goal, under the names that memory uses."""
        return {
            states: np.stack([moment.values for moment in self._moments], axis=1),
            visible: np.stack([moment.visible for moment in self._moments], axis=1),
            goals: self.goal.values,
            f"{goals}_visible": self.goal.visible,
        }


def play_round(
    env: TabletopVectorEnv,
    observer: Observer,
    choose: Choose,
    steps: int,
    knower: StateObserver | None = None,
    keep_rows: bool = False,
    photos: int = 0,
) -> tuple[Episodes, dict[str, float]]:
    """Play one episode of `steps` actions in every copy.

    What `knower` sees is for critics that may know it, `rows` of true state for teachers. Every
    `photos` steps, if not 0, a picture is taken with the arm retracted.

    Returns:
        The episodes, and the means of what the last moment's infos say.
    """
    observer.begin(np.arange(env.num_envs))
    observation, infos = env.reset()
    seen = _Story(observer, observation)
    known = _Story(knower, observation) if knower is not None else None
    actions = []
    achieved = [observer.coordinates(observation["achieved_goal"])]
    rows = [observation["observation"]]
    pictures: list[Sets] = []
    for step in range(1, steps + 1):
        action = choose(observation, seen.now, seen.goal)
        actions.append(action)
        observation, _, _, _, infos = env.step(action)
        seen.go_on(observation)
        if known is not None:
            known.go_on(observation)
        achieved.append(observer.coordinates(observation["achieved_goal"]))
        rows.append(observation["observation"])
        if photos and step % photos == 0:
            pictures.append(observer.state(env.photograph()))
    episodes = Episodes(
        achieved=np.stack(achieved, axis=1),
        desired=observer.coordinates(observation["desired_goal"]),
        actions=np.stack(actions, axis=1),
        rows=np.stack(rows, axis=1) if keep_rows else None,
        looks=looks_of(env) if keep_rows else None,
        photos=np.stack([one.values for one in pictures], axis=1) if pictures else None,
        photos_visible=np.stack([one.visible for one in pictures], axis=1) if pictures else None,
        **seen.told("states", "visible", "goals"),
        **(known.told("true_states", "true_visible", "true_goals") if known is not None else {}),
    )
    names = ("success", "success_fraction", "average_distance", "average_return")
    return episodes, {name: float(np.mean(infos[name])) for name in names}

"""Collecting training episodes: the only loop that steps training environments."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from jostle.core.entities import Entities
from jostle.core.errors import require
from jostle.core.protocols import Observation, Observer
from jostle.envs.vector import TabletopVectorEnv
from jostle.replay.episodes import Episodes, Trajectory
from jostle.rollout.frame_dataset import palette_of
from jostle.rollout.object_recorder import RecordsObjects

ActFn = Callable[[Observation, Entities, Entities], NDArray[np.float32]]
"""From the raw observation, state entities and goal entities to actions (B, A)."""
_INFOS = ("success", "success_fraction", "average_distance", "average_return")
"""Metrics of the last step that training logs."""
_ENV_ARRAYS = ("states", "elapsed", "returns", "done")
"""Arrays of an environment's state."""


class TrajectoryRecorder:
    """Records what an observer sees, step by step."""

    def __init__(self, observer: Observer, observation: Observation) -> None:
        """Start with the first observation of an episode."""
        self._observer = observer
        self.goal = observer.goal(observation)
        self._states = [observer.state(observation)]

    @property
    def state(self) -> Entities:
        """Entities of the present state."""
        return self._states[-1]

    def add(self, observation: Observation) -> None:
        """Record one more step."""
        self._states.append(self._observer.state(observation))

    def trajectory(self) -> Trajectory:
        """All steps (E, T+1, V, K, ...) and the goal."""
        return Trajectory(stack_steps(self._states), self.goal)


class TiesParticles(Protocol):
    """Says which object each particle shows, (B, V, K); -1: none."""

    def goal(self, particles: Entities, env: TabletopVectorEnv) -> NDArray[np.int8]:
        """Of the goal images of the running episodes."""
        ...

    def state(
        self, particles: Entities, env: TabletopVectorEnv, rows: NDArray[np.float32]
    ) -> NDArray[np.int8]:
        """Of images of the present step, whose true state is `rows`."""
        ...


class ObjectFinders(NamedTuple):
    """What finds objects among particles, where anything asks for them."""

    ties: TiesParticles | None = None
    """Ties particles that are or become goals to objects, for values of goal particles."""
    recorder: RecordsObjects | None = None
    """By images alone: follows objects, for rewards, goals and metrics."""


NO_FINDERS = ObjectFinders()


class Collector:
    """Environments with their observers; plays one episode in each at a time."""

    def __init__(
        self,
        env: TabletopVectorEnv,
        observer: Observer,
        steps: int,
        privileged_observer: Observer | None = None,
        goal_render_every: int = 0,
        keep_state_obs: bool = False,
        finders: ObjectFinders = NO_FINDERS,
    ) -> None:
        """Collect episodes of `steps` actions.

        Args:
            env: Environments without autoreset.
            observer: What the actor sees.
            steps: Length of an episode.
            privileged_observer: What privileged critics see.
            goal_render_every: If not 0, render images with the arm retracted every so many steps.
            keep_state_obs: Whether to keep true state for teachers that are asked again.
            finders: What finds objects among particles.
        """
        require(
            goal_render_every <= steps,
            f"Goals cannot be rendered every {goal_render_every} steps: an episode has {steps}.",
        )
        self.env, self.observer, self.steps = env, observer, steps
        self.privileged_observer = privileged_observer
        self._goal_render_every, self._keep_state_obs = goal_render_every, keep_state_obs
        self._ties, self._objects = finders

    def collect(self, act_fn: ActFn) -> tuple[Episodes, dict[str, float]]:
        """Play one episode in every environment.

        Returns:
            The episodes, and the means of the last step's metrics.
        """
        # Start
        for observer in self._observers().values():
            observer.reset(np.arange(self.env.num_envs))
        observation, infos = self.env.reset()
        actor = TrajectoryRecorder(self.observer, observation)
        if self._objects is not None:
            self._objects.start(actor.state, actor.goal)
        critic = None
        if self.privileged_observer is not None:
            critic = TrajectoryRecorder(self.privileged_observer, observation)
        achieved = [self.observer.coordinates(observation["achieved_goal"])]
        actions, state_obs, renders = [], [observation["observation"]], []
        goal_ties = None if self._ties is None else self._ties.goal(actor.goal, self.env)
        ties = [] if self._goal_render_every else self._tie(actor.state, observation)

        # Steps
        for step in range(1, self.steps + 1):
            action = act_fn(observation, actor.state, actor.goal)
            observation, _, _, _, infos = self.env.step(action)
            actor.add(observation)
            if self._objects is not None:
                self._objects.add(actor.state)
            if critic is not None:
                critic.add(observation)
            actions.append(action)
            achieved.append(self.observer.coordinates(observation["achieved_goal"]))
            state_obs.append(observation["observation"])
            if not self._goal_render_every:
                ties += self._tie(actor.state, observation)
            elif step % self._goal_render_every == 0:
                renders.append(self.observer.state(self.env.render_as_goal()))
                ties += self._tie(renders[-1], observation)

        # Episodes
        keep = self._keep_state_obs
        episodes = Episodes(
            actor=actor.trajectory(),
            critic=None if critic is None else critic.trajectory(),
            achieved=np.stack(achieved, axis=1),
            desired=self.observer.coordinates(observation["desired_goal"]),
            actions=np.stack(actions, axis=1),
            rendered_goals=stack_steps(renders) if renders else None,
            goal_ties=goal_ties,
            hindsight_ties=np.stack(ties, axis=1) if ties else None,
            state_obs=np.stack(state_obs, axis=1) if keep else None,
            color_ids=color_ids_of(self.env) if keep else None,
            objects=None if self._objects is None else self._objects.trajectory(),
            goal_steps=None if self._objects is None else self._objects.goal_steps(),
        )
        if self._objects is not None:
            metrics = self._objects.metrics()
        else:
            metrics = {name: infos[name] for name in _INFOS}
        return episodes, {name: float(np.mean(values)) for name, values in metrics.items()}

    def _tie(self, particles: Entities, observation: Observation) -> list[NDArray[np.int8]]:
        """Objects that particles lie on, (B, V, K), if anyone asks."""
        if self._ties is None:
            return []
        return [self._ties.state(particles, self.env, observation["observation"])]

    def state_dict(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """State of the environments and of the observers."""
        # Environments
        state = self.env.get_state()
        tensors = {f"env.{name}": torch.from_numpy(np.asarray(state[name])) for name in _ENV_ARRAYS}
        meta: dict[str, Any] = {"env": {name: state[name] for name in ("rngs", "episodes")}}

        # Observers
        for name, observer in self._observers().items():
            own, meta[name] = observer.state_dict()
            tensors |= {f"{name}.{key}": tensor for key, tensor in own.items()}
        return tensors, meta

    def load_state_dict(self, tensors: dict[str, Tensor], meta: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        for name, observer in self._observers().items():
            prefix = f"{name}."
            own = {
                key.removeprefix(prefix): x for key, x in tensors.items() if key.startswith(prefix)
            }
            observer.load_state_dict(own, meta[name])
        arrays = {name: tensors[f"env.{name}"].numpy() for name in _ENV_ARRAYS}
        self.env.set_state({**arrays, **meta["env"]})

    def _observers(self) -> dict[str, Observer]:
        """Observers by their names in checkpoints."""
        privileged = self.privileged_observer
        return {"observer": self.observer} | (
            {} if privileged is None else {"privileged_observer": privileged}
        )


def stack_steps(steps: list[Entities]) -> Entities:
    """Entities of several steps (B, V, K, ...) as (B, T, V, K, ...)."""
    return Entities(*(np.stack(arrays, axis=1) for arrays in zip(*steps, strict=True)))


def color_ids_of(env: TabletopVectorEnv) -> NDArray[np.int64]:
    """Which of the environment's colors each object has; -1: absent. (B, N)."""
    palette, objects = palette_of(env), env.episode_sampler.max_objects
    color_ids = np.full((env.num_envs, objects), -1, np.int64)
    for index, episode in enumerate(env.episodes):
        for slot, spec in enumerate(episode.scene.objects[:objects]):
            if spec.present:
                color_ids[index, slot] = palette.index(episode.appearance.colors[slot])
    return color_ids

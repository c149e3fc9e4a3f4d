"""A trained agent that acts on observations of any environment it fits."""

import hashlib
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.core.entities import Entities
from jostle.core.errors import BadValueError
from jostle.core.protocols import Agent, Policy
from jostle.envs.observe import StateReader
from jostle.envs.vector import TabletopVectorEnv
from jostle.rollout.found_object_observer import FoundObjectObserver
from jostle.rollout.observer import StateObserver, features_of
from jostle.rollout.pixel_observer import GOAL, PixelObserver
from jostle.rollout.table_projection import TableProjection
from jostle.scene.cameras import resolve_cameras
from jostle.tasks.catalog import TASKS
from jostle.training.components import make_policy
from jostle.training.experiment import Experiment
from jostle.zoo.agents import load_zoo_agent

_REMEMBERED = 4096
"""Episodes whose noise and encoded goals are remembered."""


class LoadedAgent:
    """Networks, encoder and evaluation noise of an agent, ready to act."""

    def __init__(self, agent: Agent, experiment: Experiment, name: str) -> None:
        """Wrap an agent that was trained by `experiment`."""
        self.agent, self.experiment, self.name = agent, experiment, name
        self._seed = 0
        self._noise: OrderedDict[bytes, np.random.Generator] = OrderedDict()
        self._goals: OrderedDict[bytes, Entities] = OrderedDict()
        self._found: OrderedDict[bytes, FoundObjectObserver] = OrderedDict()

    @property
    def task(self) -> str:
        """The task that it was trained on."""
        return TASKS[self.experiment.task].name

    @property
    def env_kwargs(self) -> dict[str, Any]:
        """Options of an environment that shows what the agent needs."""
        sensor = self.agent.sensor
        if sensor is None:
            return {}
        size = sensor.encoder.config.image_size
        return {"obs_type": "both", "cameras": sensor.cameras, "image_size": size}

    def reset(self, seed: int = 0) -> None:
        """Start the evaluation noise anew, and forget the objects that were found."""
        self._seed = seed
        self._noise.clear()
        self._found.clear()

    def act(
        self, observation: Mapping[str, NDArray[Any]], deterministic: bool = False
    ) -> NDArray[np.float32]:
        """Choose an action (A,) for one environment, or actions (B, A) for a vector of them.

        Unless `deterministic`, the agent's evaluation noise is added. Every episode, known by its
        goal, has a stream of noise of its own: vectors may take turns.
        """
        reads_gripper = self.agent.sensor is None or self.agent.sensor.finds_objects
        needed = ["desired_goal"] + ["observation"] * reads_gripper
        if missing := [key for key in needed if key not in observation]:
            raise BadValueError(
                f"The observation lacks '{missing[0]}': give the observation of the environment as "
                "it is."
            )
        single = np.ndim(observation["desired_goal"]) == 2
        if single:
            observation = {key: np.asarray(value)[None] for key, value in observation.items()}
        keys = self._episode_keys(observation)
        state, goal = self._observe(observation, keys)
        actions = self.agent.act(state.to_torch(), goal.to_torch())
        if not deterministic and self.agent.eval_noise_std > 0:
            noise = np.stack([self._stream(key).standard_normal(actions.shape[1]) for key in keys])
            actions = np.clip(actions + self.agent.eval_noise_std * noise, -1, 1)
        actions = actions.astype(np.float32)
        return actions[0] if single else actions

    def predict(
        self,
        observation: Mapping[str, NDArray[Any]],
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[NDArray[np.float32], Any]:
        """The same in the form of Stable-Baselines3; there is no recurrent state."""
        del episode_start
        return self.act(observation, deterministic), state

    def policy(self, env: TabletopVectorEnv, eval_noise: float | None = None) -> Policy:
        """A policy bound to an environment, as evaluations use it."""
        return make_policy(self.agent, env, eval_noise)

    def _observe(
        self, observation: Mapping[str, NDArray[Any]], keys: list[bytes]
    ) -> tuple[Entities, Entities]:
        """Entities of states and goals."""
        if self.agent.net.arch == "smorl":
            raise BadValueError(
                "A SMORL agent works on one object after the other and acts through a policy of "
                "its environment: agent.policy(env).act(observation)."
            )
        if self.agent.sensor is not None and self.agent.sensor.finds_objects:
            return self._find_objects(observation, keys)
        if self.agent.sensor is not None:
            observer = self._pixel_observer(self.agent.net.table_xy)
            return observer.state(observation), self._encoded_goals(observer, observation, keys)
        state_observer = self._state_observer(observation)
        return state_observer.state(observation), state_observer.goal(observation)

    def _state_observer(self, observation: Mapping[str, NDArray[Any]]) -> StateObserver:
        rows = observation["observation"]  # (B, 1+N, F)
        task, objects = TASKS[self.experiment.task], rows.shape[1] - 1
        metrics = [task.goal_metric(padded) for padded in (False, True)]
        readers = [StateReader(metric, objects, task.table) for metric in metrics]
        fitting = [reader for reader in readers if len(reader.columns) == rows.shape[2]]
        if not fitting or objects < 1:
            expected = " or ".join(str(len(reader.columns)) for reader in readers)
            raise BadValueError(
                f"'{self.name}' was trained on {self.task}, whose state has {expected} columns and "
                f"at least one object; this observation has the shape {rows.shape[1:]}."
            )
        features = features_of(self.agent.spec.layout)
        observer = StateObserver(fitting[0], len(rows), None, features)
        trained = self.agent.spec.state[1] - 1
        if self.agent.net.arch != "mlp" and observer.layout.width != self.agent.spec.features:
            raise BadValueError(
                f"'{self.name}' has fixed object ids and was trained with {trained} objects; here "
                f"are {objects}."
            )
        if self.agent.net.arch == "mlp" and observer.state_shape != self.agent.spec.state:
            raise BadValueError(
                f"'{self.name}' is an unstructured network for {trained} objects; here are "
                f"{objects}."
            )
        return observer

    def _find_objects(
        self, observation: Mapping[str, NDArray[Any]], keys: list[bytes]
    ) -> tuple[Entities, Entities]:
        """Objects in the images, which are followed through each episode."""
        objects = observation["desired_goal"].shape[1]
        classifier = self.agent.sensor.classifier
        entities = []
        for row, key in enumerate(keys):
            if key not in self._found:
                particles = self._pixel_observer(table_xy=True)
                self._found[key] = FoundObjectObserver(particles, classifier, (1, objects))
                _forget(self._found)
            one = {name: values[row : row + 1] for name, values in observation.items()}
            entities.append((self._found[key].state(one), self._found[key].goal(one)))
        states, goals = (Entities.cat(list(sets)) for sets in zip(*entities, strict=True))
        return states, goals

    def _pixel_observer(self, table_xy: bool) -> PixelObserver:
        sensor = self.agent.sensor
        projection = None
        if table_xy:
            cameras = resolve_cameras(sensor.cameras)
            projection = TableProjection(cameras, sensor.encoder.config.image_size)
        return PixelObserver(sensor.encoder, sensor.cameras, projection, self.agent.device)

    def _encoded_goals(
        self, observer: PixelObserver, observation: Mapping[str, NDArray[Any]], keys: list[bytes]
    ) -> Entities:
        """Entities of the goals (B, V, K, D); images that were encoded before are not again."""
        missing = [row for row, key in enumerate(keys) if key not in self._goals]
        if missing:
            rows = {key: values[missing] for key, values in observation.items()}
            encoded = observer.goal(rows)
            for index, row in enumerate(missing):
                self._goals[keys[row]] = Entities(encoded.values[index], encoded.visible[index])
        goals = [self._goals[key] for key in keys]
        _forget(self._goals)
        return Entities(*(np.stack(arrays) for arrays in zip(*goals, strict=True)))

    def _episode_keys(self, observation: Mapping[str, NDArray[Any]]) -> list[bytes]:
        """Keys of the episodes of a batch: hashes of their goals."""
        sensor = self.agent.sensor
        names = ["desired_goal"]
        if sensor is not None:
            names = [GOAL + camera for camera in sensor.cameras if GOAL + camera in observation]
        goals = [np.ascontiguousarray(observation[name]) for name in names]
        count = len(observation["desired_goal"])
        return [
            hashlib.sha256(b"".join(goal[row].tobytes() for goal in goals)).digest()
            for row in range(count)
        ]

    def _stream(self, key: bytes) -> np.random.Generator:
        if key not in self._noise:
            self._noise[key] = np.random.default_rng((self._seed, int.from_bytes(key[:8], "big")))
            _forget(self._noise)
        return self._noise[key]


def _forget(remembered: OrderedDict[bytes, Any]) -> None:
    """Drop the oldest entries beyond what is remembered."""
    while len(remembered) > _REMEMBERED:
        remembered.popitem(last=False)


def load_agent(name: str | Path) -> LoadedAgent:
    """Load an agent: a name of the zoo, a run folder or a file of weights."""
    experiment, agent = load_zoo_agent(str(name))
    return LoadedAgent(agent, experiment, str(name))

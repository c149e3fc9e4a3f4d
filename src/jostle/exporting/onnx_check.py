"""An exported agent against torch, on observations of its own episodes."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.core.entities import Entities
from jostle.core.protocols import Agent, Observation, Observer
from jostle.exporting.onnx_inputs import Feeds, frame_feeds, state_feeds
from jostle.rollout.observer import features_of
from jostle.rollout.rollout import rollout
from jostle.rollout.smorl import SubgoalObserver
from jostle.training.components import make_env
from jostle.training.experiment import Experiment
from jostle.training.observers import make_observer

_ENVS = 4
"""Environments whose episodes are played."""


@dataclass(frozen=True)
class Sample:
    """One step of some environments, and what torch makes of it."""

    observation: Observation
    state: Entities
    goal: Entities
    action: NDArray[np.float32]
    padded: bool
    """Whether observations have a column that says which objects are present."""
    chosen: NDArray[np.int64] | None = None
    """Object that SMORL works on, in each environment."""


class _Reference:
    """A policy that remembers what it observes and does."""

    def __init__(self, agent: Agent, observer: Observer, padded: bool) -> None:
        self._agent, self._observer, self._padded = agent, observer, padded
        self.samples: list[Sample] = []

    def act(self, observation: Observation) -> NDArray[np.float32]:
        chosen = None
        if isinstance(self._observer, SubgoalObserver):
            objects = self._observer.state_shape[1] - 1
            chosen = (np.arange(_ENVS) + len(self.samples)) % objects
            self._observer.chosen[:] = chosen
        state, goal = self._observer.state(observation), self._observer.goal(observation)
        action = self._agent.act(state.to_torch(), goal.to_torch())
        kept = {key: np.array(values) for key, values in observation.items()}
        self.samples.append(Sample(kept, state, goal, action, self._padded, chosen))
        return action


def play(experiment: Experiment, agent: Agent, count: int) -> list[Sample]:
    """Let an agent act on `count` observations of its task, or a few more."""
    encoder = None if agent.sensor is None else agent.sensor.encoder
    env = make_env(experiment, _ENVS, encoder)
    try:
        features = features_of(agent.spec.layout)
        observer = make_observer(agent.net, env, None, agent.sensor, agent.device, features)
        policy = _Reference(agent, observer, env.goal_metric.padded)
        rollout(env, policy, -(-count // _ENVS), seed=0)
        return policy.samples
    finally:
        env.close()


class OnnxPolicy:
    """Acts by the files of an exported agent alone."""

    def __init__(self, folder: Path, cameras: tuple[str, ...], objects: int) -> None:
        """Open the files; an agent without cameras reads true state of up to `objects` objects."""
        self.cameras, self._objects = cameras, objects
        self._actor = _open(folder / "actor.onnx")
        self._encoder = _open(folder / "encoder.onnx") if cameras else None

    def encode(self, observation: Observation, goal: bool) -> Entities:
        """Entities of the images of a state, or of its goal."""
        return Entities(*_run(self._encoder, frame_feeds(observation, self.cameras, goal)))

    def act(self, sample: Sample) -> NDArray[np.float32]:
        """Choose actions, (B, A)."""
        if self.cameras:
            state, goal = (self.encode(sample.observation, goal) for goal in (False, True))
            names = ("state", "state_visible", "goal", "goal_visible")
            feeds = dict(zip(names, (*state, *goal), strict=True))
        else:
            feeds = state_feeds(sample.observation, self._objects, sample.padded)
            if sample.chosen is not None:
                feeds["chosen"] = sample.chosen
        action: NDArray[np.float32] = _run(self._actor, feeds)[0]
        return action


def compare(policy: OnnxPolicy, samples: list[Sample]) -> dict[str, float]:
    """Largest errors of entities, which are sets without an order, and of actions."""
    gaps = [np.abs(policy.act(sample) - sample.action) for sample in samples]
    errors = {"action": float(np.max(gaps))}
    if policy.cameras:
        errors["entities"] = max(
            set_error(policy.encode(sample.observation, goal), reference)
            for sample in samples
            for goal, reference in ((False, sample.state), (True, sample.goal))
        )
    return errors


def set_error(exported: Entities, reference: Entities) -> float:
    """Largest distance of a visible entity to the nearest one of the other set, in any column.

    Infinite if other entities are visible. Sets are (B, V, K, D).
    """
    if not np.array_equal(exported.visible.sum(-1), reference.visible.sum(-1)):
        return float("inf")
    gaps = np.abs(exported.values[..., :, None, :] - reference.values[..., None, :, :]).max(-1)
    hidden = ~(exported.visible[..., :, None] & reference.visible[..., None, :])
    gaps = np.where(hidden, np.inf, gaps)  # (B, V, K, K)
    nearest = (gaps.min(-1)[exported.visible], gaps.min(-2)[reference.visible])
    return max((float(gap.max()) for gap in nearest if gap.size), default=0.0)


def _open(path: Path) -> Any:
    """A session of onnxruntime with one thread."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def _run(session: Any, feeds: Feeds) -> list[NDArray[Any]]:
    """Outputs of a graph; inputs that it does not use are left out."""
    used = {given.name for given in session.get_inputs()}
    outputs: list[NDArray[Any]] = session.run(None, {k: v for k, v in feeds.items() if k in used})
    return outputs

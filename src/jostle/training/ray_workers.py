"""Workers through Ray: they collect episodes while the learner learns.

A worker is given weights, plays one episode in each of its environments, and is then given the
newest weights and starts again, while its episodes wait for the learner: at most one batch of
episodes per worker waits or is under way (back-pressure). Batches of weights that are
`max_staleness` iterations old are taken first, so that none gets older (bounded staleness).
"""

import time
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from jostle.agents.base import PixelSensor
from jostle.cluster.ray_session import check_ray, ray_session, worker_error
from jostle.core.errors import ClusterError
from jostle.core.profiler import PROFILER
from jostle.core.protocols import Agent
from jostle.replay.episodes import Episodes
from jostle.training.env_groups import Collected, State, join, join_states, split_states
from jostle.training.experiment import Experiment
from jostle.training.worker import LoadTeacher, RolloutWorker, versions

_WHAT = "Training with --workers"
_START_SECONDS = 180.0
"""How long to wait for a first worker."""
_MAX_FAILURES = 3
"""Times that a worker may die in a row without delivering episodes."""


@dataclass
class _Slot:
    """The place of one worker."""

    index: int
    starts: int = 0
    """Workers that this place has had before; a new one has a seed of its own."""
    failures: int = 0
    """Of them, those that died without delivering episodes."""
    actor: Any = None
    pending: Any = None
    """What the actor is computing: episodes, or, when it starts, its versions."""
    ready: bool = False
    """Whether the actor has started."""
    version: int = 0
    """Number of the weights that it acts with."""


class RayWorkers:
    """Collects with one process per group of environments."""

    def __init__(
        self,
        experiment: Experiment,
        sensor: PixelSensor | None,
        agent: Agent,
        load_teacher: LoadTeacher,
        worker: type = RolloutWorker,
    ) -> None:
        """Check that Ray is there; workers start when the first episodes are asked for."""
        self._worker = worker
        check_ray(_WHAT, experiment.collection.ray)
        self._experiment, self._config = experiment, experiment.collection
        self._sensor, self._agent, self._load_teacher = sensor, agent, load_teacher
        self._slots = [_Slot(index) for index in range(self._config.groups)]
        self._ray: Any = None
        self._session = ExitStack()
        self._shared: Any = None
        self._version = self._restarts = 0
        self._saved: list[State] = []

    def collect(self, episodes: int) -> Collected:
        """Collect as many episodes as there are environments."""
        with PROFILER("waiting"):
            if self._ray is None:
                self._open()
            self._version += 1
            tensors = self._agent.acting_tensors()
            weights = {name: tensor.detach().cpu().numpy() for name, tensor in tensors.items()}
            work = (self._ray.put(weights), episodes)
            if self._config.sync:
                return join(self._collect_sync(work))
            return join(self._collect_async(work))

    def close(self) -> None:
        """End the workers, and Ray if it was started here."""
        if self._ray is None:
            return
        for slot in self._slots:
            if slot.actor is not None:
                self._ray.kill(slot.actor)
            slot.actor, slot.pending, slot.ready = None, None, False
            slot.starts += not self._config.sync
        self._ray, self._shared = None, None
        self._session.close()

    def state_dict(self) -> State:
        """With --sync, the states of all groups; without, how often each worker was started."""
        if not self._config.sync:
            return {}, {"starts": [slot.starts for slot in self._slots]}
        if self._ray is None:
            return join_states(self._saved) if self._saved else ({}, {"fresh": True})
        return join_states(self._ray.get([slot.actor.state.remote() for slot in self._slots]))

    def load_state_dict(self, tensors: dict[str, Tensor], meta: dict[str, Any]) -> None:
        """Restore what `state_dict` returned, when workers start."""
        if self._config.sync:
            self._saved = [] if meta.get("fresh") else split_states(tensors, meta)
            return
        for slot, starts in zip(self._slots, meta.get("starts", ()), strict=False):
            slot.starts = starts + 1

    def _open(self) -> None:
        """Join the cluster and start all workers."""
        session = ray_session(self._config.ray, self._config.workers, _WHAT)
        self._ray = self._session.enter_context(session)
        shared = (self._experiment, self._sensor, self._load_teacher)
        self._shared = [self._ray.put(part) for part in shared]
        for slot in self._slots:
            self._start(slot)
        if self._config.sync:
            self._wait_for_all()

    def _start(self, slot: _Slot) -> None:
        """Start a worker; it is ready when it has answered with its versions."""
        remote = self._ray.remote(num_cpus=1)(self._worker)
        slot.actor = remote.remote(*self._shared, slot.index, slot.starts)
        slot.pending, slot.ready = slot.actor.versions.remote(), False

    def _wait_for_all(self) -> None:
        """Wait until all workers have started, and give them their saved states."""
        pending = [slot.pending for slot in self._slots]
        ready, _ = self._ray.wait(pending, num_returns=len(pending), timeout=_START_SECONDS)
        if len(ready) < len(pending):
            raise self._no_worker(len(ready))
        for slot in self._slots:
            self._check_started(slot)
        for slot, state in zip(self._slots, self._saved, strict=False):
            self._ray.get(slot.actor.load_state.remote(*state))
        self._saved = []

    def _collect_sync(self, work: tuple[Any, int]) -> list[Collected]:
        """One batch of each worker, in order; all wait for each other."""
        pending = [slot.actor.collect.remote(*work) for slot in self._slots]
        try:
            return [_collected(*batch) for batch in self._ray.get(pending)]
        except self._ray.exceptions.RayActorError as error:
            raise ClusterError(
                "A worker died. With --sync the run cannot go on without its environments: resume "
                "it from the last checkpoint (--resume RUN)."
            ) from error
        except self._ray.exceptions.RayError as error:
            raise worker_error(error) from error

    def _collect_async(self, work: tuple[Any, int]) -> list[Collected]:
        """As many batches as there are workers, from whichever have them."""
        batches: list[Collected] = []
        lags: list[int] = []
        waited = time.monotonic()
        while len(batches) < len(self._slots):
            slot = self._next(len(self._slots) - len(batches))
            if slot is None:
                if not any(other.ready for other in self._slots) and (
                    time.monotonic() - waited > _START_SECONDS
                ):
                    raise self._no_worker(0)
                continue
            waited = time.monotonic()
            batch = self._take(slot)
            if batch is not None:
                batches.append(batch)
                lags.append(self._version - slot.version)
            if slot.ready:
                slot.pending, slot.version = slot.actor.collect.remote(*work), self._version
        extra = {"staleness": float(np.mean(lags)), "worker_restarts": float(self._restarts)}
        return [(episodes, {**infos, **extra}) for episodes, infos in batches]

    def _next(self, left: int) -> _Slot | None:
        """A worker that has finished something; if `left` batches must be old ones, one of them."""
        oldest = self._version - self._config.max_staleness
        collecting = [slot for slot in self._slots if slot.ready]
        due = [slot for slot in collecting if slot.version <= oldest]
        starting = [slot for slot in self._slots if not slot.ready]
        asked = [*(due if len(due) >= left else collecting), *starting]
        ready, _ = self._ray.wait([slot.pending for slot in asked], num_returns=1, timeout=1.0)
        return next((slot for slot in asked if slot.pending in ready), None)

    def _take(self, slot: _Slot) -> Collected | None:
        """What a worker has finished; None if it has just started, or died and starts again."""
        try:
            if not slot.ready:
                self._check_started(slot)
                return None
            arrays, infos = self._ray.get(slot.pending)
        except self._ray.exceptions.RayActorError as error:
            self._restart(slot, error)
            return None
        except self._ray.exceptions.RayTaskError as error:
            raise worker_error(error) from error
        slot.failures = 0
        return _collected(arrays, infos)

    def _check_started(self, slot: _Slot) -> None:
        """Refuse a worker with other versions than the learner's."""
        try:
            theirs, ours = self._ray.get(slot.pending), versions()
        except self._ray.exceptions.RayError as error:
            if self._config.sync or not _died(error):
                raise worker_error(error) from error
            raise
        differing = [
            f"{name} {theirs[name]} (here {own})" for name, own in ours.items()
            if theirs[name] != own
        ]  # fmt: skip
        if differing:
            raise ClusterError(
                f"A worker has other versions: {', '.join(differing)}. Install the same ones on "
                "all machines."
            )
        slot.ready = True

    def _restart(self, slot: _Slot, error: Exception) -> None:
        """Replace a worker that died; its episodes are lost."""
        slot.starts, slot.failures = slot.starts + 1, slot.failures + 1
        self._restarts += 1
        if slot.failures > _MAX_FAILURES:
            raise ClusterError(
                f"Worker {slot.index} died {slot.failures} times in a row. The last checkpoint is "
                f"kept. {worker_error(error)}"
            ) from error
        self._start(slot)

    def _no_worker(self, started: int) -> ClusterError:
        """Error about workers that do not start."""
        cpus = self._ray.cluster_resources().get("CPU", 0)
        return ClusterError(
            f"{started} of {len(self._slots)} workers started within {_START_SECONDS:.0f} s: each "
            f"needs one CPU, and the cluster has {cpus:g} in total. Ask for fewer --workers, or "
            "add machines."
        )


def _collected(arrays: dict[str, Any], infos: dict[str, float]) -> Collected:
    """Episodes of a worker; copied, because memory shared through Ray cannot be written."""
    return Episodes.from_arrays({name: np.array(array) for name, array in arrays.items()}), infos


def _died(error: Exception) -> bool:
    """Whether a process died, in contrast to one that raised an error."""
    return "creation task" not in str(error)

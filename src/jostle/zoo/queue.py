"""A queue of trainings that share a machine: time slices, and promotion of better weights."""

import json
import math
import time
import tomllib
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from jostle.core.catalog import Catalog
from jostle.core.errors import BadValueError, require
from jostle.core.files import write_json
from jostle.encoders.catalog import ENCODERS
from jostle.encoders.saving import read_entry
from jostle.presets.words import TrainConfig, parse_words
from jostle.pretraining import start as pretraining
from jostle.pretraining.config import preset
from jostle.runs.lock import locked
from jostle.runs.run_dir import RunDir
from jostle.runs.trainer import Report, StopRequested, Training
from jostle.training.start import resume_run, start_run
from jostle.zoo.agents import load_teacher
from jostle.zoo.encoders import load_encoder
from jostle.zoo.folders import user_zoo
from jostle.zoo.promote import promote_agent
from jostle.zoo.promote_encoders import promote_encoder
from jostle.zoo.registry import check_new_name, find_entry, read_meta, registry

Log = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Job:
    """One training of the queue: an agent (train), or an encoder (encoder, preset, data)."""

    name: str
    """Name of its model in the zoo."""
    minutes: float
    """Total time budget."""
    target: float
    """Success rate at which the job is done; for encoders, the validation loss."""
    train: str = ""
    """Words behind `jostle train`. Weights named by --from, a model of the zoo, are used while the
    job has no model of its own."""
    encoder: str | None = None
    """Kind of encoder to pretrain; None if an agent is trained."""
    preset: str = "lite"
    """Size of the encoder."""
    data: str = ""
    """Folder of frames to pretrain the encoder on."""

    def check(self) -> None:
        """Raise an error for unknown names, and for encoders without frames."""
        if self.encoder is None:
            require(not self.data, f"'{self.name}' has frames (data) but names no encoder.")
            require(bool(self.train), f"'{self.name}' names neither a training nor an encoder.")
            start = self.train_config().start
            if start is not None:
                find_entry(start)
        else:
            _ = ENCODERS[self.encoder].presets[self.preset]
            require(bool(self.data), f"'{self.name}' lacks the frames to pretrain on (data).")

    def train_config(self) -> TrainConfig:
        """The configuration of an agent's training."""
        try:
            return parse_words(self.train.split())
        except SystemExit:
            raise BadValueError(
                f"'{self.name}' has wrong flags: jostle train {self.train}"
            ) from None

    def reached(self, state: dict[str, Any]) -> bool:
        """Whether the job's state is at its target."""
        if self.encoder is None:
            return bool(state.get("success", 0.0) >= self.target)
        return bool(state.get("loss", math.inf) <= self.target)

    def with_score(self, state: dict[str, Any], score: float) -> dict[str, Any]:
        """The job's state after one more score."""
        if self.encoder is None:
            return {**state, "success": max(state.get("success", 0.0), score)}
        return {**state, "loss": min(state.get("loss", math.inf), score)}


class SliceOver(StopRequested):
    """The time slice of a job is over."""


def read_queue(path: Path) -> list[Job]:
    """Read the jobs of a queue file, in order of priority."""
    try:
        entries = tomllib.loads(path.read_text())["training"]
        jobs = [Job(**entry) for entry in entries]
    except (OSError, KeyError, TypeError, tomllib.TOMLDecodeError) as error:
        raise BadValueError(f"{path} is not a queue of trainings: {error}.") from error
    for job in jobs:
        job.check()
    require(len({job.name for job in jobs}) == len(jobs), f"Two trainings in {path} share a name.")
    return jobs


class TrainingQueue:
    """Runs jobs in time slices; all its state is on disk, so that it can be stopped at any time."""

    def __init__(
        self,
        jobs: list[Job],
        folder: Path,
        log: Log,
        zoo: Path | None = None,
        episodes: int = 400,
        on_iteration: Callable[[], None] = lambda: None,
        threads: int = 0,
    ) -> None:
        """Keep runs in `folder`; compare agents on `episodes` fixed episodes.

        Better weights go to `zoo`, the user's own by default.

        `on_iteration` is called after every iteration; if it raises an error, the run is saved and
        the slice ends. New runs use `threads` threads; 0 leaves the number to their presets.
        """
        self._threads = threads
        self._jobs, self._folder, self._log = jobs, folder, log
        self._on_iteration = on_iteration
        self._zoo, self._episodes = zoo or user_zoo(), episodes
        for job in jobs:
            check_new_name(job.name, self._zoo)

    def next(self, running: Collection[str] = ()) -> Job | None:
        """The first job that is not running, has time left and is not at its target."""
        states = self._read_state()
        for job in self._jobs:
            if job.name in running:
                continue
            state = states.get(job.name, {"minutes": 0.0, "done": False})
            out_of_time = state["minutes"] >= job.minutes
            if not (out_of_time or state["done"] or job.reached(state)):
                return job
        return None

    def find(self, name: str) -> Job:
        """A job by its name."""
        return Catalog("job", {job.name: job for job in self._jobs})[name]

    def run_slice(self, job: Job, minutes: float) -> None:
        """Continue a job for some minutes, then evaluate it and register better weights."""
        start = time.monotonic()
        run = RunDir(self._folder / job.name)
        finished, stop = False, None
        state = self._read_state().get(job.name, {"minutes": 0.0})
        try:
            finished = self._train(job, run, start + 60 * minutes)
        except StopRequested as request:
            stop = request
        if stop is None and run.best.exists():
            state = job.with_score(state, self._promote(job, run))
        state["minutes"] += (time.monotonic() - start) / 60
        state["done"] = finished
        with locked(self._folder / ".queue.lock", wait=True):
            write_json(self._folder / "queue.json", {**self._read_state(), job.name: state})
        if stop is not None:
            raise stop

    def _train(self, job: Job, run: RunDir, end: float) -> bool:
        """Train until `end`; True if the training finished."""

        def on_row(row: dict[str, Any]) -> None:
            if "warning" in row:
                self._log(f"{job.name}: step {row['step']}: {row['warning']}")
                return
            while (self._folder / "PAUSE").exists():
                time.sleep(1)
                self._on_iteration()
            self._on_iteration()
            if time.monotonic() > end:
                raise SliceOver

        trainer = self._open(job, run, on_row)
        try:
            trainer.run()
        except StopRequested as stop:  # the trainer has saved everything
            self._log(f"{job.name}: saved at {trainer.counters[trainer.axis]} steps")
            if not isinstance(stop, SliceOver):
                raise
            return False
        return True

    def _promote(self, job: Job, run: RunDir) -> float:
        """Register a run's best weights if they are better; returns the better score."""
        if job.encoder is not None:
            return promote_encoder(job.name, run, self._log, self._zoo)
        return promote_agent(job.name, run, self._log, self._zoo, self._episodes)

    def _open(self, job: Job, run: RunDir, report: Report) -> Training:
        """Resume a job's run, or start it."""
        if not run.experiment.exists():
            return self._start(job, run, report)
        self._log(f"{job.name}: resumes {run.path}")
        if job.encoder is not None:
            return pretraining.resume_run(run.path, report)
        return resume_run(run.path, report, load_teacher=load_teacher, notify=self._log)

    def _start(self, job: Job, run: RunDir, report: Report) -> Training:
        """Start a job's run, from the zoo's weights if there are any."""
        own = registry(self._zoo)
        config = job.train_config() if job.encoder is None else None
        entry = own.get(job.name)
        if entry is None and config is not None and config.start is not None:
            entry = own[config.start] if config.start in own else find_entry(config.start)
        self._log(f"{job.name}: starts" + (f" from {entry.name}" if entry else ""))
        weights = entry.weights if entry else None
        if config is None:
            return self._start_pretraining(job, run, report, weights)
        experiment = config.experiment
        if weights is not None:  # keep the depth of the weights
            depth = read_meta(weights)["experiment"]["net"].get("num_layers", 1)
            net = replace(experiment.net, num_layers=max(depth, experiment.net.num_layers))
            training = replace(experiment.training, curriculum=False)  # they have met all objects
            experiment = replace(experiment, net=net, training=training)
        if self._threads:
            training = replace(experiment.training, threads=self._threads)
            experiment = replace(experiment, training=training)
        return start_run(
            experiment, run.path, report, weights, load_teacher=load_teacher,
            load_encoder=load_encoder,
        )  # fmt: skip

    def _start_pretraining(
        self, job: Job, run: RunDir, report: Report, weights: Path | None
    ) -> Training:
        assert job.encoder is not None
        config = replace(preset(job.encoder, job.preset), data=job.data)
        config = replace(config, threads=self._threads or config.threads)
        if weights is not None:  # keep the sizes of the weights
            config = replace(config, model=read_entry(read_meta(weights), weights)[1])
        return pretraining.start_run(config, run.path, report, weights)

    def _read_state(self) -> dict[str, Any]:
        """Minutes, best score and whether it is done, by name of the job."""
        path = self._folder / "queue.json"
        state: dict[str, Any] = json.loads(path.read_text()) if path.is_file() else {}
        return state

"""Trainings in turn: go on with the most wanted one, and keep what got better."""

import json
import math
import time
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from jostle.core.errors import BadValueError, require
from jostle.core.rundir import RunDir, write_json
from jostle.particles.catalog import KINDS
from jostle.particles.saving import read_entry
from jostle.presets.catalog import PRESETS
from jostle.pretraining import start as pretraining
from jostle.pretraining.config import recipe
from jostle.pretraining.loop import Pretrainer
from jostle.training.rounds import Rounds, StopAskedError
from jostle.training.start import begin, go_on
from jostle.zoo.agents import teacher_for
from jostle.zoo.encoders import look
from jostle.zoo.keeping import keep_if_better
from jostle.zoo.keeping_encoders import keep_encoder_if_better
from jostle.zoo.shelf import FOLDER, find, meta_of, shelf

Tell = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """One training of the queue."""

    name: str
    """Name of its weights in the zoo."""
    preset: str
    """What to train; of encoders, in which size."""
    minutes: float
    """Time it may take in all."""
    target: float
    """Success at which it counts as finished; of encoders, the validation loss."""
    start: str = ""
    """Whose weights of the zoo an agent begins with while there are none of its own."""
    encoder: str | None = None
    """Which encoder to pretrain; none: the preset is that of an agent."""
    data: str = ""
    """Folder of frames; for encoders only."""

    def check(self) -> None:
        """Refuse names that nobody knows, and encoders without frames."""
        if self.encoder is None:
            _ = PRESETS[self.preset]
            require(not self.data, f"'{self.name}' has frames (data) but names no encoder.")
            if self.start:
                find(self.start)
        else:
            _ = KINDS[self.encoder].presets[self.preset]
            require(bool(self.data), f"'{self.name}' lacks the frames to learn from (data).")

    def reached(self, known: dict[str, Any]) -> bool:
        """Whether what the book knows is enough."""
        if self.encoder is None:
            return bool(known.get("success", 0.0) >= self.target)
        return bool(known.get("loss", math.inf) <= self.target)

    def judged(self, known: dict[str, Any], score: float) -> dict[str, Any]:
        """What the book knows after one more score."""
        if self.encoder is None:
            return {**known, "success": max(known.get("success", 0.0), score)}
        return {**known, "loss": min(known.get("loss", math.inf), score)}


class SliceOverError(Exception):
    """The time given to one turn has passed."""


def read_queue(path: Path) -> list[Wanted]:
    """Read the queue, most wanted first."""
    try:
        found = tomllib.loads(path.read_text())["training"]
        queue = [Wanted(**entry) for entry in found]
    except (OSError, KeyError, TypeError, tomllib.TOMLDecodeError) as error:
        raise BadValueError(f"{path} is no queue of trainings: {error}.") from error
    for wanted in queue:
        wanted.check()
    require(
        len({wanted.name for wanted in queue}) == len(queue),
        f"Two trainings in {path} share a name.",
    )
    return queue


class Relay:
    """Works through a queue in turns; everything it knows is on disk, so it can stop any time."""

    def __init__(
        self,
        queue: list[Wanted],
        folder: Path,
        tell: Tell,
        zoo: Path = FOLDER,
        episodes: int = 400,
        between: Callable[[], None] = lambda: None,
        threads: int = 0,
    ) -> None:
        """Keep runs in `folder`, weights in `zoo`; judge by `episodes` fixed episodes.

        `between` is called after every round; what it raises ends the turn, and all is saved. New
        runs are held to `threads` threads; 0 leaves it to their presets.
        """
        self._threads = threads
        self._queue, self._folder, self._tell = queue, folder, tell
        self._between = between
        self._zoo, self._episodes = zoo, episodes

    def next(self) -> Wanted | None:
        """The most wanted training that has neither spent its time nor reached its target."""
        book = self._book()
        for wanted in self._queue:
            known = book.get(wanted.name, {"minutes": 0.0, "done": False})
            spent = known["minutes"] >= wanted.minutes
            if not (spent or known["done"] or wanted.reached(known)):
                return wanted
        return None

    def turn(self, wanted: Wanted, minutes: float) -> None:
        """Go on with one training for some minutes, then judge and perhaps keep it."""
        start = time.monotonic()
        run = RunDir(self._folder / wanted.name)
        finished, stop = False, None
        known = self._book().get(wanted.name, {"minutes": 0.0})
        try:
            finished = self._train(wanted, run, start + 60 * minutes)
        except StopAskedError as asked:
            stop = asked
        if stop is None and run.best.exists():
            known = wanted.judged(known, self._keep(wanted, run))
        known["minutes"] += (time.monotonic() - start) / 60
        known["done"] = finished
        write_json(self._folder / "relay.json", {**self._book(), wanted.name: known})
        if stop is not None:
            raise stop

    def _train(self, wanted: Wanted, run: RunDir, end: float) -> bool:
        """Train until `end`; True if the training came to its own end."""

        def watch(row: dict[str, Any]) -> None:
            if "alarm" in row:
                self._tell(f"{wanted.name}: step {row['step']}: {row['alarm']}")
                return
            while (self._folder / "PAUSE").exists():
                time.sleep(1)
                self._between()
            self._between()
            if time.monotonic() > end:
                raise SliceOverError

        rounds = self._open(wanted, run, watch)
        try:
            rounds.run()
        except (SliceOverError, StopAskedError) as stop:
            rounds.save()
            steps = rounds.counters["env_steps" if wanted.encoder is None else "step"]
            self._tell(f"{wanted.name}: saved at {steps} steps")
            if isinstance(stop, StopAskedError):
                raise
            return False
        return True

    def _keep(self, wanted: Wanted, run: RunDir) -> float:
        """Judge a run's best, and perhaps put it on the shelf; returns the better score."""
        if wanted.encoder is not None:
            return keep_encoder_if_better(wanted.name, run, self._tell, self._zoo)
        return keep_if_better(wanted.name, run, self._tell, self._zoo, self._episodes)

    def _open(
        self, wanted: Wanted, run: RunDir, watch: Callable[[dict[str, Any]], None]
    ) -> Rounds | Pretrainer:
        if run.experiment.exists():
            self._tell(f"{wanted.name}: goes on in {run.path}")
            if wanted.encoder is not None:
                return pretraining.go_on(run.path, watch)
            return go_on(run.path, watch, find=teacher_for)
        zoo = shelf(self._zoo)
        held = zoo.get(wanted.name) or zoo.get(wanted.start)
        self._tell(f"{wanted.name}: starts" + (" from the zoo's weights" if held else ""))
        weights = held.weights if held else None
        if wanted.encoder is not None:
            plan = replace(recipe(wanted.encoder, wanted.preset), data=wanted.data)
            plan = replace(plan, threads=self._threads or plan.threads)
            if held is not None:  # what goes on keeps its sizes
                plan = replace(plan, model=read_entry(meta_of(held.weights), held.weights)[1])
            return pretraining.begin(plan, run.path, watch, weights)
        experiment = PRESETS[wanted.preset]
        if held is not None:  # what goes on keeps its depth
            depth = meta_of(held.weights)["experiment"]["net"].get("rounds", 1)
            depth = max(depth, experiment.net.rounds)
            experiment = replace(experiment, net=replace(experiment.net, rounds=depth))
        if self._threads:
            training = replace(experiment.training, threads=self._threads)
            experiment = replace(experiment, training=training)
        return begin(experiment, run.path, watch, weights, teacher_for, look)

    def _book(self) -> dict[str, Any]:
        path = self._folder / "relay.json"
        found: dict[str, Any] = json.loads(path.read_text()) if path.is_file() else {}
        return found

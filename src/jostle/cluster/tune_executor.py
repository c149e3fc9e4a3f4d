"""An executor that lets Ray Tune choose: every job is a trial, and bad ones may be stopped early.

Only `jostle sweep` imports this file, because it needs Ray at once.
"""

import json
import time
from pathlib import Path
from typing import Any, NamedTuple

from ray import tune
from ray.tune.schedulers import ASHAScheduler

from jostle.cluster.executors import NextJob, OnEnd
from jostle.cluster.jobs import JobProcess, JobResult
from jostle.cluster.ray_session import ray_session
from jostle.core.log_keys import training_success

METRIC, TIME = "success", "env_steps"
"""What trials are compared by, and when."""


class Asha(NamedTuple):
    """Asynchronous successive halving, in environment steps."""

    grace: int
    """Steps before a trial can be stopped."""
    reduction: int
    """Of so many trials, one goes on at each rung."""
    longest: int
    """Steps of a whole trial."""


class JobTrial(tune.Trainable):
    """A trial that runs a job; a step ends at its next evaluation."""

    def setup(self, config: dict[str, Any]) -> None:
        """Start the job's process."""
        self._process = JobProcess(config["job"])
        self._metrics: Path = config["job"].folder / "metrics.jsonl"
        self._last = {METRIC: 0.0, TIME: 0}
        self._done_steps = 0

    def step(self) -> dict[str, Any]:
        """Wait for an evaluation, or for the end."""
        while True:
            result = self._process.result()
            found = [row for row in _evaluations(self._metrics) if row[TIME] > self._done_steps]
            if found:
                self._done_steps = found[0][TIME]
                self._last = {METRIC: found[0][METRIC], TIME: found[0][TIME]}
                if result is None or len(found) > 1:
                    return self._last
            if result is not None:
                return {**self._last, "done": True, "outcome": result.outcome}
            time.sleep(0.2)

    def save_checkpoint(self, checkpoint_dir: str) -> dict[str, Any]:
        """Nothing for Tune to keep: the run has checkpoints of its own."""
        del checkpoint_dir
        return {}

    def load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Nothing to restore."""
        del checkpoint

    def cleanup(self) -> None:
        """Stop the process, which saves; also called when the trial is stopped early."""
        self._process.stop()


class TuneExecutor:
    """Trials of Ray Tune with one CPU each; all machines share the folders of the jobs."""

    def __init__(self, address: str, slots: int, out: Path, asha: Asha | None = None) -> None:
        """Run `slots` trials at a time; Tune keeps its own files in a folder `.tune` of `out`."""
        self._address, self._slots, self._out, self._asha = address, slots, out, asha

    def run(self, next_job: NextJob, on_end: OnEnd) -> None:
        """Run all jobs; results are reported in the end."""
        with ray_session(self._address, self._slots, "A sweep"):
            tuner = tune.Tuner(
                tune.with_resources(JobTrial, {"cpu": 1}),
                param_space={"job": tune.grid_search(list(iter(next_job, None)))},
                tune_config=tune.TuneConfig(
                    metric=METRIC,
                    mode="max",
                    scheduler=self._scheduler(),
                    max_concurrent_trials=self._slots,
                ),
                run_config=tune.RunConfig(
                    storage_path=str((self._out / ".tune").absolute()), verbose=0
                ),
            )
            for result in tuner.fit():
                outcome = (result.metrics or {}).get("outcome", "stopped")
                job = (result.config or {})["job"]
                on_end(JobResult(job, "failed" if result.error else outcome))

    def _scheduler(self) -> Any:
        if self._asha is None:
            return None
        return ASHAScheduler(
            time_attr=TIME,
            max_t=self._asha.longest + 1,  # whoever gets that far ends by itself
            grace_period=self._asha.grace,
            reduction_factor=self._asha.reduction,
        )


def _evaluations(metrics: Path) -> list[dict[str, Any]]:
    """Rows of metrics with an evaluation; a line that is being written is left out."""
    text = metrics.read_text() if metrics.is_file() else ""
    rows = [json.loads(line) for line in text.rpartition("\n")[0].splitlines()]
    scored = ((row, training_success(row)) for row in rows)
    return [{**row, METRIC: score} for row, score in scored if score is not None]

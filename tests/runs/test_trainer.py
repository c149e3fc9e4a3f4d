"""The loop of every training: what happens in which order, stopping, resuming."""

import os
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from experiments import quiet, stop_at  # noqa: E402
from jostle.core.checkpoint import load, pack_rng, unpack_rng  # noqa: E402
from jostle.core.errors import BadValueError  # noqa: E402
from jostle.core.seeding import SeedTree  # noqa: E402
from jostle.runs.run_dir import RunDir  # noqa: E402
from jostle.runs.trainer import Schedule, StopRequested, Trainer  # noqa: E402

pytestmark = pytest.mark.own_log_keys


class RandomWalk:
    """A number that moves at random: the only part of the toy training."""

    def __init__(self) -> None:
        self.position, self.rng = torch.zeros(1), SeedTree(0).rng("walk")

    def state_dict(self):
        return {"position": self.position}, {"rng": pack_rng(self.rng)}

    def load_state_dict(self, tensors, meta):
        self.position = tensors["position"]
        unpack_rng(self.rng, meta["rng"])


class ToyTrainer(Trainer):
    """Takes six steps of a random walk."""

    axis = "iteration"

    def __init__(self, run: RunDir, report, schedule: Schedule = Schedule(1, 3, 2)) -> None:  # noqa: B008
        super().__init__(run, schedule, report)
        self.walk, self.evaluations = RandomWalk(), 0

    def iterate(self) -> None:
        self.walk.position += self.walk.rng.standard_normal()
        self.counters["iteration"] += 1

    def metrics(self) -> dict[str, Any]:
        return {"position": float(self.walk.position)}

    def evaluate(self) -> dict[str, Any]:
        self.evaluations += 1
        return {"score": -abs(float(self.walk.position))}

    def warnings(self, row) -> list[str]:
        return [f"iteration {row['iteration']} looks odd"] if row["iteration"] % 2 else []

    @property
    def done(self) -> bool:
        return self.counters["iteration"] >= self.total

    @property
    def total(self) -> int:
        return 6

    def parts(self):
        return {"walk": self.walk}


@pytest.fixture
def run(tmp_path) -> RunDir:
    """A new run folder."""
    folder = RunDir(tmp_path / "run")
    folder.create({"name": "toy"})
    return folder


def without_warnings(run: RunDir) -> list[dict[str, Any]]:
    """Rows of metrics that are no warnings."""
    return [row for row in run.rows() if "warning" not in row]


def saved_iteration(run: RunDir) -> int:
    """The iteration of the last checkpoint; 0 without one."""
    return load(run.last)[1]["counters"]["iteration"] if run.last.exists() else 0


def test_metrics_are_logged_and_checkpoints_saved_before_the_report(run):
    reports = []

    def report(row) -> None:
        assert row in run.rows()
        assert saved_iteration(run) == row["iteration"] // 2 * 2
        reports.append(row)

    ToyTrainer(run, report).run()
    assert [row["iteration"] for row in reports if "warning" not in row] == [1, 2, 3, 4, 5, 6]
    assert [row["iteration"] for row in reports if "score" in row] == [3, 6]
    assert run.rows() == reports


def test_a_row_holds_metrics_counters_times_and_the_evaluation(run):
    ToyTrainer(run, quiet).run()
    row = run.rows()[-1]
    assert row.keys() == {"position", "time/other", "iteration", "seconds", "score"}
    assert row["score"] == -abs(row["position"])
    assert 0 < row["time/other"] <= row["seconds"]


def test_events_follow_their_schedule_and_all_happen_at_the_end(run):
    reports = []
    trainer = ToyTrainer(run, reports.append, Schedule(log_every=4, eval_every=5, save_every=10))
    trainer.run()
    assert [row["iteration"] for row in without_warnings(run)] == [4, 5, 6]
    assert ["position" in row for row in without_warnings(run)] == [True, False, True]
    assert trainer.evaluations == 2
    assert saved_iteration(run) == 6
    assert [row["iteration"] for row in reports] == [1, 2, 3, 4, 5, 6]


def test_a_requested_stop_saves_and_reaches_the_caller(run):
    with pytest.raises(StopRequested):
        ToyTrainer(run, stop_at(3)).run()
    assert saved_iteration(run) == 3  # not on the schedule


def test_any_other_error_keeps_the_last_checkpoint(run):
    with pytest.raises(KeyboardInterrupt):
        ToyTrainer(run, stop_at(3, KeyboardInterrupt)).run()
    assert saved_iteration(run) == 2


@pytest.mark.parametrize("error", [StopRequested, KeyboardInterrupt])
def test_metrics_and_warnings_after_the_checkpoint_are_trimmed_and_written_again(
    error, run, tmp_path
):
    whole = RunDir(tmp_path / "whole")
    whole.create({"name": "toy"})
    ToyTrainer(whole, quiet).run()
    with pytest.raises(error):
        ToyTrainer(run, stop_at(5, error)).run()
    assert max(row["iteration"] for row in run.rows()) == 5

    resumed = ToyTrainer(run, quiet)
    resumed.resume()
    assert resumed.counters["iteration"] == (5 if error is StopRequested else 4)
    resumed.run()
    numbers = [row["iteration"] for row in without_warnings(run)]
    assert numbers == [1, 2, 3, 4, 5, 6]
    assert [row.get("position") for row in run.rows()] == [
        row.get("position") for row in whole.rows()
    ]
    assert run.rows()[-1]["score"] == whole.rows()[-1]["score"]
    assert torch.equal(load(run.last)[0]["walk.position"], load(whole.last)[0]["walk.position"])


def test_warnings_are_logged_and_reported_before_the_metrics_of_their_iteration(run):
    reports = []
    ToyTrainer(run, reports.append).run()
    expected = [{"iteration": n, "warning": f"iteration {n} looks odd"} for n in (1, 3, 5)]
    assert [row for row in run.rows() if "warning" in row] == expected
    for warning in expected:
        following = reports[reports.index(warning) + 1]
        assert following["iteration"] == warning["iteration"]
        assert "position" in following


def test_a_finished_run_does_nothing_more(run):
    ToyTrainer(run, quiet).run()
    before = run.metrics.read_text()
    finished = ToyTrainer(run, quiet)
    finished.resume()
    finished.run()
    assert run.metrics.read_text() == before
    assert finished.evaluations == 0


def test_a_run_without_a_checkpoint_starts_its_metrics_anew(run):
    with pytest.raises(KeyboardInterrupt):
        ToyTrainer(run, stop_at(1, KeyboardInterrupt)).run()
    ToyTrainer(run, quiet).run()
    assert [row["iteration"] for row in without_warnings(run)] == [1, 2, 3, 4, 5, 6]


def test_a_run_in_use_is_not_trained_and_its_metrics_stay(run):
    with pytest.raises(StopRequested):
        ToyTrainer(run, stop_at(3)).run()
    before = run.metrics.read_text()
    with run.lock(), pytest.raises(BadValueError, match=rf"in use.*pid {os.getpid()}\)"):
        ToyTrainer(run, quiet).run()
    assert run.metrics.read_text() == before
    ToyTrainer(run, quiet).run()  # the lock is released
    with run.lock():  # by the training, too
        pass

"""Workers collect the episodes that one process would, and a run survives the death of one."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")
if "CI" not in os.environ:
    pytest.importorskip("ray", reason="needs the extra 'cluster': pip install 'jostle[cluster]'")

from experiments import tiny  # noqa: E402
from jostle.cluster.ray_session import ray_session  # noqa: E402
from jostle.core.checkpoint import load  # noqa: E402
from jostle.core.errors import BadValueError, ClusterError  # noqa: E402
from jostle.presets.axes import Axes  # noqa: E402
from jostle.runs.config import ConfigMismatchError  # noqa: E402
from jostle.runs.run_dir import RunDir  # noqa: E402
from jostle.runs.trainer import StopRequested  # noqa: E402
from jostle.training.collection_config import CollectionConfig  # noqa: E402
from jostle.training.start import resume_run, start_run  # noqa: E402


@pytest.fixture(scope="module")
def cluster():
    """Ray on this machine, once for all tests of this file."""
    with ray_session("", 2, "A test") as ray:
        yield ray


def experiment(axes=None, **collection):
    """Four iterations of four episodes of six steps; the first is random."""
    base = tiny(
        "one-cube", axes or Axes(method="td3-demos"), horizon=6, env_steps=4 * 6 * 4,
        random_episodes=4, eval_every=4, eval_episodes=2, save_every=2,
    )  # fmt: skip
    return replace(base, collection=CollectionConfig(**collection))


def ignore(row):
    del row


class StopAt:
    """Stops a training after an iteration."""

    def __init__(self, iteration):
        self.iteration = iteration

    def __call__(self, row):
        if row.get("iteration") == self.iteration:
            raise StopRequested


def tensors_of(folder):
    """All tensors of the last checkpoint: networks, optimizers, replay, environments."""
    return load(RunDir(folder).last)[0]


def same_bits(one, other):
    assert one.keys() == other.keys()
    return all(torch.equal(one[name], other[name]) for name in one)


def test_two_workers_collect_the_same_bits_as_one_process_also_resumed_without_them(
    tmp_path, cluster
):
    start_run(experiment(env_groups=2), tmp_path / "one", ignore).run()
    workers = start_run(experiment(workers=2, sync=True), tmp_path / "two", StopAt(2))
    with pytest.raises(StopRequested):
        workers.run()
    resumed = {"workers": 0, "sync": False, "env_groups": 2}
    resume_run(tmp_path / "two", ignore, collection=resumed).run()
    assert same_bits(tensors_of(tmp_path / "one"), tensors_of(tmp_path / "two"))


def test_groups_have_randomness_of_their_own(tmp_path):
    start_run(experiment(env_groups=2), tmp_path / "two", ignore).run()
    start_run(experiment(), tmp_path / "one", ignore).run()
    two, one = tensors_of(tmp_path / "two"), tensors_of(tmp_path / "one")
    desired = two["buffer.desired"]
    assert not torch.equal(desired[0], desired[2])
    assert not torch.equal(two["buffer.actions"], one["buffer.actions"])


def test_a_killed_worker_is_replaced_and_the_run_goes_on(tmp_path, cluster):
    killed = []

    def kill_one(row):
        if row.get("iteration") == 2:
            killed.append(worker_pids()[0])
            os.kill(killed[0], signal.SIGKILL)

    changes = {"workers": 2, "max_staleness": 1}
    start_run(experiment(**changes), tmp_path / "run", kill_one).run()
    rows = RunDir(tmp_path / "run").rows()
    assert killed
    assert rows[-1]["env_steps"] == 4 * 6 * 4
    assert rows[1]["train_worker_restarts"] == 0
    assert rows[-1]["train_worker_restarts"] == 1
    assert all(row["train_staleness"] <= 1 for row in rows)
    assert len(tensors_of(tmp_path / "run")["buffer.actions"]) == 16
    assert all_workers_end()


def worker_pids():
    """Processes of workers of this user's clusters, by their names."""
    listing = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True)
    lines = [line.split(None, 1) for line in listing.stdout.splitlines()]
    return [int(pid) for pid, args in lines if args.startswith("ray::RolloutWorker")]


def all_workers_end():
    """Whether the processes of all workers end within a minute, also on a busy machine."""
    return any(not worker_pids() or time.sleep(0.2) for _ in range(300))


def test_a_cluster_of_this_machine_is_behind_loopback(cluster):
    assert [node["NodeManagerAddress"] for node in cluster.nodes()] == ["127.0.0.1"]


def test_errors_in_workers_are_told_in_one_sentence_and_the_workers_end(tmp_path, cluster):
    def refuse_teacher(name, env):
        raise BadValueError("there is no teacher")

    for number, (load_teacher, message) in enumerate((
        (refuse_teacher, "there is no teacher"),
        (only_here, "lacks the package 'test_ray_workers'"),
    )):  # fmt: skip
        folder = tmp_path / str(number)
        trainer = start_run(experiment(workers=1), folder, ignore)
        trainer.components.source._load_teacher = load_teacher
        with pytest.raises(ClusterError, match=message):
            trainer.run()
        assert all_workers_end()


def only_here(name, env):
    """A function of a module that workers cannot import."""


def test_addresses_without_a_cluster_are_refused_before_anything_is_written(tmp_path):
    for address, error, message in (
        ("127.0.0.1:9", ClusterError, "no Ray cluster at"),
        ("somewhere", BadValueError, "HOST:PORT"),
    ):
        with pytest.raises(error, match=message):
            start_run(experiment(workers=1, ray=address), tmp_path / "run", ignore)
    assert list(tmp_path.iterdir()) == []


def test_wrong_settings_are_refused_by_one_sentence(tmp_path):
    for changes, message in (
        ({"workers": -1}, "at least 0"),
        ({"sync": True}, "add --workers"),
        ({"ray": "127.0.0.1:6379"}, "add --workers"),
        ({"workers": 2, "env_groups": 3}, "one group"),
        ({"workers": 3}, "equal groups"),
    ):
        with pytest.raises(BadValueError, match=message):
            experiment(**changes)
    with pytest.raises(BadValueError, match="dagger"):
        start_run(experiment(Axes(method="dagger"), workers=2), tmp_path / "run", ignore)


def test_a_run_is_not_resumed_with_other_groups(tmp_path):
    trainer = start_run(experiment(env_groups=2), tmp_path / "run", StopAt(2))
    with pytest.raises(StopRequested):
        trainer.run()
    for changes in ({"env_groups": 4}, {"workers": 2, "env_groups": 0}):
        with pytest.raises(ConfigMismatchError, match="collection"):
            resume_run(tmp_path / "run", ignore, collection=changes)


def test_ray_is_not_imported_without_workers():
    code = (
        "import sys\nfrom jostle.training.start import start_run\nimport jostle.cli.train\n"
        "print('ray' in sys.modules)"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "False"

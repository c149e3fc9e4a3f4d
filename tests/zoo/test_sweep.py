"""Seeds, sweeps and queues are job lists that an executor runs; what is done is not repeated."""

import json
import os
import subprocess
import sys

import pytest

pytest.importorskip("torch")

from experiments import TINY_WORDS
from jostle.cluster.executors import LocalExecutor, in_order
from jostle.cluster.jobs import Job
from jostle.core.errors import BadValueError
from jostle.runs.run_dir import RunDir
from jostle.zoo.sweep import read_sweep, seed_jobs, unfinished


def job(folder, name, *words):
    return Job(name=name, folder=folder / name, start=words)


def jostle(*words):
    return subprocess.run(
        [sys.executable, "-m", "jostle", *map(str, words)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def write(path, text):
    path.write_text(text)
    return path


def test_an_executor_runs_all_jobs_and_reports_what_a_failed_one_said(tmp_path):
    ends = []
    jobs = [job(tmp_path, "good", "--version"), job(tmp_path, "bad", "no-such-command")]
    LocalExecutor(slots=2, poll_seconds=0.05).run(in_order(jobs), ends.append)
    assert {end.job.name: end.outcome for end in ends} == {"good": "finished", "bad": "failed"}
    said = next(end.describe() for end in ends if end.outcome == "failed")
    assert "There is no command called 'no-such-command'" in said


def test_an_interrupted_executor_stops_its_jobs(tmp_path):
    ends = []
    asked = iter([job(tmp_path, "long", "train", *TINY_WORDS.split(), "--env-steps", "9999999")])

    def next_job():
        following = next(asked, None)
        if following is None:
            raise KeyboardInterrupt
        return following

    with pytest.raises(KeyboardInterrupt):
        LocalExecutor(slots=2, poll_seconds=0.05).run(next_job, ends.append)
    assert [end.outcome for end in ends] != ["finished"]


def test_seeds_train_and_are_not_trained_again(tmp_path):
    words = ["train", *TINY_WORDS.split(), "--seeds", "0", "1", "--out", tmp_path / "runs"]
    first = jostle(*words)
    assert first.returncode == 0, first.stderr
    jobs = seed_jobs(TINY_WORDS.split(), (0, 1), tmp_path / "runs")
    assert unfinished(jobs) == []
    assert [RunDir(each.folder).read_experiment()["seed"] for each in jobs] == [0, 1]
    assert "2 trainings" in first.stdout
    assert "0 to run" in jostle(*words).stdout

    # They are also the trials of a sweep with a seed that is not there yet
    study = write(
        tmp_path / "study.toml",
        f'train = "{TINY_WORDS}"\nseeds = [0, 1, 2]\ntitle = "Two of three"\nnotes = "Below."\n',
    )
    answer = jostle(
        "sweep", study, "--out", tmp_path / "runs", "--only-page", "--page", tmp_path / "page"
    )
    assert answer.returncode == 0, answer.stderr
    page = (tmp_path / "page.md").read_text()
    assert page.startswith("# Two of three\n\nMade by `jostle sweep ")
    assert "| runs | 2 of 3 |" in page
    assert page.endswith("Below.\n")
    assert "](curves/page.png)" in page
    assert (tmp_path / "curves/page.png").stat().st_size > 10_000
    assert len(json.loads((tmp_path / "curves/page.json").read_text())["curves"]["runs"]) == 2


def test_there_is_no_page_without_trials(tmp_path):
    study = write(tmp_path / "study.toml", f'train = "{TINY_WORDS}"')
    answer = jostle("sweep", study, "--out", tmp_path / "runs", "--only-page")
    assert answer.returncode == 2
    assert "There are no trials" in answer.stderr
    assert not (tmp_path / "runs").exists()


def test_a_sweep_has_all_settings_with_all_seeds(tmp_path):
    study = write(
        tmp_path / "study.toml",
        f'train = "{TINY_WORDS}"\nseeds = [0, 1, 2]\n'
        "[settings]\nlr = [0.1, 0.2]\nbatch-size = [8, 16]\n",
    )
    jobs = read_sweep(study).jobs(tmp_path)
    assert len({each.folder for each in jobs}) == 12
    assert {each.folder.parent.name for each in jobs} == {
        f"lr={lr},batch-size={size}" for lr in (0.1, 0.2) for size in (8, 16)
    }
    assert unfinished(jobs) == jobs


def test_variants_change_one_thing_at_a_time(tmp_path):
    study = write(
        tmp_path / "study.toml",
        f'train = "{TINY_WORDS}"\nseeds = [0, 1]\n'
        '[variants]\ndefault = ""\npooled = "--values pooled"\nslow = "--lr 0.001 --tau 0.001"\n',
    )
    jobs = read_sweep(study).jobs(tmp_path)
    assert [each.folder.parent.name for each in jobs[::2]] == ["default", "pooled", "slow"]
    assert len(jobs) == 6
    assert "--values pooled" in " ".join(jobs[2].start)


def test_wrong_studies_are_refused_by_one_sentence(tmp_path):
    for text, message in (
        ("x = 1", "no 'train'"),
        ("train = ", "not a sweep"),
        (f'train = "{TINY_WORDS}"\nseeds = [0, 0]', "named twice"),
        (f'train = "{TINY_WORDS}"\nseeds = []', "at least one seed"),
        (f'train = "{TINY_WORDS}"\n[settings]\nno-such-flag = [1]', "flags are wrong"),
        (f'train = "{TINY_WORDS}"\n[settings]\nlr = 1', "list of values"),
        (f'train = "{TINY_WORDS}"\n[variants]\npooled = 1', "words of 'jostle train'"),
        (f'train = "{TINY_WORDS}"\n[variants]\npooled = "--valeus pooled"', "flags are wrong"),
        (f'train = "{TINY_WORDS}"\n[asha]\ngrace = 0', "at least 1"),
    ):
        with pytest.raises(BadValueError, match=message):
            read_sweep(write(tmp_path / "study.toml", text))


@pytest.mark.slow
def test_a_sweep_through_tune_can_be_resumed(tmp_path):
    pytest.importorskip("ray", reason="needs the extra 'cluster': pip install 'jostle[cluster]'")
    study = write(
        tmp_path / "study.toml",
        f'train = "{TINY_WORDS}"\nseeds = [0, 1]\n[settings]\nlr = [0.001, 0.01]\n'
        "[asha]\ngrace = 48\nreduction = 2\n",
    )
    words = ["sweep", study, "--out", tmp_path / "runs"]
    first = jostle(*words)
    assert first.returncode == 0, first.stdout + first.stderr
    assert "| lr=0.001 | 2 |" in (tmp_path / "runs/sweep.md").read_text()
    assert "0 to run" in jostle(*words).stdout


def test_a_sweep_without_a_cluster_says_so(tmp_path):
    if "CI" not in os.environ:
        pytest.importorskip("ray", reason="needs the extra 'cluster'")
    study = write(tmp_path / "study.toml", f'train = "{TINY_WORDS}"')
    answer = jostle("sweep", study, "--out", tmp_path / "runs", "--ray", "127.0.0.1:9")
    assert answer.returncode == 1
    assert answer.stderr.startswith("jostle: There is no Ray cluster at 127.0.0.1:9")
    assert len(answer.stderr.splitlines()) == 1
    assert not (tmp_path / "runs").exists()


def test_a_cluster_of_other_versions_is_refused_by_one_sentence(monkeypatch):
    from types import SimpleNamespace

    from jostle.cluster import ray_session
    from jostle.core.errors import ClusterError

    def refuse(**kwargs):
        raise RuntimeError("Version mismatch: The cluster was started with:\n    Ray: 2.9.0")

    ended = []
    ray = SimpleNamespace(
        init=refuse, is_initialized=lambda: False, shutdown=lambda: ended.append(1)
    )
    monkeypatch.setattr(ray_session, "import_ray", lambda what: ray)
    monkeypatch.setattr(ray_session, "check_ray", lambda what, address: None)
    with (
        pytest.raises(
            ClusterError, match=r"at 10\.0\.0\.1:6379 has other versions .* Ray: 2\.9\.0"
        ),
        ray_session.ray_session("10.0.0.1:6379", 1, "A test"),
    ):
        pass
    assert ended, "what was begun is ended"

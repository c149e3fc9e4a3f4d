"""Every command, as a user types it."""

import json
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError

import mujoco
import pytest
from typed import jostle

from jostle.cli import doctor
from jostle.cli.eval_jobs import EvalJob, evaluate_with_bar
from jostle.envs.vector import TabletopVectorEnv
from jostle.evaluation.evaluate import evaluate
from jostle.oracles.catalog import SCRIPTED
from jostle.zoo.agents import required_env_kwargs


def test_tasks_lists_every_id():
    from jostle.tasks.catalog import TASKS, task_id

    answer = jostle("tasks")
    assert answer.returncode == 0
    assert all(task_id(name) in answer.stdout for name in TASKS)


@pytest.mark.parametrize("words", [("tasks",), ("train", "one-cube", "--obs", "pixels", "--help")])
def test_a_closed_output_pipe_gives_no_traceback(words):
    import os

    read_end, write_end = os.pipe()
    os.close(read_end)
    answer = subprocess.run(
        [sys.executable, "-m", "jostle", *words],
        stdout=write_end,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(write_end)
    assert answer.stderr == b""
    assert answer.returncode == 0


def test_video_writes_a_video_and_a_contact_sheet(tmp_path):
    answer = jostle(
        "video", "OneCube", "--steps", "4", "--size", "64", "--format", "gif", cwd=tmp_path
    )
    assert answer.returncode == 0, answer.stderr
    assert (tmp_path / "videos/OneCube-oracle-0.gif").stat().st_size > 1000
    assert (tmp_path / "videos/OneCube-oracle-0.png").stat().st_size > 1000


def test_mp4_videos_can_be_read_back(tmp_path):
    imageio = pytest.importorskip("imageio.v2")
    answer = jostle(
        "video", "PushT", "--agent", "random", "--steps", "3", "--size", "63", cwd=tmp_path
    )
    assert answer.returncode == 0, answer.stderr
    reader = imageio.get_reader(tmp_path / "videos/PushT-random-0.mp4")
    assert sum(1 for _ in reader) == 4


def test_evaluate_writes_a_table_and_a_line_per_episode(tmp_path):
    answer = jostle(
        "evaluate", "oracle", "random", "--task", "OneCube", "--episodes", "6", "--num-envs", "4",
        "--out", "results/one", cwd=tmp_path,
    )  # fmt: skip
    assert answer.returncode == 0, answer.stderr
    page = (tmp_path / "results/one.md").read_text()
    assert "jostle evaluate oracle random" in page
    lines = [json.loads(line) for line in (tmp_path / "results/one.jsonl").open()]
    assert len(lines) == 12
    assert {line["agent"] for line in lines} == {"oracle", "random"}
    assert [line["digest"] for line in lines[:6]] == [line["digest"] for line in lines[6:]]
    assert {line["mujoco"] for line in lines} == {mujoco.__version__}


METRIC_DIGITS = {
    "success": 3, "success fraction": 3, "average distance": 4, "maximum distance": 4,
    "average return": 3,
}  # fmt: skip


def test_benchmark_compares_agents_with_the_paper(tmp_path):
    study = tmp_path / "study.toml"
    study.write_text(
        'title = "A study"\n[[row]]\nagent = "oracle"\ntask = "OneCube"\npaper = "0.97"\n'
        '[[row]]\nagent = "random"\ntask = "NCubes"\nobjects = 2\ntarget = "none"\n'
    )
    words = ["benchmark", str(study), "--episodes", "4", "--num-envs", "4"]
    answer = jostle(*words, "--out", "r/study", cwd=tmp_path)
    assert answer.returncode == 0, answer.stderr
    text = (tmp_path / "r/study.md").read_text()
    assert "# A study" in text
    assert "| oracle | OneCube | 1 | 1.000 [0.510, 1.000] | 0.97 |" in text
    header, _, first = (line.split(" | ") for line in text.splitlines()[4:7])
    scores = json.loads((tmp_path / "r/study.json").read_text())["rows"][0]
    for metric, digits in METRIC_DIGITS.items():  # the paper's five
        column = next(i for i, name in enumerate(header) if name.startswith(metric))
        value = scores[metric.replace(" ", "_")]
        assert first[column].split()[0] == f"{value:.{digits}f}"
    rows = [json.loads(line) for line in (tmp_path / "r/study.jsonl").read_text().splitlines()]
    assert [row["objects"] for row in rows] == [1] * 4 + [2] * 4
    study.write_text("rows = 3")
    answer = jostle(*words, cwd=tmp_path)
    assert answer.returncode == 2
    assert "is not a study" in answer.stderr


def test_benchmark_evaluates_only_new_rows(tmp_path):
    study, out = tmp_path / "study.toml", tmp_path / "study"
    old = '[[row]]\nagent = "oracle"\ntask = "OneCube"\n'
    new = '[[row]]\nagent = "random"\ntask = "OneCube"\ncolors = "random"\n'
    pending = '[[row]]\nagent = "one-day"\ntask = "OneCube"\nqueued = "one-cube-state-dagger"\n'
    words = ["benchmark", str(study), "--episodes", "4", "--num-envs", "4", "--out", str(out)]
    evaluated = []
    for rows in (old, old + new + pending, old + new):
        study.write_text(f'title = "A study"\n{rows}')
        answer = jostle(*words, cwd=tmp_path)
        assert answer.returncode == 0, answer.stderr
        lines = out.with_suffix(".jsonl").read_text().splitlines()
        evaluated.append({json.loads(line)["agent"] for line in lines})
        assert ("queued" in out.with_suffix(".md").read_text()) == (pending in rows)
    assert evaluated == [{"oracle"}, {"random"}, set()]
    assert "OneCube (random colors)" in out.with_suffix(".md").read_text()
    jostle(*words, "--no-cache", cwd=tmp_path)
    assert len(out.with_suffix(".jsonl").read_text().splitlines()) == 8
    out.with_suffix(".json").write_text("{}")
    answer = jostle(*words, cwd=tmp_path)
    assert answer.returncode == 2
    assert "--no-cache" in answer.stderr


def test_benchmark_does_not_reuse_results_of_other_episodes(tmp_path):
    """When a task samples other episodes than before, its rows are evaluated again."""
    study, out = tmp_path / "study.toml", tmp_path / "study"
    study.write_text('title = "A study"\n[[row]]\nagent = "oracle"\ntask = "OneCube"\n')
    words = ["benchmark", str(study), "--episodes", "4", "--num-envs", "4", "--out", str(out)]
    jostle(*words, cwd=tmp_path)
    (row,) = json.loads(out.with_suffix(".json").read_text())["rows"]
    assert row["mujoco"] == mujoco.__version__
    stale = {**row, "episode_set": "0" * 12, "success": 0.0}
    out.with_suffix(".json").write_text(json.dumps({"rows": [stale]}))
    jostle(*words, cwd=tmp_path)
    assert json.loads(out.with_suffix(".json").read_text())["rows"] == [row]


@pytest.mark.parametrize(
    ("agent", "options"),
    [("oracle", {"objects": 2, "colors": "random"}), ("three-cubes-pixels", {"seed": 3})],
)
def test_the_set_of_episodes_is_known_before_they_are_evaluated(agent, options):
    if agent != "oracle":
        pytest.importorskip("torch")
    job = EvalJob(agent=agent, task="NCubes", episodes=3, num_envs=2, **options)
    env = job.make_env(**required_env_kwargs(agent))
    policy = SCRIPTED["random"](env.episode_sampler.task)
    assert evaluate(env, policy, agent, 3, job.seed).digest == job.episode_set()
    env.close()


def test_an_evaluation_closes_its_environments(monkeypatch):
    closed = []
    monkeypatch.setattr(TabletopVectorEnv, "close", lambda env: closed.append(env.num_envs))
    evaluate_with_bar(EvalJob(agent="random", task="OneCube", episodes=2, num_envs=2))
    assert closed == [2]


def test_benchmark_keeps_results_of_agents_whose_weights_are_gone(tmp_path):
    from jostle.zoo.registry import registry

    study, out = tmp_path / "study.toml", tmp_path / "study"
    rows = '[[row]]\nagent = "guest"\ntask = "OneCube"\nqueued = "one-cube-state-dagger"\n'
    study.write_text(f'title = "A study"\n{rows}')
    words = ["benchmark", str(study), "--episodes", "4", "--num-envs", "4", "--out", str(out)]
    words += ["--runs", "elsewhere"]
    jostle(*words, cwd=tmp_path)
    assert "| guest | OneCube |  | queued |" in out.with_suffix(".md").read_text()
    (tmp_path / "elsewhere").mkdir()
    guest = tmp_path / "elsewhere/guest.safetensors"
    shutil.copyfile(registry()["one-cube-state-dagger"].weights, guest)
    jostle(*words, cwd=tmp_path)
    with_weights = out.with_suffix(".md").read_text()
    assert "| guest | OneCube | 1 |" in with_weights
    guest.unlink()
    jostle(*words, cwd=tmp_path)
    assert out.with_suffix(".md").read_text() == with_weights


def test_doctor_knows_the_simulator_whatever_distribution_it_came_in(monkeypatch):
    def not_installed(package: str) -> str:
        raise PackageNotFoundError(package)

    monkeypatch.setattr(doctor, "version", not_installed)
    assert doctor._version("mujoco") == mujoco.__version__
    assert doctor._version("gymnasium") == "not installed"


def test_doctor_finds_no_problems_here():
    answer = jostle("doctor")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "no problems" in answer.stdout


@pytest.mark.parametrize(
    ("backend", "message"), [("glxx", "no GL backend called 'glxx'"), ("glfw", "apt-get install")]
)
def test_doctor_fails_and_explains_when_nothing_can_render(backend, message):
    answer = jostle("doctor", JOSTLE_GL=backend, DISPLAY="", WAYLAND_DISPLAY="")
    assert answer.returncode == 1
    assert message in answer.stderr
    assert "Traceback" not in answer.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["vidoe"], "Did you mean 'video'"),
        (["video", "ThreeCube"], "Did you mean 'ThreeCubes'"),
        (["video", "ThreeCubes", "--agent", "orcale"], "Did you mean 'oracle'"),
        (["video", "ThreeCubes", "--format", "avi"], "mp4 or gif"),
        (["evaluate", "oracle", "--task", "OneCube", "--episodes", "0"], "must be at least 1"),
        (["video", "NCubes", "--objects", "13"], "1 to 12 objects"),
    ],
)
def test_wrong_usage_is_answered_with_a_message(words, message, tmp_path):
    answer = jostle(*words, cwd=tmp_path)
    assert answer.returncode == 2
    assert message in answer.stderr
    assert "Traceback" not in answer.stderr


def test_a_trained_agent_is_evaluated_on_its_own_task(tmp_path):
    answer = jostle("evaluate", "one-cube-state", "--episodes", "2", cwd=tmp_path)
    assert answer.returncode == 0, answer.stderr
    assert "OneCube" in answer.stdout
    assert "ThreeCubes" not in answer.stdout


def test_all_names_are_checked_before_anything_is_evaluated(tmp_path):
    words = ("evaluate", "random", "three-cubes-stat", "--task", "OneCube", "--out", "results/one")
    answer = jostle(*words, cwd=tmp_path)
    assert answer.returncode == 2
    assert "Did you mean" in answer.stderr
    assert not (tmp_path / "results").exists()
    answer = jostle("evaluate", "random", "--compare", "--task", "OneCube", cwd=tmp_path)
    assert "name two agents" in answer.stderr
    answer = jostle("evaluate", cwd=tmp_path)
    assert answer.returncode == 2


def test_a_policy_of_ones_own_is_evaluated(tmp_path):
    (tmp_path / "mine.py").write_text(
        "import numpy as np\n"
        "class Still:\n"
        "    def act(self, observation):\n"
        "        return np.zeros((len(observation['desired_goal']), 3), np.float32)\n"
    )
    words = ("--task", "OneCube", "--episodes", "2")
    answer = jostle("evaluate", "mine:Still", *words, cwd=tmp_path)
    assert answer.returncode == 0, answer.stderr
    assert "mine:Still" in answer.stdout
    answer = jostle("evaluate", "mine:Stil", *words, cwd=tmp_path)
    assert answer.returncode == 2
    assert "does not give a policy" in answer.stderr

"""Every verb, as a user types it."""

import json
import shutil
import signal
import subprocess
import sys
import time

import pytest


def jostle(*words: str, cwd=None, **environment: str) -> subprocess.CompletedProcess:
    import os

    return subprocess.run(
        [sys.executable, "-m", "jostle", *words],
        capture_output=True, text=True, cwd=cwd, env={**os.environ, **environment}, check=False,
    )  # fmt: skip


def test_tasks_lists_every_id():
    from jostle.tasks.catalog import TASKS, task_id

    answer = jostle("tasks")
    assert answer.returncode == 0
    assert all(task_id(name) in answer.stdout for name in TASKS)


@pytest.mark.parametrize("words", [("tasks",), ("train", "one-cube-pixels", "--help")])
def test_when_nobody_reads_there_is_no_traceback(words):
    import os

    reading, writing = os.pipe()
    os.close(reading)
    answer = subprocess.run(
        [sys.executable, "-m", "jostle", *words],
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writing)
    assert answer.stderr == b""
    assert answer.returncode == 0


def test_film_writes_a_film_and_a_contact_sheet(tmp_path):
    answer = jostle(
        "film", "OneCube", "--steps", "4", "--size", "64", "--kind", "gif", cwd=tmp_path
    )
    assert answer.returncode == 0, answer.stderr
    assert (tmp_path / "films/OneCube-oracle-0.gif").stat().st_size > 1000
    assert (tmp_path / "films/OneCube-oracle-0.png").stat().st_size > 1000


def test_mp4_films_can_be_read_back(tmp_path):
    imageio = pytest.importorskip("imageio.v2")
    answer = jostle(
        "film", "PushT", "--agent", "random", "--steps", "3", "--size", "63", cwd=tmp_path
    )
    assert answer.returncode == 0, answer.stderr
    reader = imageio.get_reader(tmp_path / "films/PushT-random-0.mp4")
    assert sum(1 for _ in reader) == 4


def test_evaluate_writes_a_table_and_a_line_per_episode(tmp_path):
    answer = jostle(
        "evaluate", "oracle", "random", "--task", "OneCube", "--episodes", "6", "--copies", "4",
        "--out", "results/one", cwd=tmp_path,
    )  # fmt: skip
    assert answer.returncode == 0, answer.stderr
    page = (tmp_path / "results/one.md").read_text()
    assert "jostle evaluate oracle random" in page
    lines = [json.loads(line) for line in (tmp_path / "results/one.jsonl").open()]
    assert len(lines) == 12
    assert {line["agent"] for line in lines} == {"oracle", "random"}
    assert [line["digest"] for line in lines[:6]] == [line["digest"] for line in lines[6:]]


def test_a_table_puts_agents_beside_the_paper(tmp_path):
    recipe = tmp_path / "study.toml"
    recipe.write_text(
        'title = "A study"\n[[row]]\nagent = "oracle"\ntask = "OneCube"\npaper = "0.97"\n'
        '[[row]]\nagent = "random"\ntask = "NCubes"\nobjects = 2\ntarget = "none"\n'
    )
    words = ["table", str(recipe), "--episodes", "4", "--copies", "4"]
    answer = jostle(*words, "--out", "r/study", cwd=tmp_path)
    assert answer.returncode == 0, answer.stderr
    text = (tmp_path / "r/study.md").read_text()
    assert "# A study" in text
    assert "| oracle | OneCube | 1 | 1.000 [0.510, 1.000] | 0.97 |" in text
    rows = [json.loads(line) for line in (tmp_path / "r/study.jsonl").read_text().splitlines()]
    assert [row["objects"] for row in rows] == [1] * 4 + [2] * 4
    recipe.write_text("rows = 3")
    answer = jostle(*words, cwd=tmp_path)
    assert answer.returncode == 2
    assert "is no recipe of a table" in answer.stderr


def test_a_table_plays_only_what_it_has_not_measured(tmp_path):
    recipe, out = tmp_path / "study.toml", tmp_path / "study"
    old = '[[row]]\nagent = "oracle"\ntask = "OneCube"\n'
    new = '[[row]]\nagent = "random"\ntask = "OneCube"\ncolors = "random"\n'
    waiting = '[[row]]\nagent = "one-day"\ntask = "OneCube"\nqueued = "one-cube-state"\n'
    words = ["table", str(recipe), "--episodes", "4", "--copies", "4", "--out", str(out)]
    played = []
    for rows in (old, old + new + waiting, old + new):
        recipe.write_text(f'title = "A study"\n{rows}')
        answer = jostle(*words, cwd=tmp_path)
        assert answer.returncode == 0, answer.stderr
        lines = out.with_suffix(".jsonl").read_text().splitlines()
        played.append({json.loads(line)["agent"] for line in lines})
        assert ("queued" in out.with_suffix(".md").read_text()) == (waiting in rows)
    assert played == [{"oracle"}, {"random"}, set()]
    assert "OneCube (random colors)" in out.with_suffix(".md").read_text()
    jostle(*words, "--afresh", cwd=tmp_path)
    assert len(out.with_suffix(".jsonl").read_text().splitlines()) == 8
    out.with_suffix(".json").write_text("{}")
    answer = jostle(*words, cwd=tmp_path)
    assert answer.returncode == 2
    assert "--afresh" in answer.stderr


def test_a_table_remembers_whose_weights_are_gone(tmp_path):
    from jostle.zoo.shelf import shelf

    recipe, out = tmp_path / "study.toml", tmp_path / "study"
    rows = '[[row]]\nagent = "guest"\ntask = "OneCube"\nqueued = "one-cube-state"\n'
    recipe.write_text(f'title = "A study"\n{rows}')
    words = ["table", str(recipe), "--episodes", "4", "--copies", "4", "--out", str(out)]
    words += ["--runs", "elsewhere"]
    jostle(*words, cwd=tmp_path)
    assert "| guest | OneCube |  | queued |" in out.with_suffix(".md").read_text()
    (tmp_path / "elsewhere").mkdir()
    guest = tmp_path / "elsewhere/guest.safetensors"
    shutil.copyfile(shelf()["one-cube-state"].weights, guest)
    jostle(*words, cwd=tmp_path)
    with_weights = out.with_suffix(".md").read_text()
    assert "| guest | OneCube | 1 |" in with_weights
    guest.unlink()
    jostle(*words, cwd=tmp_path)
    assert out.with_suffix(".md").read_text() == with_weights


def test_doctor_is_content_here():
    answer = jostle("doctor")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "all is well" in answer.stdout


@pytest.mark.parametrize(
    ("backend", "says"), [("glxx", "no GL backend called 'glxx'"), ("glfw", "apt-get install")]
)
def test_doctor_names_the_cure_and_fails_when_nothing_can_draw(backend, says):
    answer = jostle("doctor", JOSTLE_GL=backend, DISPLAY="", WAYLAND_DISPLAY="")
    assert answer.returncode == 1
    assert says in answer.stderr
    assert "Traceback" not in answer.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["flim"], "Did you mean 'film'"),
        (["film", "ThreeCube"], "Did you mean 'ThreeCubes'"),
        (["film", "ThreeCubes", "--agent", "orcale"], "Did you mean 'oracle'"),
        (["film", "ThreeCubes", "--kind", "avi"], "mp4 or gif"),
        (["evaluate", "oracle", "--task", "OneCube", "--episodes", "0"], "At least one episode"),
        (["film", "NCubes", "--objects", "13"], "1 to 12 objects"),
    ],
)
def test_misuse_is_answered_in_words(words, says, tmp_path):
    answer = jostle(*words, cwd=tmp_path)
    assert answer.returncode == 2
    assert says in answer.stderr
    assert "Traceback" not in answer.stderr


TINY = (
    "--copies", "2", "--env-steps", "100000", "--batch", "8", "--updates-per-step", "0.02",
    "--examine-every", "1", "--examine-episodes", "2", "--threads", "1",
)  # fmt: skip


def test_a_training_stops_between_rounds_when_asked_and_goes_on(tmp_path):
    pytest.importorskip("torch")
    command = [sys.executable, "-c", "from jostle.cli.main import main; main()"]
    words = ["train", "one-cube-state", *TINY]
    process = subprocess.Popen(
        [*command, *words], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    folder = tmp_path / "runs/one-cube-state-0"
    deadline = time.monotonic() + 120
    while not (folder / "metrics.jsonl").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    told = process.communicate(timeout=120)[0].decode()
    assert process.returncode == 0
    assert "stopping after this round" in told
    assert "jostle train --resume" in told
    assert (folder / "checkpoints/last.safetensors").is_file()
    again = jostle("train", "--resume", str(folder), "--minutes", "0.0001", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert [row["round"] for row in rows] == list(range(1, len(rows) + 1))
    drawn = jostle("curves", str(folder), "--out", "c.png", cwd=tmp_path)
    assert drawn.returncode == 0, drawn.stderr
    assert (tmp_path / "c.png").stat().st_size > 5000


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["train"], "Name a preset first"),
        (["train", "one-cub-state"], "Did you mean 'one-cube-state'"),
        (["train", "one-cube-state", "--gamma", "1.5"], "discount in (0, 1)"),
        (["train", "one-cube-state", "--copies", "-1"], "copies must be at least 1"),
        (["train", "one-cube-state", "--from", "one-cube-stat"], "Did you mean 'one-cube-state'"),
        (["train", "three-cubes-state", "--curriculum"], "range of objects"),
        (["train", "--resume", "nowhere"], "There is no run in nowhere"),
        (["curves", "nowhere"], "no metrics"),
        (["curves"], "at least one folder"),
        (["curves", "one", "--names", "a", "b"], "name of its own"),
    ],
)
def test_misuse_of_training_is_answered_in_words(words, says, tmp_path):
    pytest.importorskip("torch")
    answer = jostle(*words, cwd=tmp_path)
    assert answer.returncode == 2, answer.stderr
    assert says in answer.stderr
    assert "Traceback" not in answer.stderr
    assert not (tmp_path / "runs").exists()


def test_help_on_training_names_every_preset_by_task_and_way(tmp_path):
    pytest.importorskip("torch")
    from jostle.presets.catalog import PRESETS

    answer = jostle("train", "--help", cwd=tmp_path)
    assert answer.returncode == 0, answer.stderr
    told = set()
    for line in answer.stdout.splitlines():
        if line.startswith("  TASK-"):
            way, tasks = line.strip().removeprefix("TASK").split(": ")
            told |= {f"{task}{way}" for task in tasks.split(", ")}
    assert told == set(PRESETS)

"""`jostle generalize` and causes of failures, as commands."""

import json
import re

import pytest

pytest.importorskip("matplotlib")

from jostle.cli import evaluate, generalize, video
from jostle.core.errors import BadValueError, JostleError

GRID = [
    "random", "--task", "OneCube", "--factors", "count", "mass", "--counts", "2", "--episodes", "3",
    "--num-envs", "3", "--out", "maps/random",
]  # fmt: skip


def test_a_grid_is_mapped_filmed_and_resumed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    generalize.run(GRID)
    answer = capsys.readouterr().out
    assert "4 cells of 3 episodes, 4 of them to evaluate: about" in answer
    rows = json.loads((tmp_path / "maps/random.json").read_text())["rows"]
    assert [row.get("vary", "") for row in rows] == ["", "", "mass=x0.05", "mass=x20"]
    assert [row["objects"] for row in rows] == [1, 2, 1, 1]

    # Page: all cells, their metrics, the film; nothing from elsewhere
    page = (tmp_path / "maps/random.html").read_text()
    assert page.count("<td") == 4
    assert page.count("average return") >= 4
    assert "data:video/mp4;base64," in page
    assert not re.search(r"(src|href)=\"(?!data:)", page)
    assert (tmp_path / "maps/random.png").stat().st_size > 5000
    assert "| mass | mass=x20 | 1 | 3 |" in (tmp_path / "maps/random.md").read_text()

    # The same command evaluates nothing again; a longer grid only what is new
    generalize.run([*GRID, "--no-film"])
    assert "4 cells of 3 episodes, 0 of them to evaluate" in capsys.readouterr().out
    generalize.run([*GRID, "--no-film", "--pairs", "mass=x20 friction=2"])
    assert "5 cells of 3 episodes, 1 of them to evaluate" in capsys.readouterr().out
    other = [*GRID[:-1], "elsewhere", "--no-film", "--reuse", "maps/random.json"]
    generalize.run(other)
    assert "0 of them to evaluate" in capsys.readouterr().out


def test_cells_at_once_give_the_rows_of_one_after_the_other(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    generalize.run([*GRID, "--no-film", "--out", "serial"])
    words = [*GRID, "--no-film", "--out", "parallel", "--jobs", "2"]

    # A cell that had ended when its command was killed is not evaluated again
    generalize.run([*GRID, "--only", "2", "--out", "parallel.cells/002"])
    assert [path.name for path in tmp_path.glob("parallel*")] == ["parallel.cells"]
    capsys.readouterr()
    generalize.run(words)
    assert "4 cells of 3 episodes, 3 of them to evaluate" in capsys.readouterr().out
    serial, parallel = ((tmp_path / f"{name}.json").read_text() for name in ("serial", "parallel"))
    assert parallel == serial
    assert not (tmp_path / "parallel.cells").exists()

    # Nothing is left for the same command
    generalize.run(words)
    assert "0 of them to evaluate" in capsys.readouterr().out


def test_a_cell_that_fails_does_not_cost_the_others(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "maps/random.cells/001.json").mkdir(parents=True)  # in the way of a cell's row
    with pytest.raises(JostleError, match=r"1 of the cells failed; .* are stored\. Cell 001"):
        generalize.run([*GRID, "--no-film", "--jobs", "2"])
    rows = json.loads((tmp_path / "maps/random.json").read_text())["rows"]
    assert [row.get("vary", "") for row in rows] == ["", "mass=x0.05", "mass=x20"]


def test_a_grid_larger_than_its_budget_says_how_long_it_takes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["oracle", "--task", "OneCube", "--factors", "mass", "--minutes", "1e-9"]
    with pytest.raises(BadValueError, match=r"this grid of 3 cells takes about \d+ min"):
        generalize.run(words)
    with pytest.raises(BadValueError, match=r"takes about \d+ min, more than the 1e-09 min"):
        generalize.run([*words, "--episodes", "20"])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["oracle"], "has no task of its own"),
        (["oracle", "--task", "OneCube", "--only", "99"], "--only is a number from 0 to"),
        (["no-such-agent"], "no agent called 'no-such-agent'"),
        (["oracle", "--task", "OneCube", "--preset", "papr"], "Did you mean 'paper'"),
        (["oracle", "--task", "OneCube", "--pairs", "size=30"], "scale must lie in"),
        (["oracle", "--task", "OneCube", "--reuse", "nothing.json"], "no results in nothing.json"),
        (["oracle", "--task", "OneCube", "--reuse", "bad.json"], "is not a results cache"),
    ],
)
def test_bad_grids_are_refused_before_anything_runs(words, reason, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.json").write_text('{"rows": [{"agent": "of another version"}]}')
    with pytest.raises(JostleError, match=reason):
        generalize.run(words)
    assert [path.name for path in tmp_path.iterdir()] == ["bad.json"]


def test_causes_of_failures_are_printed_and_stored(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    evaluate.run([
        "random", "--task", "TwoCubes", "--episodes", "3", "--num-envs", "3", "--causes",
        "--out", "causes",
    ])  # fmt: skip
    answer = capsys.readouterr().out
    assert re.search(r"\| TwoCubes \| random \| [a-z ]+ \| \d of 3 episodes", answer)
    lines = [json.loads(line) for line in (tmp_path / "causes.jsonl").open()]
    assert all(("cause" in line) == (line["success"] < 1) for line in lines)


def test_sheets_of_failures_show_episodes_of_each_cause(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    video.run(["OneCube", "--agent", "random", "--failures", "--episodes", "3", "--size", "32"])
    answer = capsys.readouterr().out
    sheets = list((tmp_path / "videos").glob("OneCube-random-*.png"))
    assert sheets
    assert all(str(sheet.name) in answer for sheet in sheets)
    video.run(["OneCube", "--failures", "--episodes", "1", "--size", "32", "--out", "none"])
    assert "No failure in 1 episodes." in capsys.readouterr().out
    assert not (tmp_path / "none").exists()

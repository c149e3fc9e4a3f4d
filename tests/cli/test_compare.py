"""`jostle compare`: two agents on the same episodes, from stored results."""

import json

import pytest

from jostle.cli.compare import run
from jostle.core.errors import BadValueError


def write(path, agent, distances, task="NCubes", mujoco="4.0.0"):
    rows = [
        {
            "task": task, "agent": agent, "objects": 2, "digest": f"episode {number}",
            "success": float(distance < 0.03), "success_fraction": float(distance < 0.03),
            "average_distance": distance, "maximum_distance": distance,
            "average_return": -distance, "mujoco": mujoco,
        }
        for number, distance in distances.items()
    ]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def spread(count, offset):
    return {number: 0.01 * (number % 7) + offset for number in range(count)}


def test_smaller_distances_are_improvements_and_episodes_are_paired(tmp_path, capsys):
    near = write(tmp_path / "near.jsonl", "near", spread(40, 0.0))
    far = write(tmp_path / "far.jsonl", "far", spread(50, 0.005))
    run([near, far])
    text = capsys.readouterr().out
    assert "NCubes, 2 objects, 40 common episodes (10 others)" in text
    line = next(line for line in text.splitlines() if line.startswith("| maximum_distance"))
    assert line.endswith("| -0.0050 [-0.0050, -0.0050] | 1.000 [1.000, 1.000] |")
    run([far, near])
    assert "0.0050 [0.0050, 0.0050] | 0.000 [0.000, 0.000] |" in capsys.readouterr().out


def test_an_agent_does_not_differ_from_itself(tmp_path, capsys):
    path = write(tmp_path / "a.jsonl", "a", spread(30, 0.0))
    run([path, path])
    text = capsys.readouterr().out
    assert "| success | " in text
    assert "0.0000 [0.0000, 0.0000] | 0.500 [0.500, 0.500] |" in text
    assert text.rstrip().endswith("No difference.")


def test_profiles_are_plotted(tmp_path):
    pytest.importorskip("matplotlib")
    files = [write(tmp_path / f"{n}.jsonl", f"agent {n}", spread(30, n / 100)) for n in (0, 1)]
    run([*files, "--plot", str(tmp_path / "profile.png")])
    assert (tmp_path / "profile.png").stat().st_size > 5000


def test_another_version_of_the_simulator_is_said(tmp_path, capsys):
    new = write(tmp_path / "new.jsonl", "a", spread(9, 0.0))
    old = write(tmp_path / "old.jsonl", "b", spread(9, 0.0), mujoco="3.3.0")
    run([new, old])
    assert "versions of MuJoCo differ (4.0.0 and 3.3.0)" in capsys.readouterr().out


def test_what_cannot_be_compared_is_refused(tmp_path):
    one = write(tmp_path / "one.jsonl", "a", spread(9, 0.0))
    other_task = write(tmp_path / "two.jsonl", "b", spread(9, 0.0), task="PushT")
    other_episodes = write(tmp_path / "three.jsonl", "c", {99: 0.1})
    broken = tmp_path / "broken.jsonl"
    broken.write_text("no results")
    for words, message in (
        ([one], "choose two of them"),
        ([one, other_task], "no task in common"),
        ([one, other_episodes], "no episode of NCubes"),
        ([one, str(broken)], "no results of single episodes"),
        ([one, str(tmp_path / "missing.jsonl")], "no results of single episodes"),
    ):
        with pytest.raises(BadValueError, match=message):
            run(words)

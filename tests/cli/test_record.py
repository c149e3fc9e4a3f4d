"""`jostle record` on the command line."""

import subprocess
import sys

import pytest

from jostle.cli.record import run
from jostle.core.errors import BadValueError, UnknownNameError
from jostle.recordings.reader import RecordedEpisodes

TINY = ["--task", "OneCube", "--steps", "3", "--num-envs", "2", "--threads", "1"]


def test_agents_share_the_episodes_and_the_size_is_printed_first(tmp_path, capsys):
    run(["random", "oracle=2", *TINY, "--episodes", "3", "--out", str(tmp_path), "--noise", "0.1"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("3 episodes of 3 steps: ")
    recorded = RecordedEpisodes(tmp_path)
    assert sorted(recorded.table["agent"]) == [0, 1, 1]
    assert [agent["noise"] for agent in recorded.manifest.identity["agents"]] == [0.0, 0.1]


def test_wrong_words_are_refused_before_anything_is_written(tmp_path):
    out = ["--out", str(tmp_path / "out"), "--episodes", "2"]
    with pytest.raises(UnknownNameError, match="Did you mean 'oracle'"):
        run(["oracl", *TINY, *out])
    with pytest.raises(BadValueError, match="share"):
        run(["oracle=much", *TINY, *out])
    with pytest.raises(BadValueError, match="share of oracle"):
        run(["oracle=0", *TINY, *out])
    with pytest.raises(BadValueError, match="epsilon"):
        run(["oracle", *TINY, *out, "--epsilon", "2"])
    with pytest.raises(SystemExit) as refused:
        run(["oracle", *TINY, "--episodes", "0", "--out", str(tmp_path / "out")])
    assert refused.value.code == 2
    assert not (tmp_path / "out").exists()


def test_a_trained_agent_is_recorded_with_its_weights_hash(tmp_path):
    pytest.importorskip("torch")
    words = ["one-cube-state-td3", *TINY, "--episodes", "2", "--out", str(tmp_path)]
    run(words)
    before = RecordedEpisodes(tmp_path)
    assert len(before.manifest.identity["agents"][0]["weights"]) == 64
    run(words)  # nothing is left to do
    assert RecordedEpisodes(tmp_path).digest == before.digest


def test_scripted_agents_are_recorded_without_torch(tmp_path):
    code = (
        "import sys; from jostle.cli.record import run\n"
        f"run(['oracle', *{TINY!r}, '--episodes', '2', '--out', {str(tmp_path)!r}])\n"
        "print('torch' in sys.modules)"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout.splitlines()[-1] == "False"

"""Variations on the command line."""

import json

from typed import jostle


def test_evaluate_says_how_episodes_were_varied(tmp_path):
    answer = jostle(
        "evaluate", "oracle", "--task", "OneCube", "--episodes", "2", "--num-envs", "2",
        "--vary", "light=0.7", "mass=x20", "--out", "varied", cwd=tmp_path,
    )  # fmt: skip
    assert answer.returncode == 0, answer.stderr
    assert "OneCube (mass=x20 light=0.7)" in (tmp_path / "varied.md").read_text()
    lines = [json.loads(line) for line in (tmp_path / "varied.jsonl").open()]
    assert [line["vary"] for line in lines] == ["mass=x20 light=0.7"] * 2


def test_bad_variations_are_one_sentence_and_nothing_is_written(tmp_path):
    for words, reason in (
        (("--vary", "color=ornage"), "Did you mean 'orange'?"),
        (("--vary", "size=6"), "ThreeCubes cannot be varied by 'size=6x6'"),
    ):
        answer = jostle(
            "evaluate", "oracle", "--task", "ThreeCubes", *words, "--out", "bad", cwd=tmp_path
        )
        assert answer.returncode != 0
        assert reason in answer.stderr
        assert "Traceback" not in answer.stderr
    assert list(tmp_path.iterdir()) == []

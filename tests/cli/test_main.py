"""The `jostle` command itself: help, version, old names, failures."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from jostle import __version__
from jostle.cli import old_names
from jostle.cli.main import COMMANDS
from jostle.core.errors import BadValueError

NAMES = tomllib.loads(
    (Path(__file__).parents[2] / "src/jostle/cli/old_names.toml").read_text(encoding="utf-8")
)


def jostle(*words: str, missing: str = "", **options) -> subprocess.CompletedProcess:
    """Run the command, without the package `missing`."""
    code = f"import sys; sys.modules[{missing!r}] = None\nfrom jostle.cli.main import main\nmain()"
    return subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=False, **options
    )


@pytest.mark.parametrize("words", [["-V"], ["--version"], ["version"]])
def test_version_is_printed(words):
    answer = jostle(*words)
    assert (answer.returncode, answer.stdout.strip()) == (0, __version__)


@pytest.mark.parametrize(("words", "code"), [(["help"], 0), (["-h"], 0), (["--help"], 0), ([], 2)])
def test_help_lists_every_command(words, code):
    answer = jostle(*words)
    assert answer.returncode == code
    assert all(f"  {command} " in answer.stdout for command in COMMANDS)


def test_help_of_a_command_is_that_of_its_flag():
    assert jostle("help", "tasks").stdout == jostle("tasks", "--help").stdout
    answer = jostle("help", "taks")
    assert answer.returncode == 2
    assert "Did you mean 'tasks'" in answer.stderr


@pytest.mark.parametrize(("old", "new"), NAMES["verbs"].items())
def test_an_old_command_is_answered_with_the_new_one(old, new):
    answer = jostle(old)
    assert answer.returncode == 2
    assert answer.stderr.strip() == f"jostle: '{old}' is now '{new}'."


def old_flag(section: dict[str, str], new: str) -> str:
    """The old flag of a field, by its new path."""
    return next(
        f"--{old.rpartition('.')[2]}".replace("_", "-") for old in section if section[old] == new
    )


FIELDS, SLOTS = NAMES["experiment"], NAMES["encoder"]["slots"]


@pytest.mark.parametrize(
    ("words", "old", "new"),
    [
        (["evaluate", "oracle"], "--copies", "--num-envs"),
        (["evaluate", "oracle"], "--restless", "--eval-noise"),
        (["benchmark", "study.toml"], "--afresh", "--no-cache"),
        (["video", "OneCube"], "--kind", "--format"),
        (["train", "one-cube"], "--restless", "--eval-noise-std"),
        (["train", "one-cube"], old_flag(FIELDS, "td3.batch_size"), "--batch-size"),
        (["pretrain", "slots"], old_flag(SLOTS, "iterations"), "--iterations"),
    ],
)
def test_an_old_flag_is_answered_with_the_new_one(words, old, new, tmp_path):
    if words[0] in ("train", "pretrain"):
        pytest.importorskip("torch")
    answer = jostle(*words, f"{old}=1", cwd=tmp_path)
    assert answer.returncode == 2
    assert answer.stderr == f"jostle: {old} is now {new}.\n"


def test_flags_that_a_command_accepts_are_not_reported(monkeypatch):
    monkeypatch.setattr(old_names, "_flag_renames", lambda: {"--width": ["--dim"], "--gone": [""]})

    def run(argv: list[str]) -> None:
        assert argv[-1] == "--help"
        sys.stdout.write("--width INT  --dim INT")

    old_names.check_flags(["preset", "--width", "3"], run)
    with pytest.raises(BadValueError, match="--gone was removed"):
        old_names.check_flags(["preset", "--gone", "3"], run)


def test_flags_are_renamed_only_to_flags_of_the_command(monkeypatch):
    monkeypatch.setattr(old_names, "_flag_renames", lambda: {"--old": ["--first", "--second"]})
    with pytest.raises(BadValueError, match="--old is now --second"):
        old_names.check_flags(["--old"], lambda argv: sys.stdout.write("--second"))
    old_names.check_flags(["--old"], lambda argv: sys.stdout.write("--third"))  # left to the parser


def test_an_impossible_output_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    answer = jostle(
        "evaluate", "random", "--task", "OneCube", "--episodes", "1", "--out", "file/results",
        cwd=tmp_path,
    )  # fmt: skip
    assert answer.returncode == 1
    assert answer.stderr.splitlines()[-1].startswith("jostle: file")
    assert "Traceback" not in answer.stderr


@pytest.mark.parametrize(
    ("words", "package", "extra"),
    [
        (["train", "one-cube"], "torch", "train"),
        (["probe", "dlp-6cubes"], "torch", "train"),
        (["evaluate", "one-cube-state", "--task", "OneCube"], "safetensors", "train"),
        (["plot", "run"], "matplotlib", "report"),
        (["video", "OneCube", "--steps", "1", "--size", "32"], "imageio", "report"),
    ],
)
def test_a_missing_package_is_answered_with_its_extra(words, package, extra, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run/metrics.jsonl").write_text('{"success": 1, "success_fraction": 1}\n')
    answer = jostle(*words, missing=package, cwd=tmp_path)
    assert answer.returncode == 1
    assert f"pip install 'jostle[{extra}]'" in answer.stderr.splitlines()[-1]
    assert "Traceback" not in answer.stderr

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
from missing_packages import run_without

NAMES = tomllib.loads(
    (Path(__file__).parents[2] / "src/jostle/cli/old_names.toml").read_text(encoding="utf-8")
)


def jostle(*words: str, missing: str = "", **options) -> subprocess.CompletedProcess:
    """Run the command, without the packages `missing`, separated by commas."""
    code = "from jostle.cli.main import main\nmain()"
    return run_without(tuple(missing.split(",")), code, *words, **options)


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
    assert answer.returncode == 2
    assert answer.stderr.startswith("jostle: file/results.md cannot be written")
    assert "Traceback" not in answer.stderr


OPTIONAL = ("torch", "safetensors", "tensorboard", "matplotlib", "imageio", "imageio_ffmpeg", "PIL")
BASE = ",".join(OPTIONAL)
"""What a base install, without extras, does not have."""
TINY = ["--steps", "1", "--size", "32"]


@pytest.mark.parametrize(
    ("words", "missing", "extra"),
    [
        (["train", "one-cube"], BASE, "train"),
        (["train", "one-cube"], "torch", "train"),
        (["pretrain", "dlp"], BASE, "train"),
        (["probe", "dlp-6cubes"], BASE, "train"),
        (["queue", "--queue", "queue.toml"], BASE, "train"),
        (["evaluate", "one-cube-state"], BASE, "train"),
        (["evaluate", "one-cube-state", "--task", "OneCube"], "safetensors", "train"),
        (["benchmark", "study.toml"], BASE, "train"),
        (["zoo", "add", "name", "run"], BASE, "train"),
        (["zoo", "tune", "one-cube-state"], BASE, "train"),
        (["zoo", "rescore", "one-cube-state"], BASE, "train"),
        (["demo", "--agent", "oracle"], BASE, "report"),
        (["demo"], "torch,safetensors", "train"),
        (["docs", "--out", "docs"], BASE, "report"),
        (["plot", "run"], BASE, "report"),
        (["video", "OneCube", *TINY], BASE, "report"),
        (["video", "OneCube", *TINY], "imageio", "report"),
        (["video", "OneCube", *TINY], "imageio_ffmpeg", "report"),
        (["video", "OneCube", "--format", "gif", *TINY], "PIL", "report"),
    ],
)
def test_a_missing_package_is_answered_with_its_extra(words, missing, extra, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run/metrics.jsonl").write_text('{"success": 1, "success_fraction": 1}\n')
    row = 'title = "A"\n[[row]]\nagent = "one-cube-state"\ntask = "OneCube"\nepisodes = 1\n'
    (tmp_path / "study.toml").write_text(row)
    (tmp_path / "queue.toml").write_text('[[job]]\nname = "a"\ntrain = "one-cube"\n')
    (tmp_path / "run/experiment.json").write_text("{}")
    answer = jostle(*words, missing=missing, cwd=tmp_path)
    assert answer.returncode == 1
    (sentence,) = answer.stderr.splitlines()  # nothing was simulated or drawn before
    assert sentence.startswith("jostle: ")
    assert sentence.endswith(f"pip install 'jostle[{extra}]'")


@pytest.mark.parametrize(
    "words",
    [
        *([command, "--help"] for command in COMMANDS),
        ["tasks"],
        ["zoo"],
        ["zoo", "show", "one-cube-state"],
        ["evaluate", "oracle", "--task", "OneCube", "--episodes", "1"],
        ["collect", "OneCube", "--frames", "2", "--out", "frames"],
    ],
    ids=" ".join,
)
def test_a_base_install_simulates_collects_and_lists(words, tmp_path):
    answer = jostle(*words, missing=BASE, cwd=tmp_path)
    assert answer.returncode == 0, answer.stderr


def test_the_python_interface_without_extras(tmp_path):
    code = """
import jostle
print(jostle.evaluate("oracle", "OneCube", episodes=1, num_envs=1).success)
for ask in (lambda: jostle.load_agent, lambda: jostle.train, lambda: jostle.evaluate("one-cube")):
    try:
        ask()
    except ImportError as error:
        print(error)
"""
    answer = run_without(OPTIONAL, code, cwd=tmp_path)
    assert answer.stdout.splitlines() == [
        "1.0",
        *(
            f"{what} needs the package torch: pip install 'jostle[train]'"
            for what in ("jostle.load_agent", "jostle.train", "The agent 'one-cube'")
        ),
    ], answer.stderr


def test_the_adapter_for_stable_baselines3_names_its_extra():
    answer = run_without(("stable_baselines3",), "import jostle.envs.sb3")
    assert answer.returncode == 1
    assert answer.stderr.splitlines()[-1] == (
        "jostle.core.errors.MissingPackageError: The adapter for Stable-Baselines3 needs the "
        "package stable_baselines3: pip install 'jostle[sb3]'"
    )

"""Help is quick: it imports neither torch nor, for most commands, MuJoCo."""

import subprocess
import sys

import pytest

from jostle.cli.main import COMMANDS

ACTS = ("video", "evaluate", "benchmark", "generalize", "collect", "record", "demo", "docs")
"""Commands whose options are read from modules that also simulate."""
CODE = """
import contextlib, io, sys
from jostle.cli.main import main
text = io.StringIO()
with contextlib.redirect_stdout(text):
    try:
        main()
    except SystemExit as done:
        code = done.code
print(code, "usage" in text.getvalue().lower(), *sorted({"torch", "mujoco"} & set(sys.modules)))
"""


@pytest.mark.parametrize("words", [*COMMANDS, "train one-cube", "pretrain dlp"])
def test_help_does_without_torch(words):
    command = [sys.executable, "-c", CODE, *words.split(), "--help"]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    code, shown, *imported = answer.stdout.split()
    assert (code, shown) == ("0", "True"), answer.stderr
    assert "torch" not in imported
    assert words in ACTS or "mujoco" not in imported

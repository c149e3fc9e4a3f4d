"""Errors that name the new command or flag when a user types an old one."""

import contextlib
import io
import re
import tomllib
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from itertools import takewhile
from typing import Any

from jostle.core.errors import BadValueError, JostleError

_FLAG = re.compile(r"--[a-z][a-z0-9-]*")


def new_command(command: str) -> str | None:
    """New name of an old command; None if it is not one."""
    name: str | None = _names()["verbs"].get(command)
    return name


def check_flags(argv: list[str], run: Callable[[list[str]], Any]) -> None:
    """Raise an error for the first old flag in `argv` that the command `run` does not accept."""
    renamed = {flag: _new_flags(flag) for flag in map(_flag, argv) if _new_flags(flag)}
    if not renamed:
        return
    accepted = _accepted_flags(argv, run)
    for flag, candidates in renamed.items():
        if flag in accepted:
            continue
        for new in candidates:
            if new in accepted:
                raise BadValueError(f"{flag} is now {new}.")
        if "" in candidates:
            raise BadValueError(f"{flag} was removed.")


def _flag(word: str) -> str:
    """The flag of an argument such as --num_envs=8; empty if it is not a flag."""
    name = word.partition("=")[0].replace("_", "-")
    return name if _FLAG.fullmatch(name) else ""


def _new_flags(flag: str) -> list[str]:
    """New flags that an old flag may have become, depending on the command."""
    renames = _flag_renames()
    if flag not in renames and flag.startswith("--no-"):
        positive = renames.get(f"--{flag.removeprefix('--no-')}", [])
        return [f"--no-{new.removeprefix('--')}" for new in positive if new]
    return renames.get(flag, [])


def _accepted_flags(argv: list[str], run: Callable[[list[str]], Any]) -> set[str]:
    """Flags in the help text of a command; its leading positional arguments select the help."""
    positional = takewhile(lambda word: not word.startswith("-"), argv)
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.suppress(SystemExit, JostleError):
        run([*positional, "--help"])
    return set(_FLAG.findall(text.getvalue()))


@cache
def _flag_renames() -> dict[str, list[str]]:
    """New flags by old flag; an empty new flag means that the old one was removed."""
    names = _names()
    renames = {old: [new] for old, new in names["flags"].items()}
    for fields in (names["experiment"], names["pretraining"], *names["encoder"].values()):
        for old, new in fields.items():
            old_flag, new_flag = _field_flag(old), _field_flag(new)
            if new_flag != old_flag:
                renames.setdefault(old_flag, []).append(new_flag)
    return renames


def _field_flag(path: str) -> str:
    """Flag of a config field, by its dotted path; empty if the path is."""
    return f"--{path.rpartition('.')[2].replace('_', '-')}" if path else ""


@cache
def _names() -> dict[str, Any]:
    return tomllib.loads((files("jostle.cli") / "old_names.toml").read_text())

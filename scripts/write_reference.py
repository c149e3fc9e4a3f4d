"""Writes the reference pages of the documentation from the code.

Usage: python scripts/write_reference.py FOLDER
"""

import ast
import contextlib
import inspect
import io
import os
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields
from enum import Enum
from itertools import pairwise
from pathlib import Path
from typing import Any

from reference_files import files_page
from reference_metrics import metrics_page

from jostle.cli.main import COMMANDS, main
from jostle.tasks.catalog import TASKS
from jostle.tasks.task import Task

_MORE_HELP = {
    "train": (
        ["train", "--help"], ["train", "three-cubes", "--help"],
        ["train", "--resume", "RUN", "--help"],
    ),
    "pretrain": (
        ["pretrain", "--help"], ["pretrain", "dlp", "--help"], ["pretrain", "slots", "--help"],
        ["pretrain", "vae", "--help"], ["pretrain", "--resume", "RUN", "--help"],
    ),
}  # fmt: skip
"""Commands whose help depends on more words."""


def config_classes() -> list[tuple[str, str, list[type]]]:
    """Titles, introductions and config classes of the page of config fields."""
    from jostle.agents.config import ExploreConfig, TD3Config
    from jostle.encoders.dlp_config import DLPConfig
    from jostle.encoders.slot_config import SlotConfig
    from jostle.encoders.vae_config import VAEConfig
    from jostle.envs.options import EnvOptions
    from jostle.nets.config import NetConfig
    from jostle.presets.axes import Axes
    from jostle.pretraining.config import Pretraining
    from jostle.replay.config import HindsightConfig
    from jostle.training.experiment import CurriculumConfig, Experiment, TrainingConfig

    flags = "Every field is a flag of `{}`: `{}` becomes `--{}`. "
    train = flags.format("jostle train TASK", "batch_size", "batch-size") + (
        "Defaults below are those of the classes, which are the paper's where it has a value; "
        "`jostle train TASK --help` shows what the axes make of them."
    )
    agents = [Axes, Experiment, TrainingConfig, CurriculumConfig, TD3Config, ExploreConfig]
    pretrain = flags.format("jostle pretrain KIND", "kl_weight", "kl-weight")
    return [
        ("Environments", "Arguments of `gymnasium.make` and `gymnasium.make_vec`.", [EnvOptions]),
        ("Training of agents", train, [*agents, HindsightConfig, NetConfig]),
        ("Training of encoders", pretrain, [Pretraining, DLPConfig, SlotConfig, VAEConfig]),
    ]


def field_docs(cls: type) -> dict[str, tuple[str, str]]:
    """Types and docstrings of the fields of a dataclass by name, those of its bases included."""
    docs: dict[str, tuple[str, str]] = {}
    for base in reversed(cls.__mro__[:-1]):
        if "__dataclass_fields__" in vars(base):
            body = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0]
            assert isinstance(body, ast.ClassDef)
            docs |= dict(_documented(body.body))
    return docs


def _documented(body: list[ast.stmt]) -> Iterator[tuple[str, tuple[str, str]]]:
    """Fields with a docstring below them: name, type and docstring."""
    for statement, below in pairwise(body):
        if isinstance(statement, ast.AnnAssign) and isinstance(below, ast.Expr):
            assert isinstance(statement.target, ast.Name)
            text = ast.literal_eval(below.value)
            yield statement.target.id, (ast.unparse(statement.annotation), " ".join(text.split()))


def config_page() -> str:
    """All config fields, from the docstrings of frozen dataclasses."""
    lines = ["# Config fields", "", "Generated from the docstrings of the fields."]
    for title, introduction, classes in config_classes():
        lines += ["", f"## {title}", "", introduction]
        for cls in classes:
            lines += ["", *_class_section(cls)]
    return "\n".join(lines) + "\n"


def _class_section(cls: type) -> Iterator[str]:
    docs = field_docs(cls)
    yield from (f"### {cls.__name__}", "", f"`{cls.__module__}`. {_summary(cls)}", "")
    yield from ("| field | type | default | meaning |", "|---|---|---|---|")
    for field in fields(cls):  # type: ignore[arg-type]
        kind, meaning = docs[field.name]
        cells = (f"`{field.name}`", f"`{kind}`", _default(field), meaning)
        yield "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _summary(cls: type) -> str:
    return (inspect.getdoc(cls) or "").split("\n\n")[0].replace("\n", " ")


def _default(field: Field[Any]) -> str:
    if isinstance(field.default, Enum):
        return f"`{field.default.name}`"
    if field.default is not MISSING:
        return f"`{field.default!r}`"
    return "required" if field.default_factory is MISSING else "its own defaults"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def tasks_page() -> str:
    """A table of all tasks, from the catalog."""
    lines = [
        "# Task table", "", "Generated from the catalog of tasks. Rules and images of each: "
        "[tasks](../../tasks.md).", "",
        "| id | objects | scored by | radius | horizon | evaluation | summary |",
        "|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    for name in TASKS:
        lines.append(_task_row(TASKS[name]))
    return "\n".join(lines) + "\n"


def _task_row(task: Task) -> str:
    unit = "rad" if task.goal_type == "yaw" else "m"
    low, high = min(task.counts), max(task.counts)
    numbers = f"{task.objects}" if low == high else f"{task.objects} ({low} to {high})"
    cells = (
        f"`jostle/{task.name}-v0`", numbers, task.goal_type, f"{task.radius} {unit}",
        f"{task.horizon(task.objects)}", f"{task.evaluation_steps(task.objects)}", task.summary,
    )  # fmt: skip
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def commands_page() -> str:
    """The help of every command."""
    lines = ["# Command line", "", "Generated from the help of each command. Every command takes"]
    lines[-1] += " `--quiet`: no progress, only results."
    for name, summary in COMMANDS.items():
        lines += ["", f"## jostle {name}", "", f"{summary}."]
        for words in _MORE_HELP.get(name, ([name, "--help"],)):
            lines += ["", "```text", f"$ jostle {' '.join(words)}", help_of(words), "```"]
    return "\n".join(lines) + "\n"


def help_of(words: list[str]) -> str:
    """What a command prints about itself, in lines that fit on a page of the site."""
    plain = {"COLUMNS": "88", "NO_COLOR": "1", "TERM": "dumb"}
    before, argv, shown = {name: os.environ.get(name) for name in plain}, sys.argv, io.StringIO()
    os.environ.update(plain)
    sys.argv = ["jostle", *words]
    try:
        with contextlib.redirect_stdout(shown):
            main()
    except SystemExit as done:
        if done.code:
            raise RuntimeError(f"jostle {' '.join(words)} failed.") from done
    finally:
        sys.argv = argv
        for name, value in before.items():
            os.environ.pop(name)
            os.environ.update({} if value is None else {name: value})
    return "\n".join(line.rstrip() for line in shown.getvalue().strip("\n").splitlines())


def write_reference(folder: Path) -> None:
    """Write all pages, those that changed."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = {
        "tasks": tasks_page(), "commands": commands_page(), "config": config_page(),
        "metrics": metrics_page(), "files": files_page(field_docs),
    }  # fmt: skip
    for name, text in pages.items():
        path = folder / f"{name}.md"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


if __name__ == "__main__":
    write_reference(Path(sys.argv[1]))

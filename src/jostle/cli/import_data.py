"""`jostle import FILE --task T --out DIR`: npz files of other projects as recordings."""

import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from jostle.core.checks import check_output
from jostle.core.files import check_new_folder
from jostle.exporting.options import ImportOptions


@dataclass(frozen=True, kw_only=True)
class ImportCommand(ImportOptions):
    """Turn an npz file in the layout of OGBench or of HECRL into a recording."""

    file: Annotated[Path, tyro.conf.Positional]
    """The npz file; its actions and states must be those of the task."""
    out: Path
    """New folder for the recording."""


def run(argv: list[str]) -> None:
    """Import, and print what was written."""
    command = tyro.cli(ImportCommand, prog="jostle import", args=argv)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # leave nothing half-written
    check_output(command.out, folder=True)
    check_new_folder(command.out)
    from jostle.exporting.npz_import import import_npz

    episodes = import_npz(command.file, command.out, command)
    print(f"{episodes} episodes of {command.task} in {command.out}")

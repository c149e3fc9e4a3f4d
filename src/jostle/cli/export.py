"""`jostle export FORMAT ...`: agents and recordings in the formats of other projects."""

import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from jostle.core.checks import check_output
from jostle.core.extras import require_packages
from jostle.core.files import check_new_folder, new_folder
from jostle.exporting.options import LeRobotOptions, MinariOptions, NpzOptions, OnnxOptions

if TYPE_CHECKING:
    from jostle.recordings.reader import RecordedEpisodes

Folder = Annotated[Path, tyro.conf.Positional]


@dataclass(frozen=True, kw_only=True)
class OnnxCommand(OnnxOptions):
    """Write the networks that an agent acts with as ONNX files, and compare them with torch."""

    agent: Annotated[str, tyro.conf.Positional]
    """Agent: a name of the zoo, a run directory or a weights file."""
    out: Path
    """New folder for actor.onnx, of pixel agents also encoder.onnx, and agent.json."""


@dataclass(frozen=True, kw_only=True)
class MinariCommand(MinariOptions):
    """Write recorded episodes as a Minari dataset."""

    recording: Folder
    """Folder of 'jostle record'."""
    out: Path
    """Folder of Minari datasets (MINARI_DATASETS_PATH), in which the dataset is new."""


@dataclass(frozen=True, kw_only=True)
class LeRobotCommand(LeRobotOptions):
    """Write recorded episodes in the layout of LeRobotDataset v3: Parquet, MP4 and JSON."""

    recording: Folder
    """Folder of 'jostle record'."""
    out: Path
    """New folder for the dataset."""


@dataclass(frozen=True, kw_only=True)
class NpzCommand(NpzOptions):
    """Write recorded episodes as npz files in the layout of OGBench or of HECRL."""

    recording: Folder
    """Folder of 'jostle record'."""
    out: Path
    """New folder for the files."""


Command = (
    Annotated[OnnxCommand, tyro.conf.subcommand("onnx")]
    | Annotated[MinariCommand, tyro.conf.subcommand("minari")]
    | Annotated[LeRobotCommand, tyro.conf.subcommand("lerobot")]
    | Annotated[NpzCommand, tyro.conf.subcommand("npz")]
)


def run(argv: list[str]) -> None:
    """Export, and print what was written."""
    command: Any = tyro.cli(Command, prog="jostle export", args=argv)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # leave nothing half-written
    check_output(command.out, folder=True)
    exports: dict[type, Callable[[Any], None]] = {
        OnnxCommand: _onnx, MinariCommand: _minari, LeRobotCommand: _lerobot, NpzCommand: _npz,
    }  # fmt: skip
    exports[type(command)](command)


def _onnx(command: OnnxCommand) -> None:
    require_packages("'export onnx'", "torch", "onnx", "onnxruntime")
    check_new_folder(command.out)
    from jostle.exporting.onnx_export import export_onnx
    from jostle.zoo.agents import load_zoo_agent

    experiment, agent = load_zoo_agent(command.agent)
    description = export_onnx(command.agent, experiment, agent, command.out, command)
    for graph in description["graphs"].values():
        size = (command.out / graph["file"]).stat().st_size / 2**20
        inputs = ", ".join(f"{name} {array['shape']}" for name, array in graph["inputs"].items())
        print(f"{graph['file']}: {size:.1f} MiB, {inputs}")
    check = description["check"]
    errors = ", ".join(f"{what} {error:.1e}" for what, error in check["max_error"].items())
    print(
        f"opset {description['opset']}; largest error on {check['observations']} observations: "
        f"{errors} (at most {check['tolerance']:.0e})"
    )
    print(f"written: {command.out}")


def _minari(command: MinariCommand) -> None:
    require_packages("'export minari'", "minari", "h5py")
    from jostle.exporting.minari_export import export_minari

    recorded = _open(command.recording)
    folder = export_minari(recorded, command.out, command)
    name = folder.relative_to(command.out).as_posix()
    print(f"{len(recorded)} episodes of {recorded.task} as the Minari dataset {name}")
    print(f"load it with MINARI_DATASETS_PATH={command.out.absolute()}")


def _lerobot(command: LeRobotCommand) -> None:
    require_packages("'export lerobot'", "pyarrow", "imageio_ffmpeg", "PIL")
    check_new_folder(command.out)
    from jostle.exporting.lerobot_export import export_lerobot

    recorded = _open(command.recording)
    with new_folder(command.out) as folder:
        export_lerobot(recorded, folder, command)
    print(f"{len(recorded)} episodes of {recorded.task} as LeRobotDataset v3 in {command.out}")


def _npz(command: NpzCommand) -> None:
    check_new_folder(command.out)
    from jostle.exporting.npz_export import export_npz

    recorded = _open(command.recording)
    with new_folder(command.out) as folder:
        names = [path.name for path in export_npz(recorded, folder, command)]
    print(f"{len(recorded)} episodes of {recorded.task} in {command.out}: {', '.join(names)}")


def _open(folder: Path) -> "RecordedEpisodes":
    """Open a recording and compare it with its hashes."""
    from jostle.recordings.reader import RecordedEpisodes

    recorded = RecordedEpisodes(folder)
    recorded.verify()
    return recorded

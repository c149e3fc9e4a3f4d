"""`jostle export FORMAT ...`: agents in the formats of other projects."""

import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from jostle.core.checks import check_output
from jostle.core.extras import require_packages
from jostle.core.files import check_new_folder
from jostle.exporting.options import OnnxOptions


@dataclass(frozen=True, kw_only=True)
class OnnxCommand(OnnxOptions):
    """Write the networks that an agent acts with as ONNX files, and compare them with torch."""

    agent: Annotated[str, tyro.conf.Positional]
    """Agent: a name of the zoo, a run directory or a weights file."""
    out: Path
    """New folder for actor.onnx, of pixel agents also encoder.onnx, and agent.json."""


@dataclass(frozen=True, kw_only=True)
class NpzCommand:
    """Write recordings as one npz file."""

    recordings: Annotated[Path, tyro.conf.Positional]
    """Folder of recordings."""
    out: Path
    """New folder."""


Command = (
    Annotated[OnnxCommand, tyro.conf.subcommand("onnx")]
    | Annotated[NpzCommand, tyro.conf.subcommand("npz")]
)


def run(argv: list[str]) -> None:
    """Export, and print what was written."""
    command = tyro.cli(Command, prog="jostle export", args=argv)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # leave nothing half-written
    check_output(command.out, folder=True)
    check_new_folder(command.out)
    _onnx(command)


def _onnx(command: OnnxCommand) -> None:
    require_packages("'export onnx'", "torch", "onnx", "onnxruntime")
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

"""From a module to an ONNX file: a graph with any batch size, written by torch's exporter."""

import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from jostle.core.errors import BadValueError
from jostle.nets.kernels import use_kernels

BATCH = "batch"
"""Name of the first axis of all arrays, whose size is free."""


@dataclass(frozen=True, kw_only=True)
class Graph:
    """One ONNX file: a module with names for its inputs and outputs."""

    name: str
    """What it is, which is also the name of its file."""
    module: nn.Module
    """What it computes."""
    inputs: dict[str, Tensor]
    """Examples of its inputs, by name."""
    outputs: tuple[str, ...]
    """Names of its outputs."""

    @property
    def file(self) -> str:
        """Name of its file."""
        return f"{self.name}.onnx"


@torch.no_grad()
def write_graph(graph: Graph, folder: Path, opset: int) -> None:
    """Trace a module without kernels, whose choices depend on the data, and write it."""
    names = [*graph.inputs, *graph.outputs]
    try:
        with use_kernels(False), _no_output(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the tracer, about constants; the check decides
            torch.onnx.export(
                graph.module.eval(),
                tuple(graph.inputs.values()),
                folder / graph.file,
                input_names=list(graph.inputs),
                output_names=list(graph.outputs),
                dynamic_axes={name: {0: BATCH} for name in names},
                opset_version=opset,
                dynamo=False,  # the newer exporter needs onnxscript
            )
    except torch.onnx.errors.OnnxExporterError as error:
        raise _explain(graph, opset, str(error)) from error


@contextmanager
def _no_output() -> Iterator[None]:
    """Drop what is printed: the exporter dumps a graph that it cannot write."""
    sys.stdout.flush()
    kept = os.dup(1)
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def _explain(graph: Graph, opset: int, message: str) -> BadValueError:
    """One sentence about an operator that cannot be written."""
    operator = re.search(r"aten::(\w+)|operator (\w+)", message)
    name = next(filter(None, operator.groups())) if operator else "of unknown name"
    since = re.search(r"added in version (\d+)", message)
    hint = f"choose --opset {since.group(1)} or later" if since else "no opset known here has it"
    return BadValueError(
        f"The {graph.name} needs the operator {name}, which ONNX opset {opset} lacks: {hint}. "
        "Nothing was written."
    )

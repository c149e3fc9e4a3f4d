"""An agent as ONNX files, checked against torch, with a description of their inputs."""

from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from torch import nn

from jostle.agents.base import BaseAgent
from jostle.core.errors import BadValueError, ExportError, require
from jostle.core.files import new_folder, write_json
from jostle.core.protocols import Agent
from jostle.envs.observe import StateReader
from jostle.exporting.onnx_check import OnnxPolicy, compare, play
from jostle.exporting.onnx_graphs import EntityActor, FrameEncoder, StateActor
from jostle.exporting.onnx_trace import BATCH, Graph, write_graph
from jostle.exporting.options import OnnxOptions
from jostle.nets.normalize import Normalizer
from jostle.rollout.observer import StateObserver, features_of
from jostle.rollout.smorl import SWITCH_EVERY, SubgoalObserver
from jostle.tasks.catalog import TASKS, task_id
from jostle.training.experiment import Experiment

FORMAT = "jostle-onnx-1"
"""Format of the description."""
TOLERANCE = 1e-4
"""Largest error of an entity or an action."""
DESCRIPTION = "agent.json"
"""Name of the file that describes the others."""


def export_onnx(
    name: str, experiment: Experiment, agent: Agent, out: Path, options: OnnxOptions
) -> dict[str, Any]:
    """Write `actor.onnx`, of a pixel agent also `encoder.onnx`, and `agent.json`, its description.

    The folder appears when everything is in it and the check has passed.
    """
    if not isinstance(agent, BaseAgent):
        raise BadValueError(
            f"'{name}' is a {type(agent).__name__}, which does not name the networks it acts with "
            "(jostle.agents.base.BaseAgent does): it cannot be exported."
        )
    graphs = (
        _pixel_graphs(agent) if agent.sensor else [_state_graph(name, agent, experiment, options)]
    )
    with new_folder(out) as folder:
        for graph in graphs:
            write_graph(graph, folder, options.opset)
        description = _describe(name, experiment, agent, graphs, options)
        description["check"] = _check(folder, experiment, agent, graphs, options)
        write_json(folder / DESCRIPTION, description)
    return description


def _state_graph(
    name: str, agent: BaseAgent, experiment: Experiment, options: OnnxOptions
) -> Graph:
    """The actor from true state, for sets of a fixed size."""
    trained = agent.spec.state[1] - 1
    objects = options.objects or trained
    features, task = features_of(agent.spec.layout), TASKS[experiment.task]
    require(
        objects == trained or (features == "full" and agent.net.arch != "mlp"),
        f"'{name}' was trained with {trained} objects and cannot have {objects}.",
    )
    require(
        objects >= trained,
        f"'{name}' was trained with {trained} objects, which sets of {objects} cannot hold.",
    )
    reader = StateReader(task.goal_metric(False), objects, task.table)
    observer_class = SubgoalObserver if agent.net.arch == "smorl" else StateObserver
    observer = observer_class(reader, 1, None, features)
    columns = len(reader.columns), len(reader.goal_columns)
    inputs = {
        "observation": torch.zeros(2, 1 + objects, columns[0]),
        "desired_goal": torch.zeros(2, objects, columns[1]),
        "present": torch.ones(2, objects, dtype=torch.bool),
    }
    if agent.net.arch == "smorl":
        inputs["chosen"] = torch.zeros(2, dtype=torch.int64)
    module = StateActor(agent, observer, columns)
    return Graph(name="actor", module=module, inputs=inputs, outputs=("action",))


def _pixel_graphs(agent: BaseAgent) -> list[Graph]:
    """The encoder, and the actor of its entities."""
    assert agent.sensor is not None
    require(
        agent.net.arch != "smorl",
        "A SMORL agent of images chooses its goal particles outside of its networks, and is not "
        "exported. Use agents of --arch eit, or SMORL from true state.",
    )
    require(
        not agent.sensor.finds_objects,
        "An agent that observes objects follows them outside of its networks, and is not exported. "
        "Use agents of --obs pixels.",
    )
    encoder = FrameEncoder(agent.sensor, agent.net.table_xy)
    shape = (2, len(agent.sensor.cameras), encoder.side, encoder.side, 3)
    frames = {"frames": torch.zeros(shape, dtype=torch.uint8)}
    sets: dict[str, torch.Tensor] = {}
    for name, size in (("state", agent.spec.state), ("goal", agent.spec.goal)):
        sets[name] = torch.zeros(2, *size)
        sets[f"{name}_visible"] = torch.ones(2, *size[:2], dtype=torch.bool)
    return [
        Graph(name="encoder", module=encoder, inputs=frames, outputs=("entities", "visible")),
        Graph(name="actor", module=EntityActor(agent), inputs=sets, outputs=("action",)),
    ]


def _check(
    folder: Path,
    experiment: Experiment,
    agent: Agent,
    graphs: list[Graph],
    options: OnnxOptions,
) -> dict[str, Any]:
    """Compare the files with torch; refuse them if they differ by more than the tolerance."""
    samples = play(experiment, agent, options.observations)
    cameras = tuple(agent.sensor.cameras) if agent.sensor else ()
    present = graphs[-1].inputs.get("present")
    objects = 0 if present is None else present.shape[1]
    errors = compare(OnnxPolicy(folder, cameras, objects), samples)
    for what, error in errors.items():
        if not error <= TOLERANCE:
            raise ExportError(
                f"The exported agent differs from torch: the largest error of {what} is "
                f"{error:.1e}, and {TOLERANCE:.0e} is allowed. Nothing was written."
            )
    count = sum(len(sample.action) for sample in samples)
    return {"observations": count, "max_error": errors, "tolerance": TOLERANCE}


def _describe(
    name: str,
    experiment: Experiment,
    agent: BaseAgent,
    graphs: list[Graph],
    options: OnnxOptions,
) -> dict[str, Any]:
    """Everything that a program needs to use the files."""
    env_kwargs: dict[str, Any] = {}
    if experiment.objects is not None:
        env_kwargs["objects"] = experiment.objects
    description: dict[str, Any] = {
        "format": FORMAT,
        "agent": name,
        "env_id": task_id(experiment.task),
        "opset": options.opset,
        "graphs": {graph.name: _arrays(graph) for graph in graphs},
        "normalization": _normalization(agent),
        "eval_noise_std": agent.eval_noise_std,
        "versions": {package: version(package) for package in ("torch", "onnx", "onnxruntime")},
    }
    if agent.sensor is not None:
        description["cameras"] = list(agent.sensor.cameras)
        size = agent.sensor.encoder.config.image_size
        env_kwargs |= {"obs_type": "both", "cameras": description["cameras"], "image_size": size}
    else:
        task = TASKS[experiment.task]
        reader = StateReader(task.goal_metric(False), 1, task.table)
        description["columns"] = {
            "observation": list(reader.columns), "desired_goal": list(reader.goal_columns)
        }  # fmt: skip
    if "chosen" in graphs[-1].inputs:
        description["switch_every"] = SWITCH_EVERY
    return {**description, "env_kwargs": env_kwargs}


def _arrays(graph: Graph) -> dict[str, Any]:
    """File, inputs and outputs of a graph."""
    with torch.no_grad():
        outputs = graph.module(*graph.inputs.values())
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    named = dict(zip(graph.outputs, outputs, strict=True))
    sides = {"inputs": graph.inputs, "outputs": named}
    return {"file": graph.file} | {
        side: {
            name: {"shape": [BATCH, *array.shape[1:]], "dtype": str(array.dtype)[len("torch.") :]}
            for name, array in arrays.items()
        }
        for side, arrays in sides.items()
    }


def _normalization(agent: BaseAgent) -> dict[str, Any]:
    """What the actor does with entities first: columns, means, scales and limits."""
    normalizer: nn.Module = agent.acting_networks()[0]
    columns = [list(group) for group in agent.spec.layout.groups]
    if not isinstance(normalizer, Normalizer):
        return {"columns": columns}
    scale = (normalizer.variance + 1e-6).rsqrt()
    return {
        "columns": columns,
        "mean": normalizer.mean.tolist(),
        "scale": scale.tolist(),
        "clip": normalizer.clip,
        "inside": "actor.onnx",
    }

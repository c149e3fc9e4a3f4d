"""Everything a pretraining needs to go on bit by bit, in one file."""

from typing import Any

import torch
from torch import Tensor

from jostle.core.checkpoint import CheckpointError, fill, load, save
from jostle.core.rundir import RunDir
from jostle.particles.saving import PREFIX, describe, read_entry, tensors_of
from jostle.pretraining.bench import Bench

_SLOW, _ADAM = "slow.", "adam."


def save_run(run: RunDir, bench: Bench, counters: dict[str, Any], meta: dict[str, Any]) -> None:
    """Write weights, averages, optimizer, randomness and counters; `meta` is kept beside."""
    tensors = tensors_of(bench.model)
    if bench.slow is not None:
        tensors |= tensors_of(bench.slow, _SLOW)
    for index, entry in bench.optimizer.state_dict()["state"].items():
        tensors |= {f"{_ADAM}{index}.{key}": value for key, value in entry.items()}
    tensors["noise"] = bench.noise.get_state()
    known = {"encoder": describe(bench.model), "digest": bench.digest, "counters": counters}
    save(run.last, tensors, {**meta, **known})


def restore_run(run: RunDir, bench: Bench) -> dict[str, Any]:
    """Go back to the last checkpoint; returns the counters."""
    tensors, meta = load(run.last)
    read_entry(meta, run.last)
    if meta["digest"] != bench.digest:
        raise CheckpointError(
            f"The frames in {bench.plan.data} are not those this run began with: their hash is "
            f"{bench.digest}, that of the run {meta['digest']}. Bring the old frames back, or "
            f"begin a new run with --from {run.path}."
        )
    fill(bench.model, tensors, PREFIX, str(run.last))
    if bench.slow is not None:
        fill(bench.slow, tensors, _SLOW, f"averages in {run.last}")
    state = bench.optimizer.state_dict()
    state["state"] = _optimizer_state(tensors, list(bench.model.parameters()))
    bench.optimizer.load_state_dict(state)
    bench.noise.set_state(tensors["noise"])
    counters: dict[str, Any] = meta["counters"]
    return counters


def _optimizer_state(
    tensors: dict[str, Tensor], parameters: list[torch.nn.Parameter]
) -> dict[int, dict[str, Tensor]]:
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        if name.startswith(_ADAM):
            index, key = name.removeprefix(_ADAM).split(".")
            like = parameters[int(index)]
            if tensor.shape == like.shape and key != "step":  # the parameter's own memory format
                tensor = torch.empty_like(like, requires_grad=False).copy_(tensor)
            state.setdefault(int(index), {})[key] = tensor
    return state

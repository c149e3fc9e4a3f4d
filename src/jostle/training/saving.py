"""Everything a run needs to go on bit by bit, in one file."""

from typing import Any

import numpy as np
import torch

from jostle.agents.saving import everything, restore
from jostle.core.checkpoint import load, pack_rng, save, unpack_rng
from jostle.core.rundir import RunDir
from jostle.rollout.subgoals import SubgoalObserver
from jostle.training.workshop import Workshop


def save_run(run: RunDir, shop: Workshop, counters: dict[str, Any]) -> None:
    """Write agent, memory, environments and randomness."""
    tensors, meta = everything(shop.agent)
    held, ring = shop.ring.export()
    tensors |= {f"ring.{name}": torch.from_numpy(values) for name, values in held.items()}
    state = shop.env.get_state()
    arrays = {name: state[name] for name in ("rows", "elapsed", "returns", "ended")}
    tensors |= {f"env.{name}": torch.from_numpy(np.asarray(v)) for name, v in arrays.items()}
    tensors["codes"] = torch.from_numpy(shop.observer.codes)
    if isinstance(shop.observer, SubgoalObserver):
        tensors["chosen"] = torch.from_numpy(shop.observer.chosen)
    meta |= {
        "ring": ring,
        "counters": counters,
        "env": {"rngs": state["rngs"], "episodes": state["episodes"]},
        "rngs": {name: pack_rng(rng) for name, rng in _rngs(shop).items()},
    }
    save(run.last, tensors, meta)


def restore_run(run: RunDir, shop: Workshop) -> dict[str, Any]:
    """Go back to the last checkpoint; returns the counters."""
    tensors, meta = load(run.last)
    restore(shop.agent, tensors, meta)
    held = {
        name.removeprefix("ring."): tensor.numpy()
        for name, tensor in tensors.items()
        if name.startswith("ring.")
    }
    shop.ring.restore(held, meta["ring"])
    arrays = {
        name: tensors[f"env.{name}"].numpy() for name in ("rows", "elapsed", "returns", "ended")
    }
    shop.env.set_state({**arrays, **meta["env"]})
    shop.observer.codes[:] = tensors["codes"].numpy()
    if isinstance(shop.observer, SubgoalObserver):
        shop.observer.chosen[:] = tensors["chosen"].numpy()
    for name, rng in _rngs(shop).items():
        unpack_rng(rng, meta["rngs"][name])
    counters: dict[str, Any] = meta["counters"]
    return counters


def _rngs(shop: Workshop) -> dict[str, np.random.Generator]:
    codes = shop.observer.rng
    found = {"exploration": shop.rng, "memory": shop.sampler.rng}
    return found if codes is None else found | {"codes": codes}

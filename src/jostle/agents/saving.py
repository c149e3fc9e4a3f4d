"""An agent as tensors: weights alone for the zoo, everything for going on."""

import re
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from jostle.agents.td3 import TD3Agent
from jostle.core.checkpoint import CheckpointError, fill
from jostle.nets.bearings import PLACE

_NETS = ("actor", "critics", "slow_actor", "slow_critics", "anchor", "normalizer")
_PRIVATE = "critic_normalizer"
_COPIES = (("actor", "slow_actor"), ("critics", "slow_critics"), ("actor", "anchor"))
_OPTIMIZERS = ("actor_optimizer", "critic_optimizer")


def weights(agent: TD3Agent, only: tuple[str, ...] = ("actor", "normalizer")) -> dict[str, Tensor]:
    """The tensors of some of the agent's networks."""
    return {
        f"{net}.{name}": tensor
        for net in only
        for name, tensor in getattr(agent, net).state_dict().items()
    }


def everything(agent: TD3Agent) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Networks, optimizers, noise and counters."""
    tensors = weights(agent, _all(agent))
    for name in _OPTIMIZERS:
        state = getattr(agent, name).state_dict()["state"]
        for index, entry in state.items():
            for key, value in entry.items():
                tensors[f"{name}.{index}.{key}"] = torch.as_tensor(value)
    tensors["noise"] = agent.noise.get_state()
    return tensors, {"updates": agent.updates}


def restore(agent: TD3Agent, tensors: dict[str, Tensor], meta: dict[str, Any]) -> None:
    """Go back to what `everything` gave."""
    load_weights(agent, tensors, _all(agent))
    for name in _OPTIMIZERS:
        optimizer = getattr(agent, name)
        state = optimizer.state_dict()
        state["state"] = _optimizer_state(tensors, f"{name}.")
        optimizer.load_state_dict(state)
    agent.noise.set_state(tensors["noise"])
    agent.updates = int(meta["updates"])


def load_weights(
    agent: TD3Agent,
    tensors: dict[str, Tensor],
    only: tuple[str, ...] | None = None,
    deepen: bool = False,
) -> None:
    """Load networks; by default all that the tensors hold.

    With `deepen`, the agent may have more blocks than the tensors, a deeper embedding, or also
    read places on the table: at first this changes nothing.
    """
    held = only or tuple(
        net for net in _NETS if any(name.startswith(f"{net}.") for name in tensors)
    )
    if "actor" not in held:
        raise CheckpointError("These weights hold no actor.")
    for net in held:
        given = _grounded(agent, net, _deepened(agent, net, tensors)) if deepen else tensors
        fill(getattr(agent, net), given, f"{net}.", net)
    if only is None:
        for fast, still in _COPIES:
            if still not in held and fast in held:
                getattr(agent, still).load_state_dict(getattr(agent, fast).state_dict())


def _deepened(agent: TD3Agent, net: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Add the parts that a shallower network lacks, such that at first they change nothing."""
    own = weights(agent, (net,))
    telling = [name for name in tensors if name.startswith(f"{net}.teller.")]
    if any(name not in own or own[name].shape != tensors[name].shape for name in telling):
        tensors = {name: tensors[name] for name in tensors if name not in telling}  # told others
    known = {_part(name) for name in tensors}
    new = {name: own[name] for name in own if _part(name) and _part(name) not in known}
    lasts = ("attention.out.", f"mlp.layers.{len(agent.net.block_hidden)}.",
             f"more.layers.{len(agent.net.embed_hidden)}.")  # fmt: skip
    for name in new:
        if any(last in name for last in lasts):  # a part adds what these give
            new[name] = torch.zeros_like(new[name])
    return tensors | new


def _grounded(agent: TD3Agent, net: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Let weights of a network that knows no ground read it, such that at first it is ignored."""
    if not agent.net.ground:
        return tensors
    wider = {}
    for name, own in weights(agent, (net,)).items():
        given = tensors.get(name)
        if given is None or not own.dim() or given.shape[:-1] != own.shape[:-1]:
            continue
        missing = own.shape[-1] - given.shape[-1]
        if missing == (given.shape[-1] if ".reader." in name else PLACE):
            wider[name] = F.pad(given, (0, missing), value=float(name.endswith("variance")))
    return tensors | wider


def _part(name: str) -> str:
    """Which block, deeper embedding or teller a tensor belongs to; nothing for others."""
    found = re.match(r".*\.(blocks\.\d+|more|teller)\.", name)
    return found.group() if found else ""


def _all(agent: TD3Agent) -> tuple[str, ...]:
    shared = agent.critic_normalizer is agent.normalizer
    return _NETS if shared else (*_NETS, _PRIVATE)


def _optimizer_state(tensors: dict[str, Tensor], prefix: str) -> dict[int, dict[str, Tensor]]:
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        if name.startswith(prefix):
            index, key = name.removeprefix(prefix).split(".")
            state.setdefault(int(index), {})[key] = tensor
    return state

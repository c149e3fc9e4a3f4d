"""An agent as tensors: weights alone for the zoo, everything for resuming."""

import re
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional as F

from jostle.core.checkpoint import CheckpointError, load_into, optimizer_state, optimizer_tensors
from jostle.core.entities import TABLE_XY

if TYPE_CHECKING:
    from jostle.agents.td3 import TD3Agent

_NETS = ("actor", "critics", "target_actor", "target_critics", "reference_actor", "normalizer")
_PRIVILEGED = "critic_normalizer"
_COPIES = (
    ("actor", "target_actor"),
    ("critics", "target_critics"),
    ("actor", "reference_actor"),
)
"""Networks, and those that start as copies of them."""
_OPTIMIZERS = ("actor_optimizer", "critic_optimizer")
ACTOR = ("actor", "normalizer")
"""Networks that act."""
CRITICS = ("critics", "target_actor", "target_critics")
"""Networks that are needed besides to continue learning."""


def net_tensors(agent: "TD3Agent", nets: tuple[str, ...] = ACTOR) -> dict[str, Tensor]:
    """The tensors of some of the agent's networks."""
    return {
        f"{net}.{name}": tensor
        for net in nets
        for name, tensor in getattr(agent, net).state_dict().items()
    }


def critic_nets(agent: "TD3Agent", actor: bool = True) -> tuple[str, ...]:
    """Networks of the second file: critics, target networks and the critics' own normalizer.

    Without `actor`, the target network of the actor is left out.
    """
    nets = CRITICS if actor else tuple(net for net in CRITICS if net != "target_actor")
    shared = agent.critic_normalizer is agent.normalizer
    return nets if shared else (*nets, _PRIVILEGED)


def state_dict(agent: "TD3Agent") -> dict[str, Tensor]:
    """Networks, optimizers and noise."""
    tensors = net_tensors(agent, _all_nets(agent))
    for name in _OPTIMIZERS:
        tensors |= optimizer_tensors(getattr(agent, name), f"{name}.")
    tensors["noise"] = agent.noise.get_state()
    return tensors


def load_state_dict(agent: "TD3Agent", tensors: dict[str, Tensor]) -> None:
    """Restore what `state_dict` returned."""
    load_weights(agent, tensors, _all_nets(agent))
    for name in _OPTIMIZERS:
        optimizer = getattr(agent, name)
        optimizer.load_state_dict(optimizer_state(optimizer, tensors, f"{name}."))
    agent.noise.set_state(tensors["noise"])


def load_weights(
    agent: "TD3Agent",
    tensors: dict[str, Tensor],
    nets: tuple[str, ...] | None = None,
    grow: bool = False,
) -> None:
    """Load networks; by default all that the tensors hold.

    With `grow`, the agent may have more blocks than the tensors, a deeper embedding, or also read
    positions on the table: at first the new parts change nothing.
    """
    loaded = nets or tuple(
        net for net in (*_NETS, _PRIVILEGED) if any(name.startswith(f"{net}.") for name in tensors)
    )
    if nets is None and "actor" not in loaded:
        raise CheckpointError("These weights hold no actor.")
    for net in loaded:
        given = _add_columns(agent, net, _add_zero_layers(agent, net, tensors)) if grow else tensors
        load_into(getattr(agent, net), given, f"{net}.", net)
    if nets is None:
        for source, copy in _COPIES:
            if copy not in loaded and source in loaded:
                getattr(agent, copy).load_state_dict(getattr(agent, source).state_dict())


def _add_zero_layers(agent: "TD3Agent", net: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Add the layers that a shallower network lacks, such that at first they change nothing."""
    own = net_tensors(agent, (net,))

    # An auxiliary head for other targets is dropped
    aux = [name for name in tensors if name.startswith(f"{net}.aux_head.")]
    if any(name not in own or own[name].shape != tensors[name].shape for name in aux):
        tensors = {name: tensors[name] for name in tensors if name not in aux}

    # New layers keep their initialization, but for the last map of each residual branch
    given = {_layer(name) for name in tensors}
    new = {name: own[name] for name in own if _layer(name) and _layer(name) not in given}
    lasts = (
        "attention.out.",
        f"mlp.layers.{len(agent.net.block_hidden)}.",
        f"embed_mlp.layers.{len(agent.net.embed_mlp)}.",
    )
    for name in new:
        if any(last in name for last in lasts):
            new[name] = torch.zeros_like(new[name])
    return tensors | new


def _add_columns(agent: "TD3Agent", net: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Let weights read positions on the table, such that at first they are ignored."""
    if not agent.net.table_xy:
        return tensors
    columns = agent.spec.layout[TABLE_XY]
    added = columns.stop - columns.start
    wider = {}
    for name, own in net_tensors(agent, (net,)).items():
        given = tensors.get(name)
        if given is None or not own.dim() or given.shape[:-1] != own.shape[:-1]:
            continue
        missing = own.shape[-1] - given.shape[-1]
        if missing == (given.shape[-1] if ".rel_pos." in name else added):
            wider[name] = F.pad(given, (0, missing), value=float(name.endswith("variance")))
    return tensors | wider


def _layer(name: str) -> str:
    """Which block, deeper embedding or auxiliary head a tensor belongs to; else nothing."""
    match = re.match(r".*\.(blocks\.\d+|embed_mlp|aux_head)\.", name)
    return match.group() if match else ""


def _all_nets(agent: "TD3Agent") -> tuple[str, ...]:
    shared = agent.critic_normalizer is agent.normalizer
    return _NETS if shared else (*_NETS, _PRIVILEGED)

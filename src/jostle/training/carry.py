"""Networks that a training takes over from earlier ones."""

from pathlib import Path
from typing import Any

from torch import Tensor

from jostle.core.checkpoint import CheckpointError, load
from jostle.core.errors import BadValueError, require
from jostle.runs.run_dir import RunDir, critics_file
from jostle.training.agent_trainer import AgentTrainer
from jostle.training.experiment import Carry, Experiment, read_experiment
from jostle.training.load import acting_tensors

_MEANING = {
    "gamma": ("td3", "gamma"),
    "potential_baseline": ("td3", "potential_baseline"),
    "values": ("net", "values"),
    "reward": ("training", "reward"),
}
"""Fields that say what the numbers of a critic mean, and where an experiment has them."""

History = list[dict[str, Any]]
"""The trainings that weights went through."""


def carry_weights(trainer: AgentTrainer, weights: Path | None, carry: Carry | Path) -> History:
    """Load networks of files or runs into a new training.

    Args:
        trainer: The training.
        weights: Where the actor comes from; None: it starts from nothing.
        carry: The actor alone, all networks of `weights`, or the critics of a state agent.

    Returns:
        The trainings that the networks went through.
    """
    history = [] if weights is None else _carry_agent(trainer, weights, carry == "all")
    critics = critics_of(carry)
    return history if critics is None else history + _carry_critics(trainer, critics)


def critics_of(carry: Carry | Path) -> Path | None:
    """The agent whose critics are taken over instead, if `carry` names one."""
    return None if carry in ("actor", "all") else Path(carry)


def _carry_agent(trainer: AgentTrainer, weights: Path, critics: bool) -> History:
    """Load the actor of an agent and, if asked, its critics."""
    file = _file(weights)
    tensors, meta = load(file)
    tensors = acting_tensors(tensors, meta, trainer.components.agent)
    if critics:
        _check_ids(trainer.experiment, meta.get("experiment", {}), file)
        tensors |= _critics_beside(file)
    trainer.components.agent.load_weights(tensors, grow=True)
    history: History = meta.get("history", [])
    return history


def _carry_critics(trainer: AgentTrainer, weights: Path) -> History:
    """Let privileged critics start as those of an agent of true state."""
    agent: Any = trainer.components.agent
    file = _file(weights)
    require(
        agent.spec.critic is not None and hasattr(agent, "load_critics"),
        "--critics-from is for critics that see true state beside an actor that sees images: "
        "train with --obs pixels --method td3-privileged.",
    )
    tensors, meta = load(file)
    carried = meta.get("experiment", {})
    if carried.get("encoder"):
        raise BadValueError(
            f"{file} is an agent of images; --critics-from takes the critics of an agent of true "
            "state, such as three-cubes-state-td3."
        )
    _check_meaning(trainer.experiment, carried, file)
    _check_ids(trainer.experiment, carried, file)
    normalizer = {
        f"critic_{name}": tensor
        for name, tensor in acting_tensors(tensors, meta, agent).items()
        if name.startswith("normalizer.")
    }
    agent.load_critics(_critics_beside(file) | normalizer)
    history: History = meta.get("history", [])
    return [{**entry, "part": "critics"} for entry in history]


def _file(weights: Path) -> Path:
    return RunDir(weights).weights() if weights.is_dir() else weights


def _critics_beside(file: Path) -> dict[str, Tensor]:
    """Critics and target networks of an agent."""
    if not critics_file(file).is_file():
        raise CheckpointError(
            f"{file} has no critics beside it ({critics_file(file).name}). Carry the actor alone "
            "(--carry actor), or name an agent that has critics."
        )
    return load(critics_file(file))[0]


def _check_meaning(experiment: Experiment, carried: dict[str, Any], file: Path) -> None:
    """Refuse critics whose values mean something else."""
    own = experiment.to_dict()
    for name, (part, field) in _MEANING.items():
        theirs, ours = (config.get(part, {}).get(field) for config in (carried, own))
        require(
            theirs == ours,
            f"The critics of {file} were trained with {name} = {theirs}, this training has {ours}: "
            f"their values would mean something else. Set --{field.replace('_', '-')} alike.",
        )


def _check_ids(experiment: Experiment, carried: dict[str, Any], file: Path) -> None:
    """Refuse critics of fixed object ids for more objects: they have never met the other ids."""
    shuffled = carried.get("training", {}).get("shuffle_object_ids", True)
    objects = read_experiment(carried).max_objects if carried else experiment.max_objects
    if not shuffled and objects < experiment.max_objects:
        raise CheckpointError(
            f"The critics of {file} know {objects} objects by fixed ids and cannot be carried to "
            f"{experiment.max_objects}. Train with --shuffle-object-ids, or carry the actor alone "
            "(--carry actor)."
        )

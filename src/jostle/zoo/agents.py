"""Agents by the word a user types: a script, a name of the zoo, a run or a file."""

from pathlib import Path
from typing import Any

from jostle.core.catalog import suggest
from jostle.core.errors import UnknownNameError
from jostle.core.protocols import Policy
from jostle.envs.vector import TabletopVectorEnv
from jostle.oracles.catalog import SCRIPTED
from jostle.zoo.shelf import agents, shelf


def weights_for(word: str) -> Path:
    """Find weights: a name of the zoo, a run's folder or a file."""
    held = shelf()
    path = held[word].weights if word in held else Path(word)
    if not path.exists():
        raise UnknownNameError(
            f"There is no agent called '{word}', and no run or file of that name. "
            f"{suggest(word, [*SCRIPTED, *agents()])}"
        )
    return path


def history_of(word: str) -> list[dict[str, Any]]:
    """What trainings weights went through: preset, lane, seed, updates, steps, minutes of each."""
    from jostle.core.checkpoint import load
    from jostle.core.rundir import RunDir

    path = weights_for(word)
    found: list[dict[str, Any]] = load(RunDir(path).best if path.is_dir() else path)[1].get(
        "history", []
    )
    return found


def agent_for(word: str, env: TabletopVectorEnv) -> Policy:
    """Find an agent and let it act in `env`."""
    if word in SCRIPTED:
        return SCRIPTED[word](env.recipe.task)
    path = weights_for(word)
    from jostle.training.recall import recall
    from jostle.training.workshop import policy_for

    return policy_for(recall(path)[1], env)

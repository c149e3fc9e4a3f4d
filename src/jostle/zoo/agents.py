"""Agents by the word a user types: a script, a name of the zoo, a run or a file."""

from pathlib import Path
from typing import Any

from jostle.core.catalog import suggest
from jostle.core.errors import UnknownNameError
from jostle.core.protocols import Policy
from jostle.core.rundir import RunDir
from jostle.envs.vector import TabletopVectorEnv
from jostle.oracles.catalog import SCRIPTED
from jostle.zoo.shelf import agents, meta_of, shelf


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


def file_for(word: str) -> Path:
    """Find the file of weights: of a run, its best ones."""
    path = weights_for(word)
    return RunDir(path).best if path.is_dir() else path


def history_of(word: str) -> list[dict[str, Any]]:
    """What trainings weights went through: preset, lane, seed, updates, steps, minutes of each."""
    from jostle.core.checkpoint import load

    found: list[dict[str, Any]] = load(file_for(word))[1].get("history", [])
    return found


def what_it_reads(word: str) -> dict[str, Any]:
    """Options of an environment in which an agent, by the word a user types, can act."""
    if word in SCRIPTED:
        return {}
    meta = meta_of(file_for(word))
    if "eyes" not in meta:
        return {}
    return {
        "obs_type": "both",
        "cameras": tuple(meta["experiment"]["cameras"]),
        "image_size": meta["eyes"]["config"]["image"],
    }


def agent_for(word: str, env: TabletopVectorEnv, restless: float | None = None) -> Policy:
    """Find an agent and let it act in `env`; `restless` overrides the unrest it is used with."""
    if word in SCRIPTED:
        return SCRIPTED[word](env.recipe.task)
    path = weights_for(word)
    from jostle.training.recall import recall
    from jostle.training.workshop import policy_for

    return policy_for(recall(path)[1], env, restless)


def teacher_for(word: str, env: TabletopVectorEnv) -> Policy:
    """Find an agent that others learn from: it says what it means, without noise."""
    return agent_for(word, env, restless=0.0)

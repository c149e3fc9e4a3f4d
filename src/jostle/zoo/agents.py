"""Loading agents by name: a scripted policy, a zoo model, a run directory or a weights file."""

import importlib
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jostle.core.catalog import suggest
from jostle.core.errors import BadValueError, UnknownNameError, require
from jostle.core.protocols import Agent, Policy
from jostle.envs.vector import TabletopVectorEnv
from jostle.frames.manifest import file_hash
from jostle.oracles.catalog import SCRIPTED
from jostle.runs.run_dir import RunDir
from jostle.zoo.registry import agents, read_meta, registry, resolve_name

if TYPE_CHECKING:
    from jostle.training.experiment import Experiment


def find_weights(name: str) -> Path:
    """Path of a zoo model's weights, of a run directory or of a weights file."""
    models, resolved = registry(), resolve_name(name)
    path = models[resolved].weights if resolved in models else Path(name)
    if not path.exists():
        raise UnknownNameError(
            f"There is no agent called '{name}', and no run or file of that name. "
            f"{suggest(name, [*SCRIPTED, *agents()])}"
        )
    return path


def find_weights_file(name: str) -> Path:
    """Path of a weights file; of a run, its best weights, or those of its last checkpoint."""
    path = find_weights(name)
    return RunDir(path).weights() if path.is_dir() else path


def training_history(name: str) -> list[dict[str, Any]]:
    """Training stages of an agent: recipe, method, seed, updates, steps and minutes of each."""
    from jostle.core.checkpoint import load

    history: list[dict[str, Any]] = load(find_weights_file(name))[1].get("history", [])
    return history


def required_env_kwargs(name: str) -> dict[str, Any]:
    """Environment options that an agent needs: pixel agents need their cameras and image size."""
    if name in SCRIPTED:
        return {}
    if is_class(name):
        kwargs: dict[str, Any] = getattr(_make_policy_object(name), "env_kwargs", {})
        return kwargs
    meta = read_meta(find_weights_file(name))
    if "encoder" not in meta:
        return {}
    return {
        "obs_type": "both",
        "cameras": tuple(meta["experiment"]["cameras"]),
        "image_size": meta["encoder"]["image_size"],
    }


def load_zoo_agent(name: str, device: str = "auto") -> "tuple[Experiment, Agent]":
    """Load an agent by name, with its experiment; its encoder comes from the zoo if need be."""
    from jostle.training.load import load_agent
    from jostle.zoo.encoders import find_encoder_by_hash

    return load_agent(find_weights(name), find_encoder_by_hash, device)


def check_agent_name(name: str) -> None:
    """Raise an error for a name that no agent has, before anything runs."""
    if name not in SCRIPTED and not is_class(name):
        find_weights_file(name)


def own_task(name: str) -> tuple[str, int | tuple[int, int] | None] | None:
    """Task and number of objects that an agent was trained on; None for scripts and classes."""
    if name in SCRIPTED or is_class(name):
        return None
    experiment = read_meta(find_weights_file(name)).get("experiment")
    if experiment is None:
        return None
    objects = experiment["objects"]
    return experiment["task"], tuple(objects) if isinstance(objects, list) else objects


def has_eval_noise(name: str) -> bool:
    """Whether an agent can act with evaluation noise; scripted policies and classes cannot."""
    return name not in SCRIPTED and not is_class(name)


def is_class(name: str) -> bool:
    """Whether a name is that of a Python class, such as my_package.policies:Pusher."""
    return re.fullmatch(r"[\w.]+:\w+", name) is not None


def _make_policy_object(name: str) -> Policy:
    """Import a class by its name and instantiate it."""
    module, _, attribute = name.partition(":")
    if "" not in sys.path:  # it may be in the present folder
        sys.path.append("")
    try:
        policy = getattr(importlib.import_module(module), attribute)()
    except (ImportError, AttributeError, TypeError) as error:
        raise BadValueError(f"'{name}' does not give a policy: {error}.") from error
    if not hasattr(policy, "act"):
        raise BadValueError(f"'{name}' is no policy: it has no act(observation).")
    made: Policy = policy
    return made


def load_policy(
    name: str, env: TabletopVectorEnv, eval_noise: float | None = None, device: str = "auto"
) -> Policy:
    """Load an agent as a policy for `env`; `eval_noise` overrides its evaluation noise."""
    require(
        not eval_noise or has_eval_noise(name),
        f"Evaluation noise is for trained agents; '{name}' acts without it.",
    )
    if name in SCRIPTED:
        return SCRIPTED[name](env.episode_sampler.task)
    if is_class(name):
        return _make_policy_object(name)
    from jostle.training.components import make_policy

    return make_policy(load_zoo_agent(name, device)[1], env, eval_noise)


def load_teacher(name: str, env: TabletopVectorEnv) -> Policy:
    """Load an agent as a teacher for imitation: without evaluation noise."""
    return load_policy(name, env, eval_noise=0.0)


def load_recorded_policy(name: str, env: TabletopVectorEnv) -> Policy | None:
    """Load an agent for a recording, which adds all noise itself; None for random actions."""
    if name == "random":
        return None
    return load_policy(name, env, 0.0 if has_eval_noise(name) else None)


def own_eval_noise(name: str) -> float:
    """Standard deviation of an agent's evaluation noise; 0 for scripted policies and classes."""
    check_agent_name(name)
    if not has_eval_noise(name):
        return 0.0
    experiment = read_meta(find_weights_file(name)).get("experiment", {})
    return float(experiment.get("explore", {}).get("eval_noise_std", 0.0))


def weights_hash(name: str) -> str:
    """Hash of an agent's weights; empty for scripted policies and classes."""
    return file_hash(find_weights_file(name)) if has_eval_noise(name) else ""

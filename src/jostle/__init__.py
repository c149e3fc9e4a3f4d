"""Entity-centric reinforcement learning of object manipulation from pixels.

Importing this package registers the tasks as `jostle/…-v0` with Gymnasium. Agents, evaluation and
training are imported when they are first used: environments alone do not need torch.
"""

import importlib
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from jostle.core.extras import explain
from jostle.envs.register import register_all

if TYPE_CHECKING:
    from jostle.api.agent import LoadedAgent as LoadedAgent
    from jostle.api.agent import load_agent as load_agent
    from jostle.api.evaluate import EvaluationResult as EvaluationResult
    from jostle.api.evaluate import evaluate as evaluate
    from jostle.api.register import register_encoder as register_encoder
    from jostle.api.register import register_method as register_method
    from jostle.api.register import register_reward as register_reward
    from jostle.api.register import register_shape as register_shape
    from jostle.api.register import register_task as register_task
    from jostle.api.train import TrainedRun as TrainedRun
    from jostle.api.train import train as train

try:
    __version__ = version("jostle")
except PackageNotFoundError:  # running from a source tree that was never installed
    __version__ = "0+source"

_LAZY = {
    "LoadedAgent": "agent", "load_agent": "agent", "EvaluationResult": "evaluate",
    "evaluate": "evaluate", "TrainedRun": "train", "train": "train", "register_task": "register",
    "register_encoder": "register", "register_method": "register", "register_reward": "register",
    "register_shape": "register",
}  # fmt: skip
"""Names of the Python interface, and the modules of `jostle.api` that define them."""
__all__ = ["__version__", *_LAZY]

register_all()


def __getattr__(name: str) -> Any:
    """Import parts of the interface when they are first used."""
    if name not in _LAZY:
        raise AttributeError(f"module 'jostle' has no attribute '{name}'")
    try:
        return getattr(importlib.import_module(f"jostle.api.{_LAZY[name]}"), name)
    except ImportError as error:
        raise explain(f"jostle.{name}", error) from error


def __dir__() -> list[str]:
    """All names of the interface."""
    return sorted((*globals(), *_LAZY))

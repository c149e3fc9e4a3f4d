"""Methods by name: what learns, and how it is trained."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jostle.core.catalog import Registry
from jostle.core.errors import BadValueError, require
from jostle.runs.run_dir import RunDir
from jostle.runs.trainer import Report
from jostle.training.agent_trainer import AgentTrainer
from jostle.training.components import Components, make_agent
from jostle.training.dagger import DaggerTrainer
from jostle.training.experiment import Experiment
from jostle.training.off_policy import OffPolicyTrainer
from jostle.training.offline import OfflineTrainer, check_data
from jostle.training.offline_agents import make_bc_agent, make_iql_agent

MakeTrainer = Callable[[Experiment, Components, RunDir, Report], AgentTrainer]
_AGENT_PARTS = (
    "act", "update", "state_dict", "load_state_dict", "updates", "net", "spec", "sensor", "device",
    "eval_noise_std", "observe", "set_lr_scale", "end_iteration", "diagnose", "acting_tensors",
    "learning_tensors", "load_weights", "attention",
)  # fmt: skip
"""What `jostle.core.protocols.Agent` lists."""


def _anything(experiment: Experiment) -> None:
    """Accept every experiment."""
    del experiment


@dataclass(frozen=True, kw_only=True)
class Method:
    """One way to train an agent."""

    summary: str
    """One line of help."""
    make_trainer: MakeTrainer
    """Builds the trainer from its components."""
    make_agent: Callable[..., Any] = make_agent
    """Builds the agent: (experiment, observer, privileged_observer, sensor)."""
    privileged: bool = False
    """Whether critics see true state."""
    workers: bool = True
    """Whether its episodes can be collected by groups of environments and by workers."""
    teacher: Callable[[Experiment], str] | None = None
    """Name of the expert, for methods that have one."""
    offline: bool = False
    """Whether it learns from a recording (--data), counted in updates."""
    check: Callable[[Experiment], None] = _anything
    """Refuses experiments that make no sense with this method."""


def _check_privileged(experiment: Experiment) -> None:
    require(
        experiment.encoder != "",
        "Without an encoder the actor sees the true state as its critics do: train with the "
        "method 'td3', or from images (--obs pixels).",
    )


def _check_dagger(experiment: Experiment) -> None:
    require(
        experiment.net.arch != "smorl",
        "SMORL sees one goal at a time and cannot imitate a teacher that sees all of them. "
        "Train it with the method 'td3' or 'td3-demos'.",
    )


def _check_bc(experiment: Experiment) -> None:
    check_data(experiment)
    require(
        experiment.net.arch != "smorl",
        "SMORL sees one goal at a time and cannot clone actions that serve all of them. Train "
        "with --arch eit.",
    )


def _check_iql(experiment: Experiment) -> None:
    check_data(experiment)
    require(
        experiment.net.arch == "eit" and experiment.net.critic_arch == "same",
        "iql learns values of sets: train with --arch eit and --critic-arch same.",
    )


def _check_iql_privileged(experiment: Experiment) -> None:
    _check_privileged(experiment)
    _check_iql(experiment)


METHODS: Registry[Method] = Registry(
    "method",
    {
        "td3": Method(
            summary="TD3 with hindsight, without a teacher", make_trainer=OffPolicyTrainer
        ),
        "td3-demos": Method(
            summary="TD3 with episodes of the scripted oracle in replay",
            make_trainer=OffPolicyTrainer,
            teacher=lambda experiment: "oracle",
        ),
        "td3-privileged": Method(
            summary="TD3 whose critics see true state while the actor sees images",
            make_trainer=OffPolicyTrainer,
            privileged=True,
            check=_check_privileged,
        ),
        "dagger": Method(
            summary="imitation of a teacher on the student's own states",
            make_trainer=DaggerTrainer,
            workers=False,
            teacher=lambda experiment: experiment.training.teacher,
            check=_check_dagger,
        ),
        "bc": Method(
            summary="goal-conditioned behavior cloning of recorded episodes",
            make_trainer=OfflineTrainer,
            make_agent=make_bc_agent,
            offline=True,
            check=_check_bc,
        ),
        "iql": Method(
            summary="implicit Q-learning from recorded episodes, policy by DDPG + BC",
            make_trainer=OfflineTrainer,
            make_agent=make_iql_agent,
            offline=True,
            check=_check_iql,
        ),
        "iql-privileged": Method(
            summary="iql whose critics see true state while the actor sees images",
            make_trainer=OfflineTrainer,
            make_agent=make_iql_agent,
            privileged=True,
            offline=True,
            check=_check_iql_privileged,
        ),
    },
)


def register_method(name: str, method: Method) -> None:
    """Add a method; it is then known to `jostle train --method NAME`."""
    METHODS.register(name, method)


def check_agent(agent: object, method: str) -> None:
    """Refuse an agent that breaks its contract, and say which part is missing."""
    for part in _AGENT_PARTS:
        if not hasattr(agent, part):
            raise BadValueError(
                f"The agent of the method '{method}' has no '{part}'. Inherit from "
                "jostle.agents.base.BaseAgent and add act, update, state_dict and load_state_dict "
                "(jostle.core.protocols.Agent)."
            )

"""What is played: task, agent, number of objects, variations and seed; and how it is built."""

from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from jostle.core.checks import check_int
from jostle.core.errors import require
from jostle.core.extras import explain
from jostle.core.protocols import Policy
from jostle.envs.vary_check import check_varied_episodes
from jostle.oracles.catalog import SCRIPTED
from jostle.playground.footprints import PLAY_COLORS
from jostle.playground.live_env import LiveEnv
from jostle.scene.colors import COLORS
from jostle.scene.spec import MAX_OBJECTS
from jostle.tasks.catalog import TASKS, dashed, task_with
from jostle.tasks.vary import parse_vary
from jostle.zoo.agents import has_eval_noise, load_policy, required_env_kwargs
from jostle.zoo.registry import resolve_name

if TYPE_CHECKING:  # needs the extra 'train'
    from jostle.core.protocols import Agent
    from jostle.training.experiment import Experiment

YOU = "you"
"""The agent that does nothing: the gripper is driven by keyboard."""
_REMEMBERED = 4
"""Trained agents that stay in memory."""


@dataclass(frozen=True, kw_only=True)
class PlaySetup:
    """What is played."""

    task: str = "ThreeCubes"
    """Name of a task."""
    agent: str = YOU
    """Name of an agent; `you` for none."""
    objects: int | None = None
    """Number of objects; the task's own number by default."""
    vary: str = ""
    """Variations as text, such as "mass=x20 light=0.7"."""
    seed: int = 0
    """Seed of the episode."""

    def __post_init__(self) -> None:
        """Refuse unknown tasks and variations, and numbers out of range."""
        _ = TASKS[self.task]
        parse_vary(self.vary)
        check_int("seed", self.seed, 0)
        require(self.seed < 2**31, f"A seed is less than {2**31}, not {self.seed}.")
        if self.objects is not None:
            check_int("objects", self.objects, 1)
            require(
                self.objects <= MAX_OBJECTS,
                f"A table holds at most {MAX_OBJECTS} objects, not {self.objects}.",
            )

    @property
    def count(self) -> int:
        """Number of objects."""
        return TASKS[self.task].objects if self.objects is None else self.objects

    def with_count(self, count: int) -> "PlaySetup":
        """The same with another number of objects, which may be another task of the catalog."""
        task = task_with(self.task, count) or self.task
        TASKS[task].check_count(count)
        return replace(self, task=task, objects=count)


def default_agent(task: str) -> str:
    """The zoo's pixel agent for a task, else its state agent, else the oracle."""
    for observation in ("pixels", "state"):
        name = f"{dashed(TASKS[task].name)}-{observation}"
        if resolve_name(name) != name:
            return name
    return "oracle"


def make_env(setup: PlaySetup) -> LiveEnv:
    """Build the environment with what the agent needs; impossible variations are refused."""
    setup = setup.with_count(setup.count)
    vary, task = parse_vary(setup.vary), TASKS[setup.task].name
    needed = {} if setup.agent == YOU else required_env_kwargs(setup.agent)
    options: dict[str, Any] = vary.env_kwargs(needed, setup.agent)
    options["objects"] = setup.count
    if setup.count > len(COLORS) and TASKS[task].color_group(9, setup.count) == 9:
        options["colors"] = list(PLAY_COLORS.values())[: setup.count + TASKS[task].extra_slots()]
    check_varied_episodes(vary, task, options, [setup.seed])
    return LiveEnv(task, threads=1, **options)


class AgentLoader:
    """Loads agents by name and keeps the last few, so that switching back is fast."""

    def __init__(self) -> None:
        """Start without any."""
        self._loaded: OrderedDict[str, tuple[Experiment, Agent]] = OrderedDict()

    def policy(self, name: str, env: LiveEnv) -> Policy | None:
        """The agent as a policy for `env`; None if you drive yourself."""
        if name == YOU:
            return None
        if name in SCRIPTED or not has_eval_noise(name):
            return load_policy(name, env)
        try:
            from jostle.training.components import make_policy
        except ImportError as error:
            raise explain(f"The agent '{name}'", error) from error
        return make_policy(self.agent(name)[1], env)

    def agent(self, name: str) -> "tuple[Experiment, Agent]":
        """A trained agent with its experiment."""
        if name not in self._loaded:
            from jostle.zoo.agents import load_zoo_agent

            self._loaded[name] = load_zoo_agent(name)
            while len(self._loaded) > _REMEMBERED:
                self._loaded.popitem(last=False)
        self._loaded.move_to_end(name)
        return self._loaded[name]

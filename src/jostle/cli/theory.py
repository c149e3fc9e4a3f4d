"""`jostle theory`: the paper's theory beside measured errors."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tyro

from jostle.cli.bars import print_progress
from jostle.core.checks import check_int, check_output
from jostle.core.errors import BadValueError, require
from jostle.core.files import write_json

if TYPE_CHECKING:
    from jostle.agents.td3 import TD3Agent
    from jostle.theory.critics import Visits

_TRAIN_SEED = 20_000
"""First episode that critics are fitted on; they are tested on episodes from 0 on."""


@dataclass(frozen=True, kw_only=True)
class TheoryConfig:
    """Check the theory of compositional generalization, exactly and on trained critics.

    Writes OUT.md, and a folder OUT with figures, all numbers (numbers.json) and the instances that
    break a statement of the paper. Numbers that are there already are not measured again.
    """

    out: Path = Path("theory")
    """The page is OUT.md, its figures are in the folder OUT."""
    agent: str = "three-cubes-state-td3"
    """Agent whose critics are measured: one of the zoo, from true state, with critics beside it."""
    trained: int = 3
    """Largest number of cubes that it was trained with, M."""
    cubes: int = 7
    """Largest number of cubes that it is tested with."""
    episodes: int = 24
    """Episodes per number of cubes."""
    fit_episodes: int = 32
    """Episodes per number of cubes up to M, for the critics that are fitted to returns."""
    fit_updates: int = 400
    """Gradient steps of each of these."""
    toy_updates: int = 1500
    """Gradient steps of each critic of the toy MDP."""
    cache: bool = True
    """Reuse the numbers in OUT; --no-cache measures all of them again."""

    def __post_init__(self) -> None:
        """Refuse values out of range."""
        for name in ("episodes", "fit_episodes", "fit_updates", "toy_updates"):
            check_int(name, getattr(self, name), 1)
        check_int("trained", self.trained, 2)
        check_int("cubes", self.cubes, self.trained)


def run(argv: list[str]) -> None:
    """Measure what is missing, draw, and write the page."""
    config = tyro.cli(TheoryConfig, prog="jostle theory", args=argv)
    page = config.out.parent / f"{config.out.name}.md"
    check_output(page)
    check_output(config.out, folder=True)
    from jostle.reports.theory_figures import draw_figures  # before the work: it needs an extra
    from jostle.reports.theory_page import write_page
    from jostle.theory import study

    numbers = _stored(config) if config.cache else {}
    config.out.mkdir(parents=True, exist_ok=True)

    # What is done is kept, so that an interruption loses one part at most
    parts: dict[str, Callable[[], Any]] = {
        "growth": study.growth,
        "tightness": study.tightness,
        "broken": study.broken,
        "toy": lambda: study.toy(_say, config.toy_updates),
        "critics": lambda: _critics(config),
    }
    for name, measure in parts.items():
        if name not in numbers:
            _say(name)
            numbers[name] = measure()
            write_json(config.out / "numbers.json", numbers)
    draw_figures(numbers, config.out)
    write_page(numbers, page, f"jostle theory {' '.join(argv)}".strip())
    print(f"written: {page}, {config.out}/")


def _stored(config: TheoryConfig) -> dict[str, Any]:
    path = config.out / "numbers.json"
    if not path.is_file():
        return {}
    try:
        numbers: dict[str, Any] = json.loads(path.read_text())
    except ValueError as error:
        raise BadValueError(
            f"{path} is damaged ({error}): remove it, or use --no-cache."
        ) from error
    return numbers


def _critics(config: TheoryConfig) -> dict[str, Any]:
    """Errors of the agent's own critics, and of critics fitted to the returns of its policy."""
    import torch

    from jostle.theory.critics import fit_critics, measure_critics

    torch.set_num_threads(1)
    agent = _load_with_critics(config.agent)
    critics = {f"{config.agent} (TD3)": agent}
    fit = [
        _visits(agent, n, config.fit_episodes, _TRAIN_SEED) for n in range(1, config.trained + 1)
    ]
    for values in ("per-entity", "pooled"):
        _say(f"fitting critics: {values}")
        critics[f"{values}, fitted to returns"] = fit_critics(
            agent, fit, values, config.fit_updates
        )
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in critics}
    for cubes in range(1, config.cubes + 1):
        _say(f"returns with {cubes} cubes")
        visits = _visits(agent, cubes, config.episodes, 0)
        for name, critic in critics.items():
            rows[name].append(asdict(measure_critics(critic, visits)))
    return {
        "agent": config.agent,
        "trained": config.trained,
        "gamma": agent.config.gamma,
        "episodes": config.episodes,
        "fit_episodes": config.fit_episodes,
        "fit_updates": config.fit_updates,
        "errors": rows,
    }


def _load_with_critics(name: str) -> "TD3Agent":
    """An agent of the zoo with its critics."""
    from jostle.agents.td3 import TD3Agent
    from jostle.core.checkpoint import load
    from jostle.runs.run_dir import critics_file
    from jostle.zoo.agents import find_weights_file, load_zoo_agent

    weights = find_weights_file(name)
    require(
        critics_file(weights).is_file(),
        f"'{name}' has no critics beside its weights: name an agent that has, such as "
        "three-cubes-state-td3.",
    )
    agent = load_zoo_agent(name)[1]
    require(
        isinstance(agent, TD3Agent) and agent.sensor is None,
        f"'{name}' does not act from true state, and returns are compared object by object.",
    )
    assert isinstance(agent, TD3Agent)
    agent.load_weights(load(weights)[0] | load(critics_file(weights))[0])
    return agent


def _visits(agent: "TD3Agent", cubes: int, episodes: int, seed: int) -> "Visits":
    """States that the agent visits with a number of cubes."""
    from jostle.envs.vector import TabletopVectorEnv
    from jostle.theory.critics import visit
    from jostle.training.observers import make_observer

    env = TabletopVectorEnv(episodes, "NCubes", objects=cubes, autoreset_mode="Disabled")
    try:
        return visit(agent, make_observer(agent.net, env), env, seed)
    finally:
        env.close()


def _say(part: str) -> None:
    print_progress(f"measuring: {part}")

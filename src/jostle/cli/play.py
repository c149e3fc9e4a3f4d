"""`jostle play`: the playground in the browser."""

import webbrowser
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from jostle.cli.web_page import has_display, listen, print_address
from jostle.core.checks import check_int, check_output
from jostle.core.errors import require
from jostle.core.extras import require_packages
from jostle.tasks.catalog import TASKS
from jostle.tasks.vary import parse_vary

if TYPE_CHECKING:
    from jostle.playground.setup import PlaySetup


@dataclass(frozen=True, kw_only=True)
class PlayConfig:
    """Play with an agent in the browser: drag goals, push things yourself, watch it recover."""

    task: Annotated[str, tyro.conf.Positional] = "three-cubes"
    """Name of a task (see 'jostle tasks')."""
    agent: str | None = None
    """Agent: oracle, random, you (keyboard), a name of the zoo, a run directory or a weights file;
    by default the zoo's agent for the task."""
    objects: int | None = None
    """Number of objects; the task's own number by default."""
    vary: tuple[str, ...] = ()
    """What differs from the task: factors such as shape=star mass=x20 color=held-out light=0.7;
    docs/tasks.md lists them."""
    seed: int = 0
    """Seed of the first episode."""
    host: str = "127.0.0.1"
    """Address to listen at; others than this machine reach it only if you give another one."""
    port: int = 0
    """Port to listen at; 0 takes a free one."""
    browser: bool = True
    """Open the page in a browser, if there is one."""
    out: Path = Path("playground")
    """Folder for films and episodes that the page saves."""
    runs: Path = Path("runs")
    """Folder with your own runs, which the page lists beside the zoo."""

    def __post_init__(self) -> None:
        """Refuse values out of range."""
        parse_vary(self.vary)
        check_int("seed", self.seed, 0)
        check_int("port", self.port, 0)
        require(self.port < 65536, f"A port is at most 65535, not {self.port}.")


def run(argv: list[str]) -> None:
    """Serve the page until Ctrl-C."""
    config = tyro.cli(PlayConfig, prog="jostle play", args=argv)
    require_packages("The playground", "starlette", "uvicorn", "websockets", "PIL")
    check_output(config.out, folder=True)
    listening = listen(config.host, config.port)
    from jostle.playground.serve import WebServer
    from jostle.playground.session import Session

    with listening:
        web = WebServer(config.host, config.out)
        session = Session(_setup(config), web.server.publish, config.out, config.runs)
        address = web.address(listening)
        port = listening.getsockname()[1]
        print_address("The playground", "steer", config.host, address, port)
        if config.browser and has_display():
            webbrowser.open(address)
        web.run(session, listening)


def _setup(config: PlayConfig) -> "PlaySetup":
    from jostle.playground.setup import PlaySetup, default_agent

    task = TASKS[config.task].name
    return PlaySetup(
        task=task,
        agent=default_agent(task) if config.agent is None else config.agent,
        objects=config.objects,
        vary=" ".join(config.vary),
        seed=config.seed,
    )

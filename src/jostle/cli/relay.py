"""`jostle relay`: let the queue of trainings go on while the machine has nothing else to do."""

import time
from dataclasses import dataclass
from pathlib import Path

import tyro

from jostle.cli.stopping import Stopper
from jostle.training.rounds import StopAskedError
from jostle.zoo.relay import Relay, read_queue


@dataclass(frozen=True, kw_only=True)
class RelayConfig:
    """Go on with the most wanted training, judge it, keep better weights, repeat."""

    queue: Path = Path("recipes/queue.toml")
    """The trainings, most wanted first."""
    runs: Path = Path("runs/relay")
    """Folder for the runs; a file PAUSE in it pauses the relay between rounds."""
    minutes: float | None = None
    """Stop after so many minutes; without it, when everything is done."""
    slice: float = 20.0
    """Minutes of one turn."""
    threads: int = 0
    """Threads of new runs; 0 takes one per core. Two relays of one thread do more than one of two,
    each with its own folder and queue."""
    episodes: int = 400
    """Fixed episodes on which weights are compared."""


def run(argv: list[str]) -> None:
    """Work through the queue until stopped."""
    config = tyro.cli(RelayConfig, prog="jostle relay", args=argv)
    stopper = Stopper()
    relay = Relay(
        read_queue(config.queue),
        config.runs,
        tell=_say,
        between=stopper.check,
        episodes=config.episodes,
        threads=config.threads,
    )
    end = time.monotonic() + 60 * config.minutes if config.minutes else float("inf")
    try:
        while (left := end - time.monotonic()) > 0 and (wanted := relay.next()) is not None:
            relay.turn(wanted, min(config.slice, left / 60))
    except StopAskedError:
        _say("stopped")
        return
    _say("nothing left to do" if relay.next() is None else "time is over")


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)

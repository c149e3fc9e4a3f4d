"""`jostle zoo list | show NAME`: the weights that come with the package."""

from dataclasses import dataclass
from typing import Annotated, Literal

import tyro

from jostle.zoo.shelf import find, shelf


@dataclass(frozen=True, kw_only=True)
class ZooConfig:
    """Look at the weights that come with the package."""

    what: Annotated[Literal["list", "show"], tyro.conf.Positional] = "list"
    """list them all, or show one card."""
    name: Annotated[str, tyro.conf.Positional] = ""
    """Whose card to show."""


def run(argv: list[str]) -> None:
    """Print the shelf or a card."""
    config = tyro.cli(ZooConfig, prog="jostle zoo", args=argv)
    if config.what == "show":
        entry = find(config.name)
        print(entry.card.read_text())
        print(f"weights: {entry.weights} ({entry.size() / 2**20:.1f} MiB)")
        return
    held = shelf()
    for entry in held.values():
        print(f"{entry.name:32} {entry.size() / 2**20:5.1f} MiB  {entry.headline()}")
    if not held:
        print("The shelf is empty.")

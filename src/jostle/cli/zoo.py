"""`jostle zoo list | show NAME | add NAME RUN | tune NAME`: weights that come along."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from jostle.core.errors import require
from jostle.core.rundir import RunDir
from jostle.zoo.shelf import find, shelf


@dataclass(frozen=True, kw_only=True)
class ZooConfig:
    """Look at the weights that come with the package."""

    what: Annotated[Literal["list", "show", "add", "tune"], tyro.conf.Positional] = "list"
    """list them all, show one card, add the best weights of a run if they are better, or tune how
    restless an agent is used."""
    name: Annotated[str, tyro.conf.Positional] = ""
    """Whose card to show, whom to tune, or what to call the new weights."""
    run: Annotated[Path | None, tyro.conf.Positional] = None
    """Folder of the run to add."""
    episodes: int = 400
    """Fixed episodes on which new and old agents are compared."""
    final: bool = False
    """Take an agent's weights of the last examination instead of those of the best one."""
    restless: float | None = None
    """Use added weights with noise of this deviation; as they were trained by default."""
    levels: tuple[float, ...] = (0.0, 0.02, 0.04, 0.06)
    """Deviations of noise to try when an agent is tuned."""
    trials: int = 200
    """Episodes per level, none of which is among those that decide."""
    probe: tuple[Path, ...] = ()
    """Folders of frames with truth on which new and old encoders are compared."""


def run(argv: list[str]) -> None:
    """Print the shelf or a card."""
    config = tyro.cli(ZooConfig, prog="jostle zoo", args=argv)
    if config.what == "show":
        entry = find(config.name)
        print(entry.card.read_text())
        print(f"weights: {entry.weights} ({entry.size() / 2**20:.1f} MiB)")
        return
    if config.what == "add":
        require(bool(config.name) and config.run is not None, "Say: jostle zoo add NAME RUN.")
        assert config.run is not None
        _add(config, RunDir(config.run))
        return
    if config.what == "tune":
        from jostle.zoo.tuning import tune

        tune(config.name, config.levels, print, trials=config.trials, episodes=config.episodes)
        return
    held = shelf()
    for entry in held.values():
        print(f"{entry.name:32} {entry.size() / 2**20:5.1f} MiB  {entry.headline()}")
    if not held:
        print("The shelf is empty.")


def _add(config: ZooConfig, run: RunDir) -> None:
    from jostle.zoo.keeping import keep_if_better, weights_of
    from jostle.zoo.keeping_encoders import is_encoder_run, keep_encoder_if_better

    if is_encoder_run(run):
        keep_encoder_if_better(config.name, run, print, folders=config.probe)
    else:
        weights = weights_of(run, config.final, config.restless)
        keep_if_better(config.name, run, print, episodes=config.episodes, weights=weights)

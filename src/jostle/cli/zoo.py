"""`jostle zoo list | show NAME | add NAME RUN | tune NAME | rescore NAME`: pretrained models."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from jostle.core.errors import require
from jostle.runs.run_dir import RunDir
from jostle.zoo.registry import find_entry, registry


@dataclass(frozen=True, kw_only=True)
class ZooConfig:
    """List, show, add, tune or score the models that come with the package."""

    action: Annotated[Literal["list", "show", "add", "tune", "rescore"], tyro.conf.Positional] = (
        "list"
    )
    """list all models, show one card, add the best weights of a run if they are better than the
    registered ones, tune the evaluation noise of an agent, or rescore: evaluate an agent again and
    write its card anew."""
    name: Annotated[str, tyro.conf.Positional] = ""
    """Name of the model."""
    run: Annotated[Path | None, tyro.conf.Positional] = None
    """Run directory to add."""
    episodes: int = 400
    """Fixed episodes on which new and registered agents are compared."""
    final: bool = False
    """Add the final weights of an agent instead of those with the best evaluation."""
    eval_noise: float | None = None
    """Standard deviation of the evaluation noise of the added agent; that of its run by default."""
    levels: tuple[float, ...] = (0.0, 0.02, 0.04, 0.06)
    """Standard deviations of evaluation noise to try with tune."""
    trials: int = 200
    """Episodes per noise level; others than the fixed ones that decide."""
    probe: tuple[Path, ...] = ()
    """Folders of frames with ground truth on which new and registered encoders are compared."""


def run(argv: list[str]) -> None:
    """List models or carry out the action."""
    config = tyro.cli(ZooConfig, prog="jostle zoo", args=argv)
    if config.action == "show":
        entry = find_entry(config.name)
        print(entry.card.read_text())
        print(f"weights: {entry.weights} ({entry.size() / 2**20:.1f} MiB)")
        return
    if config.action == "add":
        require(bool(config.name) and config.run is not None, "Usage: jostle zoo add NAME RUN.")
        assert config.run is not None
        _add(config, RunDir(config.run))
        return
    if config.action == "tune":
        from jostle.zoo.tuning import tune

        tune(config.name, config.levels, print, trials=config.trials, episodes=config.episodes)
        return
    if config.action == "rescore":
        from jostle.zoo.promote import rescore_agent

        rescore_agent(config.name, print, episodes=config.episodes)
        return
    models = registry()
    for entry in models.values():
        print(f"{entry.name:32} {entry.size() / 2**20:5.1f} MiB  {entry.headline()}")
    if not models:
        print("The zoo is empty.")


def _add(config: ZooConfig, run: RunDir) -> None:
    from jostle.zoo.promote import promote_agent, run_weights
    from jostle.zoo.promote_encoders import is_encoder_run, promote_encoder

    if is_encoder_run(run):
        promote_encoder(config.name, run, print, folders=config.probe)
    else:
        weights = run_weights(run, config.final, config.eval_noise)
        promote_agent(config.name, run, print, episodes=config.episodes, weights=weights)

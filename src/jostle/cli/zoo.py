"""`jostle zoo list | show | add | remove | tune | rescore`: trained models."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from jostle.core.checks import check_int, check_number
from jostle.core.errors import BadValueError, require
from jostle.runs.run_dir import RunDir
from jostle.zoo.folders import WEIGHTS_DIR, user_zoo
from jostle.zoo.registry import check_new_name, find_entry, registry


@dataclass(frozen=True, kw_only=True)
class ZooConfig:
    """List and show trained models: those of the package and your own. Change your own.

    Your own models are in the folder JOSTLE_ZOO, by default in the data folder of the platform
    (~/.local/share/jostle/zoo on Linux).
    """

    action: Annotated[
        Literal["list", "show", "add", "remove", "tune", "rescore"], tyro.conf.Positional
    ] = "list"
    """list all models, show one card, add the best weights of a run if they are better than the
    registered ones, remove a model of yours, tune the evaluation noise of an agent of yours, or
    rescore: evaluate it again and write its card anew."""
    name: Annotated[str, tyro.conf.Positional] = ""
    """Name of the model."""
    run: Annotated[Path | None, tyro.conf.Positional] = None
    """Run directory to add."""
    zoo: Path | None = None
    """Folder of another zoo to use instead of your own; list and show look there alone."""
    yes: bool = False
    """Remove without asking."""
    episodes: int = 400
    """Fixed episodes on which new and registered agents are compared."""
    final: bool = False
    """Add the final weights of an agent instead of those with the best evaluation."""
    critics: bool = False
    """Also add the critics and target networks, for trainings that start with --carry all."""
    eval_noise: float | None = None
    """Standard deviation of the evaluation noise of the added agent; that of its run by default."""
    levels: tuple[float, ...] = (0.0, 0.02, 0.04, 0.06)
    """Standard deviations of evaluation noise to try with tune."""
    trials: int = 200
    """Episodes per noise level; others than the fixed ones that decide."""
    probe: tuple[Path, ...] = ()
    """Folders of frames with ground truth on which new and registered encoders are compared."""

    def __post_init__(self) -> None:
        """Refuse values out of range."""
        check_int("episodes", self.episodes, 1)
        check_int("trials", self.trials, 1)
        for std in (*self.levels, *(() if self.eval_noise is None else (self.eval_noise,))):
            check_number("evaluation noise", std, low=0)


def run(argv: list[str]) -> None:
    """Carry out the action."""
    config = tyro.cli(ZooConfig, prog="jostle zoo", args=argv)
    require(
        config.action == "list" or bool(config.name),
        f"Name a model: jostle zoo {config.action} NAME{' RUN' * (config.action == 'add')}.",
    )
    actions = {
        "list": _list, "show": _show, "add": _add, "remove": _remove, "tune": _tune,
        "rescore": _rescore,
    }  # fmt: skip
    actions[config.action](config)


def _list(config: ZooConfig) -> None:
    folders = [WEIGHTS_DIR, user_zoo()] if config.zoo is None else [config.zoo]
    listed: set[str] = set()
    for folder in folders:
        for entry in registry(folder).values():
            hidden = " (hidden by the package's model of this name)" * (entry.name in listed)
            listed.add(entry.name)
            size = f"{entry.size() / 2**20:5.1f} MiB"
            print(f"{entry.name:42} {size}  {entry.source:7}  {entry.headline()}{hidden}")
    if not listed:
        print("The zoo is empty.")
    if config.zoo is None:
        print(
            f"\npackage: {WEIGHTS_DIR}\nuser:    {user_zoo()} (JOSTLE_ZOO chooses another folder)"
        )


def _show(config: ZooConfig) -> None:
    entry = find_entry(config.name, config.zoo)
    print(entry.card.read_text() if entry.card.is_file() else entry.headline())
    print(f"weights: {entry.weights} ({entry.size() / 2**20:.1f} MiB, {entry.source} zoo)")


def _add(config: ZooConfig) -> None:
    require(config.run is not None, "Name a run directory: jostle zoo add NAME RUN.")
    assert config.run is not None
    run, zoo = RunDir(config.run), config.zoo or user_zoo()
    check_new_name(config.name, zoo)
    run.read_experiment()

    from jostle.zoo.promote import promote_agent, run_weights
    from jostle.zoo.promote_encoders import is_encoder_run, promote_encoder

    if is_encoder_run(run):
        promote_encoder(config.name, run, print, zoo, config.probe)
    else:
        weights = run_weights(run, config.final, config.eval_noise)
        critics = config.critics
        promote_agent(config.name, run, print, zoo, config.episodes, weights, critics)
    print(f"zoo: {zoo}")


def _remove(config: ZooConfig) -> None:
    from jostle.zoo.remove import removable_files, remove_files

    files = removable_files(config.name, config.zoo)
    if not config.yes:
        require(
            sys.stdin.isatty(),
            f"This is no terminal to ask in: remove '{config.name}' with --yes.",
        )
        print("\n".join(map(str, files)))
        if input("Remove these files? [y/N] ").strip().lower() not in ("y", "yes"):
            raise BadValueError("Nothing was removed.")
    remove_files(files)
    print(f"removed: {config.name} ({len(files)} files in {files[0].parent})")


def _tune(config: ZooConfig) -> None:
    from jostle.zoo.tuning import tune

    tune(config.name, config.levels, print, config.zoo, config.trials, config.episodes)


def _rescore(config: ZooConfig) -> None:
    from jostle.zoo.promote import rescore_agent

    rescore_agent(config.name, print, config.zoo, config.episodes)

"""Begin a training, or go on with one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from jostle.agents.saving import load_weights
from jostle.core.checkpoint import load
from jostle.core.errors import BadValueError, JostleError
from jostle.core.protocols import Policy
from jostle.core.rundir import RunDir
from jostle.envs.vector import TabletopVectorEnv
from jostle.oracles.catalog import SCRIPTED
from jostle.particles.catalog import Model, telling_less
from jostle.particles.saving import load_encoder, save_encoder
from jostle.training.distill import DistillLoop
from jostle.training.experiment import Experiment, differences, read_experiment
from jostle.training.loop import OnlineLoop
from jostle.training.rounds import Report, Rounds
from jostle.training.workshop import Workshop, open_workshop


class AnotherExperimentError(JostleError, ValueError):
    """A run that was asked to go on as something else."""


Find = Callable[[str, TabletopVectorEnv], Policy]
"""From a name to an agent that can teach."""


Look = Callable[[str], Model]
"""From a word to an encoder."""


def from_file(word: str) -> Model:
    """Know files and runs only."""
    path = Path(word)
    return load_encoder(RunDir(path).best if path.is_dir() else path)[0]


def scripted(name: str, env: TabletopVectorEnv) -> Policy:
    """Know scripts only."""
    return SCRIPTED[name](env.recipe.task)


def begin(
    experiment: Experiment,
    folder: Path,
    report: Report,
    weights: Path | None = None,
    find: Find = scripted,
    look: Look = from_file,
) -> Rounds:
    """Start a new run; `weights`, a file or a run, gives what networks it has to start from."""
    if experiment.td3.anchor > 0 and weights is None:
        raise BadValueError(
            "An anchor holds the actor to the weights that training begins with: name them with "
            "--from, or train without one (--anchor 0)."
        )
    run = RunDir(folder)
    encoder = None
    if experiment.encoder:
        encoder = telling_less(look(experiment.encoder), experiment.hide)
    shop = open_workshop(experiment, encoder)
    history: list[dict[str, Any]] = []
    if weights is not None:
        tensors, meta = load(RunDir(weights).best if weights.is_dir() else weights)
        load_weights(shop.agent, tensors, deepen=True)
        history = meta.get("history", [])
    rounds = _lane(experiment, shop, run, report, find)
    run.create(experiment.to_dict())
    run.write_history(history)
    if encoder is not None:  # a copy of its own: the run can go on wherever the original went
        save_encoder(run.encoder, encoder, {})
    return rounds


def go_on(
    folder: Path, report: Report, wanted: Experiment | None = None, find: Find = scripted
) -> Rounds:
    """Continue a run from its last checkpoint; `wanted`, if given, must be the same experiment."""
    run = RunDir(folder)
    experiment = read_experiment(run.read_experiment())
    if wanted is not None and (differing := differences(experiment, wanted)):
        raise AnotherExperimentError(
            f"The run in {folder} is another experiment:\n  " + "\n  ".join(differing)
        )
    encoder = load_encoder(run.encoder)[0] if experiment.encoder else None
    rounds = _lane(experiment, open_workshop(experiment, encoder), run, report, find)
    if run.last.exists():
        rounds.resume()
    else:
        run.trim(0)
    return rounds


def _lane(
    experiment: Experiment, shop: Workshop, run: RunDir, report: Report, find: Find
) -> Rounds:
    if experiment.training.lane == "distill":
        if experiment.net.kind == "smorl":
            raise BadValueError(
                "SMORL sees one goal at a time and cannot imitate an oracle that sees all of them. "
                "Train it in the lane 'scratch' or 'demos'."
            )
        return DistillLoop(
            experiment, shop, run, report, find(experiment.training.teacher, shop.env)
        )
    return OnlineLoop(experiment, shop, run, report)

"""Begin a training, or go on with one."""

from pathlib import Path

from jostle.agents.saving import load_weights
from jostle.core.checkpoint import load
from jostle.core.errors import BadValueError, JostleError
from jostle.core.rundir import RunDir
from jostle.oracles.catalog import oracle
from jostle.training.distill import DistillLoop
from jostle.training.experiment import Experiment, differences, read_experiment
from jostle.training.loop import OnlineLoop
from jostle.training.rounds import Report, Rounds
from jostle.training.workshop import Workshop, open_workshop


class AnotherExperimentError(JostleError, ValueError):
    """A run that was asked to go on as something else."""


def begin(
    experiment: Experiment, folder: Path, report: Report, weights: Path | None = None
) -> Rounds:
    """Start a new run; `weights` gives actor, normalizer and, if there, critics to start from."""
    run = RunDir(folder)
    shop = open_workshop(experiment)
    if weights is not None:
        tensors, _ = load(weights)
        load_weights(shop.agent, tensors)
    run.create(experiment.to_dict())
    return _lane(experiment, shop, run, report)


def go_on(folder: Path, report: Report, wanted: Experiment | None = None) -> Rounds:
    """Continue a run from its last checkpoint; `wanted`, if given, must be the same experiment."""
    run = RunDir(folder)
    experiment = read_experiment(run.read_experiment())
    if wanted is not None and (differing := differences(experiment, wanted)):
        raise AnotherExperimentError(
            f"The run in {folder} is another experiment:\n  " + "\n  ".join(differing)
        )
    rounds = _lane(experiment, open_workshop(experiment), run, report)
    if run.last.exists():
        rounds.resume()
    else:
        run.trim(0)
    return rounds


def _lane(experiment: Experiment, shop: Workshop, run: RunDir, report: Report) -> Rounds:
    if experiment.training.lane == "distill":
        if experiment.net.kind == "smorl":
            raise BadValueError(
                "SMORL sees one goal at a time and cannot imitate an oracle that sees all of them. "
                "Train it in the lane 'scratch' or 'demos'."
            )
        return DistillLoop(experiment, shop, run, report, oracle(shop.env.recipe.task))
    return OnlineLoop(experiment, shop, run, report)

"""A curriculum over the number of objects: stages that each continue the one before.

A stage is a run of its own with fewer objects, in a folder `stages` of the run. It hands actor,
critics, target networks and normalizers to the next.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from jostle.core.errors import require
from jostle.runs.run_dir import RunDir
from jostle.runs.trainer import Report
from jostle.scene.colors import COLORS
from jostle.tasks.catalog import task_with
from jostle.training.agent_trainer import AgentTrainer
from jostle.training.experiment import Experiment


@dataclass(frozen=True)
class Stage:
    """One training of a curriculum."""

    experiment: Experiment
    """What is trained."""
    run: RunDir
    """Where."""


OpenStage = Callable[[Stage, RunDir | None, Report], AgentTrainer]
"""Starts or resumes a stage; a new one takes over from the run before, if any."""


def stages_of(experiment: Experiment, run: RunDir) -> list[Stage]:
    """All stages of an experiment with a curriculum; the last is the experiment itself."""
    objects = experiment.max_objects
    numbers = experiment.curriculum.stage_objects
    require(
        all(number < objects for number in numbers),
        f"The stages of a curriculum have fewer objects than {experiment.name} ({objects}), not "
        f"{numbers}.",
    )
    stages = [
        Stage(_stage_experiment(experiment, index), run.stage(number))
        for index, number in enumerate(numbers)
    ]
    return [*stages, Stage(experiment, run)]


def _stage_experiment(experiment: Experiment, index: int) -> Experiment:
    """The experiment with fewer objects; the first stage starts with random actions."""
    config, training = experiment.curriculum, experiment.training
    random_episodes = config.random_episodes_first if index == 0 else training.random_episodes
    number = config.stage_objects[index]
    task = task_with(experiment.task, number)
    require(
        task is not None,
        f"{experiment.task} cannot be trained with {number} objects first: it has other numbers "
        "of objects. Name others with --stage-objects.",
    )
    assert task is not None
    return replace(
        experiment,
        name=f"{experiment.name}-stage-{number}",
        task=task,
        objects=number,
        explore=replace(
            experiment.explore,
            epsilon=config.stage_epsilon[index],
            sigma=config.stage_sigma[index],
            reach_prob=config.stage_reach_prob[index],
        ),
        training=replace(
            training,
            curriculum=False,
            env_steps=config.stage_env_steps[index],
            horizon=config.stage_horizons[index],
            random_episodes=random_episodes,
            lr_decay_fraction=0.0,
            stop_at_success=config.stage_success[index],
        ),
        **_stage_colors(experiment),
    )


def _stage_colors(experiment: Experiment) -> dict[str, Any]:
    """In images every stage draws from all colors of the last, so that it has met each of them."""
    if not experiment.encoder or experiment.colors == "random":
        return {}
    return {"colors": "random", "palette": tuple(COLORS)[: experiment.max_objects]}


class CurriculumTrainer:
    """Trains the stages one after the other; to its callers it is one training."""

    counter: ClassVar[str] = "iteration"
    axis: ClassVar[str] = "env_steps"

    def __init__(self, stages: list[Stage], open_stage: OpenStage, report: Report) -> None:
        """Train `stages`; rows of metrics count the steps of all of them."""
        self._stages, self._open_stage, self._report = stages, open_stage, report
        self._finished_steps = 0
        self.run_dir = stages[-1].run
        self._current = 0
        self._trainer: AgentTrainer | None = None
        self._skip_finished()

    @property
    def total(self) -> int:
        """Environment steps of all stages, if none ends early."""
        left = sum(stage.experiment.training.env_steps for stage in self._stages[self._current :])
        return self._finished_steps + left

    @property
    def done(self) -> bool:
        """Whether the last stage is done."""
        return self._trainer is not None and self._last and self._trainer.done

    @property
    def counters(self) -> dict[str, Any]:
        """Counters of the present stage, with the environment steps of all stages so far."""
        if self._trainer is None:
            self._trainer = self._open()
        counters = self._trainer.counters
        return {**counters, "env_steps": self._finished_steps + counters["env_steps"]}

    def run(self) -> None:
        """Train until the last stage is done or a stop is requested; then all is saved."""
        while True:
            trainer = self._trainer = self._trainer or self._open()
            trainer.run()
            if self._last:
                return
            # The next stage needs the weights of this one, not its replay buffer
            self._stages[self._current].run.last.unlink(missing_ok=True)
            self._trainer = None
            self._skip_finished()

    @property
    def _last(self) -> bool:
        return self._current == len(self._stages) - 1

    def _open(self) -> AgentTrainer:
        stage = self._stages[self._current]
        before = self._stages[self._current - 1].run if self._current else None
        return self._open_stage(stage, before, self._report_stage)

    def _skip_finished(self) -> None:
        """Move on to the first stage without final weights."""
        while not self._last and self._stages[self._current].run.final.is_file():
            rows = self._stages[self._current].run.rows()
            self._finished_steps += rows[-1]["env_steps"] if rows else 0
            self._current += 1

    def _report_stage(self, row: dict[str, Any]) -> None:
        if "env_steps" in row:
            steps = self._finished_steps + row["env_steps"]
            row = {**row, "env_steps": steps, "stage": self._current + 1}
        self._report(row)

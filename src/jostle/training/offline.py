"""Offline training: update on batches of recorded episodes; environments only evaluate."""

from typing import Any, ClassVar

from jostle.core.errors import require
from jostle.core.protocols import Stateful
from jostle.runs.config import ConfigMismatchError
from jostle.runs.run_dir import RunDir
from jostle.runs.trainer import Report
from jostle.training.agent_trainer import AgentTrainer
from jostle.training.components import Components
from jostle.training.experiment import Experiment
from jostle.training.offline_data import open_recording, read_episodes


class OfflineTrainer(AgentTrainer):
    """The methods `bc`, `iql` and `iql-privileged`: the replay buffer is a recording."""

    axis: ClassVar[str] = "updates"

    def __init__(
        self, experiment: Experiment, components: Components, run: RunDir, report: Report
    ) -> None:
        """Read the recording into the replay buffer."""
        super().__init__(experiment, components, run, report)
        self.counters["updates"] = 0
        self._recorded = open_recording(experiment, components.env)
        limit = experiment.offline.data_episodes
        components.buffer.capacity = min(len(self._recorded), limit or len(self._recorded))
        for episodes in read_episodes(self._recorded, components.collector, limit):
            components.buffer.add(episodes)
            components.agent.observe(episodes)

    @property
    def done(self) -> bool:
        """Whether all updates are done, or the task is solved well enough to stop."""
        return bool(self.counters.get("solved", False) or self.counters["updates"] >= self.total)

    @property
    def total(self) -> int:
        """Updates in total."""
        return self.experiment.offline.updates

    def iterate(self) -> None:
        """Update on some batches."""
        left = self.total - self.counters["updates"]
        updates = min(self.experiment.offline.iteration_updates, left)
        self._metrics = self.learn(updates)
        self.counters["iteration"] += 1
        self.counters["updates"] += updates

    def parts(self) -> dict[str, Stateful]:
        """Everything with a state; the data stays where it is."""
        return {"agent": self.components.agent, "sampler": self.components.sampler}

    def describe(self) -> dict[str, Any]:
        """What an agent's file says of it, and which data it learned from."""
        data = {"folder": self.experiment.offline.data, "digest": self._recorded.digest}
        return {**super().describe(), "data": data}

    def check_budget(self) -> None:
        """Every training has at least one update."""

    def check_checkpoint(self, meta: dict[str, Any]) -> None:
        """Refuse to resume with another config, or with other data."""
        super().check_checkpoint(meta)
        if meta.get("data", {}).get("digest") != self._recorded.digest:
            raise ConfigMismatchError(
                f"The recording in {self._recorded.folder} is not the one that the run in "
                f"{self.run_dir.path} has learned from: its content has changed. Restore it, or "
                "start a new run."
            )


def check_data(experiment: Experiment) -> None:
    """Refuse offline methods without data."""
    require(
        experiment.offline.data != "",
        f"The method '{experiment.training.method}' learns from recorded episodes: name a folder "
        "of 'jostle record' with --data.",
    )
    require(
        experiment.hindsight.goal_render_every == 0,
        "A recording has no rendered goals. Train with --goal-render-every 0.",
    )
    require(
        not experiment.training.curriculum,
        "A recording has one number of objects. Train with --no-curriculum.",
    )

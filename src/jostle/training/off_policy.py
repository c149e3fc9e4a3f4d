"""Off-policy training: collect episodes, store them, update on relabeled batches."""

from jostle.core.protocols import Stateful
from jostle.runs.run_dir import RunDir
from jostle.runs.trainer import Report
from jostle.training.agent_trainer import AgentTrainer
from jostle.training.behavior import BehaviorPolicy
from jostle.training.components import Components
from jostle.training.env_groups import EnvGroup, LocalGroups
from jostle.training.experiment import Experiment


class OffPolicyTrainer(AgentTrainer):
    """The methods `td3`, `td3-demos` and `td3-privileged`."""

    def __init__(
        self, experiment: Experiment, components: Components, run: RunDir, report: Report
    ) -> None:
        """Collect from the components' source; without one, in their environments."""
        super().__init__(experiment, components, run, report)
        self._source = components.source or LocalGroups([_only_group(experiment, components)])

    @property
    def warmup_episodes(self) -> int:
        """Episodes of random actions before the first update."""
        return self.experiment.training.random_episodes

    def parts(self) -> dict[str, Stateful]:
        """Everything with a state; the source has the randomness of exploration."""
        parts = super().parts()
        del parts["collector"]
        return {**parts, "collector": self._source}

    def close(self) -> None:
        """End the workers, too."""
        super().close()
        self._source.close()

    def iterate(self) -> None:
        """Collect one episode per environment and learn."""
        episodes, infos = self._source.collect(self.counters["episodes"])
        self.store(episodes)
        self._metrics = {f"train_{name}": value for name, value in infos.items()}
        if self.collected_enough:
            self._metrics |= self.learn(self.num_updates())


def _only_group(experiment: Experiment, components: Components) -> EnvGroup:
    """All environments of the components."""
    behavior = BehaviorPolicy(
        experiment, components.env, components.agent, components.rng, components.teacher
    )
    return EnvGroup(components.collector, behavior)

"""Methods and rewards from outside the package: registered, trained, saved, resumed, refused."""

from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from experiments import (  # noqa: E402
    TD3,
    assert_same_tensors,
    metric_rows,
    quiet,
    stop_at,
    tiny,
)
from jostle.agents.base import BaseAgent  # noqa: E402
from jostle.core.checkpoint import CheckpointError, load_into  # noqa: E402
from jostle.core.entities import Entities  # noqa: E402
from jostle.core.errors import BadValueError, UnknownNameError  # noqa: E402
from jostle.core.protocols import Agent, Reward, Stateful  # noqa: E402
from jostle.presets.axes import Axes  # noqa: E402
from jostle.rewards.catalog import REWARDS  # noqa: E402
from jostle.runs.trainer import StopRequested  # noqa: E402
from jostle.training.agent_trainer import AgentTrainer  # noqa: E402
from jostle.training.components import observation_spec  # noqa: E402
from jostle.training.dagger import imitation_errors  # noqa: E402
from jostle.training.methods import METHODS, Method, register_method  # noqa: E402
from jostle.training.off_policy import OffPolicyTrainer  # noqa: E402
from jostle.training.start import resume_run, start_run  # noqa: E402
from jostle.zoo.agents import load_policy  # noqa: E402


@pytest.fixture(autouse=True)
def unregister():
    """Forget what a test registers."""
    before = dict(METHODS._entries), dict(REWARDS._entries)
    yield
    METHODS._entries, REWARDS._entries = before


class LinearAgent(BaseAgent):
    """A linear actor that imitates the actions of the batch, the better the more."""

    def __init__(self, experiment, observer, privileged_observer=None, sensor=None) -> None:
        del privileged_observer
        spec = observation_spec(observer)
        super().__init__(experiment.net, spec, sensor, experiment.explore.eval_noise_std)
        (_, count, width), (_, goals, _) = spec.state, spec.goal
        with torch.random.fork_rng():
            torch.manual_seed(experiment.seed)
            self.actor = torch.nn.Linear((count + goals) * width, spec.actions)
        self.optimizer = torch.optim.SGD(self.actor.parameters(), lr=0.01)

    def _actions(self, state: Entities, goal: Entities) -> torch.Tensor:
        inputs = torch.cat((state.values.flatten(1), goal.values.flatten(1)), dim=1)
        return torch.tanh(self.actor(inputs))

    @torch.no_grad()
    def act(self, state: Entities, goal: Entities) -> np.ndarray:
        return self._actions(state, goal).numpy()

    def update(self, batch) -> dict[str, torch.Tensor]:
        actions = self._actions(batch.actor.state, batch.actor.goal)
        errors = (actions - batch.action).square().mean(-1)
        loss = (batch.reward.exp() * errors).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.updates += 1
        return {"loss": loss.detach()}

    def state_dict(self):
        return dict(self.actor.state_dict()), {"updates": self.updates}

    def load_state_dict(self, tensors, meta):
        load_into(self.actor, tensors, "", "actor")
        self.updates = meta["updates"]


class GreedyTrainer(AgentTrainer):
    """A trainer of its own: no exploration, two updates per iteration."""

    def iterate(self) -> None:
        agent = self.components.agent

        def act(observation, state, goal):
            return agent.act(state.to_torch(), goal.to_torch())

        episodes, infos = self.components.collector.collect(act)
        self.store(episodes)
        for _ in range(2):
            log = agent.update(self.components.sampler.sample(8))
        self._metrics = {**infos, **{name: float(value) for name, value in log.items()}}


class SparseReward:
    """0 where every object is within five centimeters of its goal, else -1; reads entities."""

    reads, minimum = "entities", -1.0

    def per_object(self, state: Entities, goal: Entities) -> None:
        del state, goal

    def total(self, state: Entities, goal: Entities) -> np.ndarray:
        gaps = state.values[:, 0, 1:, :2] - goal.values[:, 0, :, :2]  # (B, N, 2)
        near = (np.linalg.norm(gaps, axis=-1) < 0.05).all(-1)
        return np.where(near, 0.0, -1.0).astype(np.float32)


class LinearImitator(LinearAgent):
    """The same, fitted to the labels of a teacher."""

    def predict(self, state: Entities, goal: Entities) -> tuple[torch.Tensor, None]:
        return self._actions(state, goal), None

    def step_actor(self, loss: torch.Tensor) -> None:
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.updates += 1


def register_linear(make_trainer: Any = OffPolicyTrainer, make_agent: Any = LinearAgent) -> None:
    register_method(
        "linear", Method(summary="a toy", make_trainer=make_trainer, make_agent=make_agent)
    )


def linear_experiment(**training):
    """Two iterations of learning."""
    settings = {"env_steps": 2 * 4 * 30, "random_episodes": 0, "save_every": 1, "eval_every": 1}
    return tiny("one-cube", Axes(method="linear"), **{**settings, **training})


@pytest.mark.parametrize("make_trainer", [OffPolicyTrainer, GreedyTrainer])
def test_a_method_from_outside_trains_is_saved_and_resumes_bit_for_bit(make_trainer, tmp_path):
    register_linear(make_trainer)
    start_run(linear_experiment(), tmp_path / "whole", quiet).run()
    with pytest.raises(StopRequested):
        start_run(linear_experiment(), tmp_path / "stopped", stop_at(1)).run()
    resumed = resume_run(tmp_path / "stopped", quiet)
    assert resumed.counters["iteration"] == 1
    assert resumed.components.agent.updates > 0
    resumed.run()
    assert metric_rows(tmp_path / "stopped") == metric_rows(tmp_path / "whole")
    for name in ("last", "best", "final"):
        file = f"checkpoints/{name}.safetensors"
        assert_same_tensors(tmp_path / "whole" / file, tmp_path / "stopped" / file)
    assert not (tmp_path / "whole/checkpoints/final-critics.safetensors").exists()


def test_an_agent_from_outside_is_loaded_by_its_run_and_acts(tmp_path, make_env):
    register_linear()
    trainer = start_run(linear_experiment(), tmp_path / "run", quiet)
    trainer.run()
    env = make_env(3, "OneCube", autoreset_mode="Disabled")
    observation, _ = env.reset(seed=0)
    policy = load_policy(str(tmp_path / "run/checkpoints/final.safetensors"), env)
    actions = policy.act(observation)
    assert actions.shape == (3, 3)
    expected = trainer.components.agent.act(*policy.observe(observation))
    np.testing.assert_array_equal(actions, expected)
    with pytest.raises(BadValueError, match="LinearAgent has no attention"):
        policy.attention(observation)


def test_an_agent_from_outside_is_the_start_of_another_run(tmp_path):
    register_linear()
    first = start_run(linear_experiment(), tmp_path / "first", quiet)
    first.run()
    file = tmp_path / "first/checkpoints/final.safetensors"
    other = replace(linear_experiment(), seed=1)
    second = start_run(other, tmp_path / "second", quiet, file)
    expected = first.components.agent.actor.state_dict()
    for name, tensor in second.components.agent.actor.state_dict().items():
        assert torch.equal(tensor, expected[name])
    with pytest.raises(CheckpointError, match="--carry actor"):
        start_run(other, tmp_path / "third", quiet, file, "all")


def test_a_reward_from_outside_trains_is_saved_and_resumes_bit_for_bit(tmp_path):
    REWARDS.register("sparse", lambda context: SparseReward())
    experiment = tiny(
        "one-cube",
        replace(TD3, values="pooled"),
        reward="sparse",
        env_steps=240,
        random_episodes=0,
        eval_every=9,
    )
    start_run(experiment, tmp_path / "whole", quiet).run()
    with pytest.raises(StopRequested):
        start_run(experiment, tmp_path / "stopped", stop_at(1)).run()
    resumed = resume_run(tmp_path / "stopped", quiet)
    resumed.run()
    file = "checkpoints/last.safetensors"
    assert_same_tensors(tmp_path / "whole" / file, tmp_path / "stopped" / file)
    rewards = resumed.components.sampler.sample(500).reward
    assert set(rewards.tolist()) == {-1.0, 0.0}


class Missing:
    """An attribute that is not there."""

    def __get__(self, instance: Any, owner: Any) -> None:
        raise AttributeError


def without(complete: type, part: str) -> type:
    """The same class without one of its parts."""
    return type("Incomplete", (complete,), {part: Missing()})


@pytest.mark.parametrize("part", ["act", "update", "state_dict", "load_state_dict"])
def test_an_agent_without_a_part_is_refused_by_the_name_of_the_part(part, tmp_path):
    register_linear(make_agent=without(LinearAgent, part))
    with pytest.raises(BadValueError, match=f"'linear' has no '{part}'.*BaseAgent") as caught:
        start_run(linear_experiment(), tmp_path / "run", quiet)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_an_agent_that_is_no_base_agent_learns_where_to_find_the_rest(tmp_path):
    class Bare:
        updates = 0
        act = update = state_dict = load_state_dict = None

    register_linear(make_agent=lambda *parts: Bare())
    with pytest.raises(BadValueError, match=r"Inherit from jostle\.agents\.base\.BaseAgent"):
        start_run(linear_experiment(), tmp_path / "run", quiet)


@pytest.mark.parametrize("part", ["reads", "minimum", "per_object", "total"])
def test_a_reward_without_a_part_is_refused_by_the_name_of_the_part(part, tmp_path):
    incomplete = without(SparseReward, part)
    REWARDS.register("incomplete", lambda context: incomplete())
    with pytest.raises(BadValueError, match=f"'incomplete' has no '{part}'") as caught:
        start_run(tiny(reward="incomplete"), tmp_path / "run", quiet)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_a_reward_that_reads_what_replay_does_not_hold_is_refused(tmp_path):
    class OfFrames(SparseReward):
        reads = "frames"

    REWARDS.register("pixel-match", lambda context: OfFrames())
    with pytest.raises(BadValueError, match=r"'pixel-match' reads 'frames'.*'entities' or"):
        start_run(tiny(reward="pixel-match"), tmp_path / "run", quiet)
    assert not (tmp_path / "run").exists()


def test_unknown_methods_and_rewards_are_named_and_names_are_taken_once(tmp_path):
    with pytest.raises(UnknownNameError, match="no method called 'linear'"):
        linear_experiment()
    with pytest.raises(UnknownNameError, match="no reward called 'sparse'"):
        start_run(tiny(reward="sparse"), tmp_path / "run", quiet)
    with pytest.raises(BadValueError, match="method called 'td3' already"):
        register_method("td3", METHODS["dagger"])


def test_the_methods_of_the_package_keep_the_contract_too(tmp_path):
    agent = start_run(tiny(), tmp_path / "run", quiet).components.agent
    assert isinstance(agent, Agent)
    assert isinstance(agent, Stateful)
    assert isinstance(SparseReward(), Reward)


def test_any_agent_that_can_be_fitted_to_labels_learns_by_dagger(tmp_path):
    method = replace(METHODS["dagger"], make_agent=LinearImitator)
    register_method("linear-dagger", method)
    base = tiny(axes=Axes(method="dagger"), method="linear-dagger", utd_ratio=1.0)
    trainer = start_run(base, tmp_path / "run", quiet)
    agent, untrained = trainer.components.agent, deepcopy(trainer.components.agent)
    trainer.run()
    rows = np.arange(base.td3.batch_size)
    batch = trainer._batch(rows, rows)
    errors = [
        imitation_errors(student.predict(batch.state, batch.goal)[0], batch.labels).mean()
        for student in (untrained, agent)
    ]
    assert errors[1] < 0.9 * errors[0]
    assert agent.updates == metric_rows(tmp_path / "run")[-1]["updates"] > 0


def test_an_agent_that_cannot_be_fitted_to_labels_is_refused_by_dagger(tmp_path):
    register_method("linear-dagger", replace(METHODS["dagger"], make_agent=LinearAgent))
    base = tiny(axes=Axes(method="dagger"), method="linear-dagger")
    with pytest.raises(BadValueError, match="LinearAgent cannot imitate a teacher: add predict"):
        start_run(base, tmp_path / "run", quiet)
    assert not (tmp_path / "run").exists()

"""SMORL: one object at a time, in training and in use."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from experiments import metric_rows, quiet, stop_at, tiny  # noqa: E402
from jostle.presets.axes import Axes  # noqa: E402
from jostle.runs.trainer import StopRequested  # noqa: E402
from jostle.training.components import make_env, make_policy  # noqa: E402
from jostle.training.start import resume_run, start_run  # noqa: E402

SMORL = Axes(method="td3", arch="smorl")


def test_smorl_trains_on_one_object_at_a_time_and_resumes_bit_for_bit(tmp_path):
    experiment = tiny("two-cubes", SMORL)
    start_run(experiment, tmp_path / "whole", quiet).run()
    with pytest.raises(StopRequested):
        start_run(experiment, tmp_path / "stopped", stop_at(4)).run()
    trainer = resume_run(tmp_path / "stopped", quiet)
    trainer.run()
    assert metric_rows(tmp_path / "stopped") == metric_rows(tmp_path / "whole")
    stored = trainer.components.buffer.view()
    states, goals = stored.actor.states.values, stored.actor.goal.values
    assert stored.achieved.shape[2] == stored.desired.shape[1] == goals.shape[2] == 1
    # The first object of a state is the goal's: the same position, the same id
    np.testing.assert_array_equal(states[:, :, 0, 1, :2], stored.achieved[:, :, 0])
    np.testing.assert_array_equal(states[:, 0, 0, 1, 4:], goals[:, 0, 0, 4:])
    assert len(np.unique(states[:, 0, 0, 2, 4:], axis=0)) > 2


@pytest.mark.parametrize("shuffled", [True, False])
def test_smorl_trains_all_objects_whether_or_not_ids_are_shuffled(shuffled, tmp_path):
    experiment = tiny("three-cubes", SMORL)
    training = replace(experiment.training, shuffle_object_ids=shuffled, num_envs=16)
    trainer = start_run(replace(experiment, training=training), tmp_path / "run", quiet)
    observer = trainer.components.collector.observer
    observer.reset(np.arange(16))
    assert set(observer.chosen.tolist()) == {0, 1, 2}
    assert (observer.object_ids == np.arange(3)).all() == (not shuffled)


def test_the_policy_switches_to_objects_that_are_not_at_their_goal(tmp_path):
    trainer = start_run(tiny("three-cubes", SMORL), tmp_path / "run", quiet)
    env = make_env(trainer.experiment, 2)
    policy = make_policy(trainer.components.agent, env)
    observation, _ = env.reset(seed=0)
    observation["achieved_goal"][0, 1] = observation["desired_goal"][0, 1]  # the second is there
    for _ in range(16):
        policy.act(observation)
    assert policy._observer.chosen.tolist() == [2, 1]
    policy.reset()
    assert policy._observer.chosen.tolist() == [0, 0]
    env.close()

"""Schedules of a training: numbers of objects, and step sizes."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from experiments import DAGGER, TD3, quiet, tiny  # noqa: E402
from jostle.core.errors import BadValueError  # noqa: E402
from jostle.training.start import start_run  # noqa: E402


def numbers_of_objects(trainer) -> np.ndarray:
    """How many goals each stored episode has, (E,)."""
    return trainer.components.buffer.view().actor.goal.visible.sum((1, 2))


def test_a_changing_number_of_objects_is_stored_with_masks(tmp_path):
    trainer = start_run(tiny("cubes", DAGGER, horizon=10), tmp_path / "run", quiet)
    for _ in range(3):
        trainer.iterate()
    actor, counts = trainer.components.buffer.view().actor, numbers_of_objects(trainer)
    assert set(counts.tolist()) == {1, 2, 3}
    np.testing.assert_array_equal(actor.states.visible[:, 0].sum((1, 2)), counts + 1)
    assert (actor.goal.values[~actor.goal.visible] == 0).all()


def test_a_fraction_of_training_episodes_may_have_fewer_objects(tmp_path):
    experiment = tiny("two-cubes", DAGGER, horizon=10, fewer_objects_fraction=0.5)
    trainer = start_run(experiment, tmp_path / "run", quiet)
    for _ in range(4):
        trainer.iterate()
    assert set(numbers_of_objects(trainer).tolist()) == {1, 2}
    assert trainer.evaluate()["success"] >= 0  # evaluations have all objects


@pytest.mark.parametrize("axes", [TD3, DAGGER], ids=("td3", "dagger"))
def test_learning_starts_after_so_many_environment_steps(axes, tmp_path):
    experiment = tiny("one-cube", axes, horizon=10, random_episodes=0, learning_starts=80)
    trainer = start_run(experiment, tmp_path / "run", quiet)  # 40 steps per iteration
    updates = []
    for _ in range(4):
        trainer.iterate()
        updates.append(trainer.components.agent.updates)
    assert updates[:2] == [0, 0]
    assert 0 < updates[2] < updates[3]


def test_learning_that_would_never_start_is_refused(tmp_path):
    experiment = tiny("one-cube", learning_starts=720)  # as many as there are in all
    with pytest.raises(BadValueError, match="--learning-starts 720 is not below --env-steps 720"):
        start_run(experiment, tmp_path / "run", quiet)
    assert not (tmp_path / "run").exists()


def test_a_training_ends_when_it_is_solved(tmp_path):
    experiment = tiny("one-cube", DAGGER, horizon=10, eval_every=1, stop_at_success=0.5)
    trainer = start_run(experiment, tmp_path / "run", quiet)
    trainer.counters["solved"] = True
    assert trainer.done


def test_step_sizes_rise_and_fall(tmp_path):
    experiment = tiny(lr_warmup_updates=10, lr_decay_fraction=0.5)
    trainer = start_run(experiment, tmp_path / "run", quiet)
    agent, total = trainer.components.agent, experiment.training.env_steps

    def lr_scale(updates: int, steps: float) -> float:
        agent.updates, trainer.counters["env_steps"] = updates, int(steps)
        trainer.update_lr()
        (actor,), (critic,) = (
            agent.actor_optimizer.param_groups,
            agent.critic_optimizer.param_groups,
        )
        assert actor["lr"] == critic["lr"]
        return actor["lr"] / experiment.td3.lr

    assert lr_scale(0, 0) == pytest.approx(0.1)
    assert lr_scale(100, total * 0.5) == pytest.approx(1.0)
    assert lr_scale(100, total * 0.75) == pytest.approx(0.5)
    assert lr_scale(100, total) == pytest.approx(0.05)

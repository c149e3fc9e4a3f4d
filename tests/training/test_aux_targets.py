"""Auxiliary targets: an imitator learns to predict coordinates, and its actions do not need it."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from experiments import DAGGER, observation_spec, quiet, tiny  # noqa: E402
from jostle.agents.config import TD3Config  # noqa: E402
from jostle.agents.td3 import TD3Agent  # noqa: E402
from jostle.agents.weights import load_weights, net_tensors  # noqa: E402
from jostle.core.entities import Entities  # noqa: E402
from jostle.core.errors import BadValueError  # noqa: E402
from jostle.envs.vector import TabletopVectorEnv  # noqa: E402
from jostle.nets.config import FAST_NET, MLP_NET  # noqa: E402
from jostle.presets.axes import Axes  # noqa: E402
from jostle.presets.experiments import make_experiment  # noqa: E402
from jostle.training.aux_targets import AuxiliaryTargets  # noqa: E402
from jostle.training.dagger import DaggerTrainer  # noqa: E402
from jostle.training.experiment import Experiment  # noqa: E402
from jostle.training.start import start_run  # noqa: E402

SPEC = observation_spec((2, 6, 7), (2, 6, 7))
PIXELS = Axes(obs="pixels", method="dagger")


def with_targets(experiment: Experiment, number: int) -> Experiment:
    """The same experiment with so many auxiliary targets."""
    return replace(experiment, net=replace(experiment.net, aux_targets=number))


def start(folder, aux_targets: int) -> DaggerTrainer:
    """A short imitation of one cube from true state, with fixed object ids."""
    experiment = tiny(
        "one-cube", DAGGER, horizon=6, env_steps=96, utd_ratio=0.5, eval_every=99,
        lr_warmup_updates=0, shuffle_object_ids=False,
    )  # fmt: skip
    experiment = replace(experiment, td3=replace(experiment.td3, batch_size=256))
    return start_run(with_targets(experiment, aux_targets), folder / "run", quiet)


def test_the_actor_learns_to_predict_where_cube_and_goal_are(tmp_path):
    trainer = start(tmp_path, aux_targets=4)
    trainer.run()
    losses = [row["aux_loss"] for row in trainer.run_dir.rows() if "aux_loss" in row]
    assert losses[-1] < losses[0]
    assert isinstance(trainer, DaggerTrainer)
    stored, rows = trainer.components.buffer.view(), np.arange(256)
    targets = trainer._batch(rows % 4, rows % 5).aux_targets
    assert torch.allclose(targets[7, :2] * 0.1, torch.tensor(stored.achieved[3, 2, 0]))
    assert torch.allclose(targets[6, 2:] * 0.1, torch.tensor(stored.desired[2, 0]))


def test_a_wrong_number_of_targets_is_refused(tmp_path):
    with pytest.raises(
        BadValueError, match="aux_targets is 0 or, for 1 objects of OneCube, 4, not 6"
    ):
        start(tmp_path, aux_targets=6)


def test_objects_that_cannot_be_distinguished_have_no_targets(tmp_path):
    with pytest.raises(BadValueError, match=r"distinguished.*--aux-targets 0"):
        start_run(with_targets(tiny("one-cube", DAGGER), 4), tmp_path / "run", quiet)


def test_unstructured_networks_have_no_targets():
    with pytest.raises(BadValueError, match="aux_targets needs arch 'eit'"):
        replace(MLP_NET, aux_targets=4)


@pytest.mark.parametrize("before", [0, 4, 8])
@pytest.mark.parametrize("after", [0, 4, 8])
def test_actions_carry_over_to_any_number_of_targets(before, after):
    old, new = (
        TD3Agent(replace(FAST_NET, aux_targets=targets), TD3Config(), SPEC, seed)
        for seed, targets in enumerate((before, after))
    )
    load_weights(new, net_tensors(old), grow=True)
    sets = Entities.all_visible(torch.randn(3, 2, 6, 7))
    assert (old.act(sets, sets) == new.act(sets, sets)).all()


def targets_of(task: str) -> AuxiliaryTargets:
    """Auxiliary targets of a pixel agent for two objects: both red, or of two colors."""
    name = {"PushT": "push-2t", "TwoCubes": "two-cubes"}[task]
    env = TabletopVectorEnv(1, task, objects=2, autoreset_mode="Disabled")
    env.reset(seed=0)
    return AuxiliaryTargets(with_targets(make_experiment(name, PIXELS), 8), env)


def loss(task: str, predicted: torch.Tensor, truth: torch.Tensor) -> float:
    """Loss of predictions (B, 2, N, w): achieved and desired coordinates."""
    return float(targets_of(task).loss(predicted.flatten(1), truth.flatten(1)))


def test_objects_that_look_alike_may_be_predicted_in_any_order():
    truth = torch.randn(5, 2, 2, 2)
    assert loss("PushT", truth.flip(2), truth) == 0
    assert loss("TwoCubes", truth.flip(2), truth) > 0.1
    assert loss("TwoCubes", truth, truth) == 0


def test_achieved_and_desired_coordinates_have_the_same_order():
    truth = torch.randn(5, 2, 2, 2)
    predicted = torch.stack((truth[:, 0].flip(1), truth[:, 1]), dim=1)
    assert loss("PushT", predicted, truth) > 0.1


def test_each_sample_has_an_order_of_its_own():
    truth = torch.randn(2, 2, 2, 2)
    predicted = truth.clone()
    predicted[1] = truth[1].flip(1)
    assert loss("PushT", predicted, truth) == 0


def test_many_objects_that_look_alike_have_no_targets():
    env = TabletopVectorEnv(1, "Sorting", autoreset_mode="Disabled")
    env.reset(seed=0)
    number = 2 * env.episode_sampler.max_objects * env.goal_metric.width
    with pytest.raises(BadValueError, match="look alike"):
        AuxiliaryTargets(with_targets(make_experiment("push-2t", PIXELS), number), env)

"""An imitator that is made to tell what it sees: it learns to, and nothing else depends on it."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from jostle.agents.build import Shapes  # noqa: E402
from jostle.agents.config import TD3Config  # noqa: E402
from jostle.agents.saving import load_weights, weights  # noqa: E402
from jostle.agents.td3 import TD3Agent  # noqa: E402
from jostle.core.entities import Entities  # noqa: E402
from jostle.core.errors import BadValueError  # noqa: E402
from jostle.envs.vector import TabletopVectorEnv  # noqa: E402
from jostle.nets.config import FAST_NET, MLP_NET  # noqa: E402
from jostle.presets.catalog import PRESETS  # noqa: E402
from jostle.training.distill import DistillLoop  # noqa: E402
from jostle.training.start import begin  # noqa: E402
from jostle.training.telling import Telling  # noqa: E402

SHAPES = Shapes(state=(2, 6, 7), goal=(2, 6, 7))


def short(tmp_path, **net):
    preset = PRESETS["one-cube-state-distill"]
    training = replace(
        preset.training, copies=4, horizon=6, env_steps=96, updates_per_step=0.5, threads=1,
        random_codes=False, examine_every=99, examine_episodes=4, warmup_updates=0,
    )  # fmt: skip
    experiment = replace(preset, net=replace(preset.net, **net), training=training)
    return begin(experiment, tmp_path / "run", lambda row: None)


def test_it_learns_to_tell_where_cube_and_goal_are(tmp_path):
    rounds = short(tmp_path, tells=4)
    rounds.run()
    told = [row["telling_loss"] for row in rounds.rows() if "telling_loss" in row]
    assert told[-1] < told[0]
    assert isinstance(rounds, DistillLoop)
    batch, held = rounds.experiment.td3.batch, rounds.shop.ring.view()
    lesson = rounds._lesson(np.arange(batch) % 4, np.arange(batch) % 5)
    assert torch.allclose(lesson.truth[7, :2] * 0.1, torch.tensor(held.achieved[3, 2, 0]))
    assert torch.allclose(lesson.truth[6, 2:] * 0.1, torch.tensor(held.desired[2, 0]))


def test_a_wrong_number_to_tell_is_refused(tmp_path):
    with pytest.raises(BadValueError, match="tells is 0 or, for 1 objects of OneCube, 4, not 6"):
        short(tmp_path, tells=6)


def test_objects_that_nobody_knows_again_are_not_told_of(tmp_path):
    preset = PRESETS["one-cube-state-distill"]
    with pytest.raises(BadValueError, match="knows again"):
        begin(replace(preset, net=replace(preset.net, tells=4)), tmp_path / "run", lambda row: None)


def test_a_row_of_numbers_tells_nothing():
    with pytest.raises(BadValueError, match="Only an 'eit' tells"):
        replace(MLP_NET, tells=4)


@pytest.mark.parametrize("before", [0, 4, 8])
@pytest.mark.parametrize("after", [0, 4, 8])
def test_whatever_is_told_the_actions_carry_over(before, after):
    old, new = (
        TD3Agent(replace(FAST_NET, tells=tells), TD3Config(), SHAPES, seed)
        for seed, tells in enumerate((before, after))
    )
    load_weights(new, weights(old), deepen=True)
    sets = Entities.all_visible(torch.randn(3, 2, 6, 7))
    assert (old.act(sets, sets) == new.act(sets, sets)).all()


def telling(task, **colors):
    """What the actor of two cubes or two T-blocks that sees is corrected by."""
    preset = PRESETS[
        {"PushT": "push-2t-pixels-distill", "TwoCubes": "two-cubes-pixels-distill"}[task]
    ]
    env = TabletopVectorEnv(1, task, objects=2, autoreset_mode="Disabled")
    env.reset(seed=0)
    return Telling(replace(preset, net=replace(preset.net, tells=8), **colors), env)


def test_objects_that_look_alike_may_be_told_of_in_any_order():
    truth = torch.randn(5, 2, 2, 2)
    told = truth.flip(2)
    red, mixed = telling("PushT"), telling("TwoCubes")
    assert float(red.error(told.flatten(1), truth.flatten(1))) == 0
    assert float(mixed.error(told.flatten(1), truth.flatten(1))) > 0.1
    assert float(mixed.error(truth.flatten(1), truth.flatten(1))) == 0


def test_what_is_achieved_and_what_is_desired_keep_one_order():
    truth = torch.randn(5, 2, 2, 2)
    told = torch.stack((truth[:, 0].flip(1), truth[:, 1]), dim=1)
    assert float(telling("PushT").error(told.flatten(1), truth.flatten(1))) > 0.1


def test_each_sample_has_an_order_of_its_own():
    truth = torch.randn(2, 2, 2, 2)
    told = truth.clone()
    told[1] = truth[1].flip(1)
    assert float(telling("PushT").error(told.flatten(1), truth.flatten(1))) == 0


def test_a_crowd_that_looks_alike_is_not_told_of():
    preset = PRESETS["push-2t-pixels-distill"]
    env = TabletopVectorEnv(1, "Sorting", autoreset_mode="Disabled")
    env.reset(seed=0)
    tells = 2 * env.recipe.most * env.measure.width
    with pytest.raises(BadValueError, match="look alike"):
        Telling(replace(preset, net=replace(preset.net, tells=tells)), env)

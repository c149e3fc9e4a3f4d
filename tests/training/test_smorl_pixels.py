"""SMORL from images: sub-goals are particles, in training, in hindsight and in use."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from images import hide_truth  # noqa: E402

from experiments import (  # noqa: E402
    assert_same_tensors,
    metric_rows,
    quiet,
    stop_at,
    tiny_pixels,
)
from found_objects import ARM, COLORS, PARTICLES, by_sum, particles  # noqa: E402
from jostle.agents.base import PixelSensor  # noqa: E402
from jostle.core.entities import FEATURES, POSITION, Entities  # noqa: E402
from jostle.core.errors import BadValueError  # noqa: E402
from jostle.core.object_classifier import (  # noqa: E402
    ObjectClassifier,
    classifier_from_json,
    classifier_to_json,
    save_classifier,
)
from jostle.encoders.saving import encoder_hash, load_encoder  # noqa: E402
from jostle.presets.axes import Axes  # noqa: E402
from jostle.presets.experiments import make_experiment  # noqa: E402
from jostle.rewards.chamfer import SubgoalConfig  # noqa: E402
from jostle.rewards.subgoal import SubgoalReward  # noqa: E402
from jostle.rollout.particle_subgoals import (  # noqa: E402
    ParticleSubgoalPolicy,
    draw_subgoals,
    keep_objects,
    subgoals_at,
)
from jostle.runs.trainer import StopRequested  # noqa: E402
from jostle.tasks.task import Task  # noqa: E402
from jostle.training.components import make_env, make_policy  # noqa: E402
from jostle.training.load import load_agent  # noqa: E402
from jostle.training.start import resume_run, start_run  # noqa: E402


def classifier_file(folder):
    """Every particle of the untrained encoder shows an object, and none looks like another."""
    encoder = load_encoder(folder / "encoder.safetensors")[0]
    width = encoder.config.feature_dim
    zeros, ones = np.zeros(width, np.float32), np.ones(width, np.float32)
    layers = ((np.zeros((width, 1), np.float32), np.ones(1, np.float32)),)
    classifier = ObjectClassifier(zeros, ones, layers, 1e-6, encoder_hash(encoder))
    save_classifier(folder / "classifier.safetensors", classifier, {})
    return str(folder / "classifier.safetensors")


@pytest.fixture(autouse=True)
def evaluations_are_short(monkeypatch):
    """Four steps instead of fifty per object."""
    monkeypatch.setattr(Task, "evaluation_steps", lambda self, count: 4)


@pytest.fixture
def experiment(tmp_path):
    made = tiny_pixels(tmp_path, "two-cubes", "td3", arch="smorl")
    return replace(made, object_classifier=classifier_file(tmp_path))


def test_the_command_makes_the_papers_network_for_images():
    experiment = make_experiment("one-cube", Axes(obs="pixels", arch="smorl"))
    assert experiment.name == "one-cube-pixels-td3-smorl"
    assert (experiment.net.arch, experiment.net.embed_dim, experiment.net.heads) == ("smorl", 64, 8)
    assert (experiment.training.method, experiment.training.reward) == ("td3", "smorl")
    assert experiment.training.horizon == 30
    other = make_experiment("one-cube", Axes(obs="pixels", arch="smorl", reward="smorl-paper"))
    assert other.name.endswith("smorl-paper")
    paper = make_experiment("one-cube", Axes(obs="pixels", arch="smorl", size="paper"))
    assert not paper.net.mean_opacity_mask


@pytest.mark.parametrize(
    "axes",
    [
        {"method": "td3-privileged"},
        {"method": "td3-demos"},
        {"reward": "table"},
        {"reward": "smorl", "arch": "eit", "method": "td3"},
        {"reward": "smorl", "obs": "state"},
    ],
)
def test_what_makes_no_sense_is_refused(axes):
    with pytest.raises(BadValueError, match=r"one goal particle|reads true state"):
        Axes(**{"obs": "pixels", "arch": "smorl", **axes})


def test_a_training_resumes_bit_for_bit_and_its_agent_acts_alone(experiment, tmp_path):
    start_run(experiment, tmp_path / "whole", quiet).run()
    with pytest.raises(StopRequested):
        start_run(experiment, tmp_path / "stopped", stop_at(3)).run()
    trainer = resume_run(tmp_path / "stopped", quiet)
    trainer.run()
    assert metric_rows(tmp_path / "stopped") == metric_rows(tmp_path / "whole")
    for name in ("last", "best"):
        file = f"checkpoints/{name}.safetensors"
        assert_same_tensors(tmp_path / "whole" / file, tmp_path / "stopped" / file)

    # Its goals are one particle per view, of the goal or of a later step
    sampler = trainer.components.sampler
    batch = sampler.sample(40)
    stored = trainer.components.buffer.view()
    assert stored.actor.goal.shape[:2] == batch.actor.goal.shape[:2] == (2, 1)
    rows = stored.actor.states.values.reshape(-1, stored.actor.states.shape[2])
    rows = {tuple(row) for row in rows} | {
        tuple(row) for row in stored.actor.goal.values.reshape(-1, stored.actor.goal.shape[2])
    }
    shown = batch.actor.goal.visible.numpy()
    assert shown.any()
    assert all(tuple(row) in rows for row in batch.actor.goal.values.numpy()[shown])
    assert torch.isfinite(batch.reward).all()

    # The file of weights holds the classifier: without its run, the agent acts
    weights = tmp_path / "alone" / "agent.safetensors"
    weights.parent.mkdir()
    weights.write_bytes((tmp_path / "whole/checkpoints/best.safetensors").read_bytes())
    _, agent = load_agent(weights, lambda digest: tmp_path / "encoder.safetensors")
    features = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)
    original = trainer.components.agent.sensor.classifier
    np.testing.assert_array_equal(
        agent.sensor.classifier.logits(features), original.logits(features)
    )
    env = make_env(experiment, 2, agent.sensor.encoder)
    policy = make_policy(agent, env)
    assert isinstance(policy, ParticleSubgoalPolicy)
    assert policy.act(env.reset(seed=0)[0]).shape == (2, 3)


@pytest.mark.parametrize("reward", ["smorl", "smorl-paper"])
def test_nothing_true_is_read_from_the_first_episode_to_the_choice_of_weights(
    experiment, reward, tmp_path, monkeypatch
):
    training = replace(experiment.training, reward=reward)
    experiment = replace(experiment, training=training)
    start_run(experiment, tmp_path / "sighted", quiet).run()
    hide_truth(monkeypatch, keep_gripper=True)
    start_run(experiment, tmp_path / "blind", quiet).run()
    assert metric_rows(tmp_path / "blind") == metric_rows(tmp_path / "sighted")
    for name in ("best", "best-critics"):
        file = f"checkpoints/{name}.safetensors"
        assert_same_tensors(tmp_path / "sighted" / file, tmp_path / "blind" / file)


def test_classifiers_survive_json():
    first = by_sum()
    again = classifier_from_json(classifier_to_json(first))
    np.testing.assert_array_equal(again.logits(COLORS), first.logits(COLORS))
    assert (again.same_color, again.encoder) == (first.same_color, first.encoder)


def goal_picture():
    """Two objects in both views, in another order, and the arm."""
    red, green = (COLORS[0], (0.1, 0.0)), (COLORS[1], (-0.1, 0.1))
    return particles([(ARM, (0, 0)), red, green], [green, (ARM, (0, 0)), red])


def test_a_subgoal_is_one_object_in_all_views_and_never_the_arm():
    kept = keep_objects(goal_picture(), PARTICLES, by_sum())
    drawn = set()
    for seed in range(20):
        subgoal = draw_subgoals(kept, PARTICLES, np.random.default_rng(seed))
        assert subgoal.shape[:2] == (2, 1)
        assert subgoal.visible.all()
        front, side = subgoal.values[0, :, 0, PARTICLES[FEATURES]]
        np.testing.assert_array_equal(front, side)
        drawn.add(tuple(front))
    assert drawn == {tuple(COLORS[0]), tuple(COLORS[1])}

    # Seen in one view only, or not at all
    hidden = Entities(kept.values, kept.visible & np.array([[[True], [False]]]))
    assert draw_subgoals(hidden, PARTICLES, None).visible[0, :, 0].tolist() == [True, False]
    nothing = Entities(kept.values, np.zeros_like(kept.visible))
    subgoal = draw_subgoals(nothing, PARTICLES, None)
    assert not subgoal.visible.any()
    assert not subgoal.values.any()


def test_the_reward_is_that_of_the_subgoals_object_alone():
    goals = keep_objects(goal_picture(), PARTICLES, by_sum())
    goals.values[..., PARTICLES[POSITION]] = 0.5 * goals.visible[..., None]
    state = Entities(goals.values.copy(), goals.visible)
    state.values[0, 0, 1, PARTICLES[POSITION]] += (0.1, -0.2)  # the red one, in the first view
    reward = SubgoalReward(PARTICLES, by_sum(), SubgoalConfig("l1"))
    red, green = (
        subgoals_at(goals, np.array([0]), np.array([index]), PARTICLES) for index in (1, 2)
    )
    assert reward.total(state, green) == 0
    np.testing.assert_allclose(reward.total(state, red), -0.3, atol=1e-6)  # 2 * mean(0.3, 0)
    paper = replace(reward, config=SubgoalConfig("l2"))
    np.testing.assert_allclose(paper.total(state, red), -np.hypot(0.1, 0.2), atol=1e-6)
    assert reward.per_object(state, red) is None


class Watching:
    """An agent that remembers its goals."""

    device, eval_noise_std, sensor = torch.device("cpu"), 0.0, PixelSensor(None, ("front", "side"))

    def act(self, state, goal):
        self.goal = goal
        return np.zeros((len(goal.values), 3), np.float32)


class Shown:
    """An observer that shows what it is given."""

    layout = PARTICLES

    def __init__(self, state, goals):
        self.state, self.goals = lambda observation: state, lambda observation: goals


def test_the_policy_cycles_and_skips_subgoals_that_are_reached():
    looks = [(COLORS[index], (0.0, 0.0)) for index in range(3)]
    one = particles(looks, looks)
    goals = Entities(*(np.repeat(array, 2, axis=0) for array in one))
    state = Entities(goals.values.copy(), goals.visible)
    state.values[0, ..., PARTICLES[POSITION]] += 0.2  # none is reached in the first environment
    state.values[1, :, (0, 2), 0] += 0.4  # the second object is, in the second environment
    agent, reward = Watching(), SubgoalReward(PARTICLES, by_sum(), SubgoalConfig())
    policy = ParticleSubgoalPolicy(agent, Shown(state, goals), reward, 0.0)
    policy.reset()

    def worked_on():
        policy.act({})
        features = agent.goal.values[:, 0, 0, PARTICLES[FEATURES]].numpy()
        return [int(np.flatnonzero((row == COLORS).all(1))[0]) for row in features]

    seen = [worked_on() for _ in range(46)]
    assert seen[0] == seen[14] == [0, 0]
    assert seen[15] == seen[29] == [1, 2]
    assert seen[30] == [2, 0]
    assert seen[45] == [0, 2]
    policy.reset()
    assert worked_on() == [0, 0]

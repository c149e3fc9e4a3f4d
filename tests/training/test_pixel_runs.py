"""Pixel agents: they train, resume, keep their encoder, and privileged critics see true state."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from experiments import (  # noqa: E402
    DAGGER,
    assert_same_tensors,
    quiet,
    small_encoder,
    stop_at,
    tiny,
    tiny_pixels,
)
from jostle.core.entities import Entities  # noqa: E402
from jostle.core.errors import BadValueError  # noqa: E402
from jostle.encoders.saving import save_encoder  # noqa: E402
from jostle.oracles.catalog import SCRIPTED  # noqa: E402
from jostle.replay.goal_augmentation import augment_goals  # noqa: E402
from jostle.training.components import make_policy  # noqa: E402
from jostle.training.load import load_agent  # noqa: E402
from jostle.training.start import resume_run, start_run  # noqa: E402
from jostle.zoo.agents import required_env_kwargs  # noqa: E402


def test_images_have_the_size_that_the_encoder_expects(tmp_path):
    experiment = tiny_pixels(tmp_path)
    save_encoder(Path(experiment.encoder), small_encoder(64), {})
    start_run(experiment, tmp_path / "run", quiet).run()
    assert required_env_kwargs(str(tmp_path / "run"))["image_size"] == 64


@pytest.mark.parametrize("more", [False, True], ids=["", "table_xy, rendered goals"])
@pytest.mark.parametrize("method", ["dagger", "td3", "td3-privileged"])
def test_a_training_from_images_resumes_bit_for_bit_and_keeps_its_encoder(
    method, more, tmp_path, make_env
):
    experiment = tiny_pixels(tmp_path, method=method)
    experiment = replace(
        experiment,
        net=replace(experiment.net, table_xy=more),
        hindsight=replace(experiment.hindsight, goal_render_every=2 * more),
    )
    start_run(experiment, tmp_path / "whole", quiet).run()
    with pytest.raises(RuntimeError):
        start_run(experiment, tmp_path / "failed", stop_at(3, RuntimeError)).run()
    Path(experiment.encoder).unlink()  # the run has a copy
    resume_run(tmp_path / "failed", quiet).run()
    for name in ("last", "best", "best-critics"):
        file = f"checkpoints/{name}.safetensors"
        assert_same_tensors(tmp_path / "whole" / file, tmp_path / "failed" / file)

    # The trained agent acts, and says what it needs
    _, agent = load_agent(tmp_path / "whole")
    options = required_env_kwargs(str(tmp_path / "whole"))
    assert options == {"obs_type": "both", "cameras": ("front", "side"), "image_size": 128}
    env = make_env(2, "OneCube", autoreset_mode="Disabled", **options)
    observation, _ = env.reset(seed=0)
    assert make_policy(agent, env).act(observation).shape == (2, 3)
    without_images = make_env(2, "OneCube", autoreset_mode="Disabled")
    with pytest.raises(BadValueError, match="no images 'front'"):
        make_policy(agent, without_images).act(without_images.reset(seed=0)[0])


def test_privileged_critics_see_the_same_steps_as_the_actor(tmp_path):
    experiment = tiny_pixels(tmp_path, "two-cubes", "td3-privileged")
    hindsight = replace(experiment.hindsight, goal_render_every=0)
    trainer = start_run(replace(experiment, hindsight=hindsight), tmp_path / "run", quiet)
    trainer.iterate()
    stored = trainer.components.buffer.view()
    batch = trainer.components.sampler.sample(200)
    assert batch.critic is not batch.actor

    # Both ends of every transition
    seen, true = (
        part.states.values.reshape(-1, *part.states.values.shape[2:])
        for part in (stored.actor, stored.critic)
    )  # (E * (T+1), V, K, D)
    for end in ("state", "next_state"):
        actor_obs, critic_obs = (
            getattr(part, end).values.numpy() for part in (batch.actor, batch.critic)
        )
        for entities, state in zip(actor_obs, critic_obs, strict=True):
            assert any(
                (entities == a).all() and (state == b).all()
                for a, b in zip(seen, true, strict=True)
            )

    # A hindsight goal is the same later step for both: where the objects truly were
    own_goals = {tuple(goal) for goal in stored.critic.goal.values[:, 0, :, 0]}
    relabeled = 0
    goals = (part.goal.values.numpy() for part in (batch.actor, batch.critic))
    for entities, state in zip(*goals, strict=True):
        if tuple(state[0, :, 0]) in own_goals:
            continue
        relabeled += 1
        assert any(
            (entities == a).all() and (state[0, :, :2] == b[0, 1:, :2]).all()
            for a, b in zip(seen, true, strict=True)
        )
    assert relabeled > 100


def test_true_state_of_privileged_critics_moves_the_actor(tmp_path):
    experiment = tiny_pixels(tmp_path, method="td3-privileged")
    batch, changes = None, []
    for shift in (0.0, 0.3):
        trainer = start_run(experiment, tmp_path / f"run{shift}", quiet)
        trainer.iterate()
        agent, batch = trainer.components.agent, batch or trainer.components.sampler.sample(8)
        values, visible = batch.critic.state
        shifted = batch.critic._replace(state=Entities(values + shift, visible))
        before = torch.cat([weight.detach().flatten() for weight in agent.actor.parameters()])
        for _ in range(2):
            agent.update(batch._replace(critic=shifted))
        after = torch.cat([weight.detach().flatten() for weight in agent.actor.parameters()])
        changes.append(after - before)
    assert changes[0].abs().max() > 0
    assert not torch.equal(changes[0], changes[1])


def test_privileged_critics_of_an_actor_of_true_state_are_refused(tmp_path):
    with pytest.raises(BadValueError, match="method 'td3'"):
        start_run(tiny(method="td3-privileged"), tmp_path / "run", quiet)
    assert not (tmp_path / "run").exists()


def test_augmented_goals_get_the_label_of_their_own_state_and_goal(tmp_path):
    trainer = start_run(tiny_pixels(tmp_path, "two-cubes"), tmp_path / "run", quiet)
    trainer.iterate()
    trainer.iterate()
    stored = trainer.components.buffer.view()
    augmented = augment_goals(trainer.components.buffer, 60, np.random.default_rng(0))

    # States and goals are stored ones, mostly of two episodes
    entities, state_obs = (
        array[:, :-1].reshape(-1, *array.shape[2:])
        for array in (stored.actor.states.values, stored.state_obs)
    )
    episode_of = np.arange(len(stored)).repeat(stored.steps)
    exchanged = 0
    for state, goal, row, desired in zip(
        augmented.state.values.numpy(),
        augmented.goal.values.numpy(),
        augmented.state_obs,
        augmented.desired,
        strict=True,
    ):
        step = next(k for k in range(len(state_obs)) if (state_obs[k] == row).all())
        assert (entities[step] == state).all()
        partner = next(k for k in range(len(stored)) if (stored.desired[k] == desired).all())
        assert (stored.actor.goal.values[partner] == goal).all()
        exchanged += partner != episode_of[step]
    assert exchanged > 20

    # Labels are those of the teacher
    labels = trainer._query_teacher(augmented.state_obs, augmented.desired)
    oracle = SCRIPTED["oracle"](trainer.components.env.episode_sampler.task)
    observation = {"observation": augmented.state_obs, "desired_goal": augmented.desired}
    np.testing.assert_allclose(labels, oracle.act(observation), atol=1e-6)

    # A batch holds states with their own goals first, then as many with goals of others
    half = trainer.experiment.td3.batch_size // 2
    episode, step = np.arange(half) % len(stored), np.arange(half) % stored.steps
    labels = trainer._batch(episode, step).labels
    assert labels.shape == (2 * half, 3)
    np.testing.assert_array_equal(labels[:half], stored.actions[episode, step])


def test_a_student_learns_from_samples_that_miss_a_view(tmp_path):
    experiment = tiny_pixels(tmp_path)
    training = replace(experiment.training, drop_view_fraction=1.0)
    trainer = start_run(replace(experiment, training=training), tmp_path / "run", quiet)
    for _ in range(4):
        trainer.iterate()
    zeros = np.zeros(8, np.int64)
    state, goal, *_ = trainer._batch(zeros, zeros)
    whole = trainer.components.buffer.view().actor.states.visible[0, 0]
    assert whole.any(-1).all()
    assert (state.visible.any(-1).sum(-1) <= 1).all()
    assert not (state.visible.any(-1) ^ goal.visible.any(-1)).any()


def test_views_are_dropped_in_imitation_from_several_cameras_only(tmp_path):
    pixels = tiny_pixels(tmp_path)
    for experiment in (tiny(), tiny(axes=DAGGER), replace(pixels, cameras=("front",))):
        training = replace(experiment.training, drop_view_fraction=0.2)
        with pytest.raises(BadValueError, match="--drop-view-fraction 0"):
            replace(experiment, training=training)


def test_goals_are_exchanged_between_images_only():
    with pytest.raises(BadValueError, match="--goal-augmentation 0"):
        tiny("three-cubes", DAGGER, goal_augmentation=0.5)


def test_rendered_goals_are_for_pixel_agents_and_episodes_that_are_long_enough(tmp_path):
    state = tiny()
    with pytest.raises(BadValueError, match="--goal-render-every 0"):
        replace(state, hindsight=replace(state.hindsight, goal_render_every=5))
    short = tiny_pixels(tmp_path, method="td3")
    short = replace(short, hindsight=replace(short.hindsight, goal_render_every=9))
    with pytest.raises(BadValueError, match=r"every 9 steps.* an episode has 3"):
        start_run(short, tmp_path / "run", quiet)


def test_an_augmented_goal_asks_for_the_colors_that_are_there(tmp_path):
    experiment = tiny_pixels(tmp_path, "two-cubes", colors="random")
    trainer = start_run(experiment, tmp_path / "run", quiet)
    for _ in range(4):
        trainer.iterate()
    stored = trainer.components.buffer.view()
    assert len({tuple(sorted(color_ids)) for color_ids in stored.color_ids.tolist()}) > 1
    augmented = augment_goals(trainer.components.buffer, 60, np.random.default_rng(0))
    for row, desired in zip(augmented.state_obs, augmented.desired, strict=True):
        episodes = range(len(stored))
        own = next(k for k in episodes if (stored.state_obs[k] == row).all((-1, -2)).any())
        color_ids = stored.color_ids[own]
        by_color = desired[np.argsort(color_ids)]
        assert any(
            (stored.desired[k][np.argsort(stored.color_ids[k])] == by_color).all()
            and set(stored.color_ids[k]) == set(color_ids)
            for k in episodes
        )

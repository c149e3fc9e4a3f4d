"""Agents that see for themselves: frames, an encoder, entities, and nothing else."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from jostle.core.checkpoint import load  # noqa: E402
from jostle.core.entities import Entities  # noqa: E402
from jostle.core.errors import BadValueError  # noqa: E402
from jostle.nets.config import FAST_NET  # noqa: E402
from jostle.nets.eit import EITActor  # noqa: E402
from jostle.oracles.catalog import SCRIPTED  # noqa: E402
from jostle.particles.config import LITE_DLP  # noqa: E402
from jostle.particles.dlp import DLP  # noqa: E402
from jostle.particles.saving import save_encoder  # noqa: E402
from jostle.presets.catalog import PRESETS  # noqa: E402
from jostle.replay.swapping import swap  # noqa: E402
from jostle.rollout.collect import as_entities  # noqa: E402
from jostle.rollout.pixel_observer import PixelObserver  # noqa: E402
from jostle.training.recall import recall  # noqa: E402
from jostle.training.start import begin, go_on  # noqa: E402
from jostle.training.workshop import policy_for  # noqa: E402
from jostle.zoo.agents import what_it_reads  # noqa: E402

CAMERAS = ("front", "side")


def small_eyes() -> DLP:
    """Untrained eyes of four particles."""
    torch.manual_seed(0)
    return DLP(replace(LITE_DLP, particles=4, proposals=4)).requires_grad_(False).eval()


class Counting:
    """Eyes that count how many scenes they were shown."""

    def __init__(self) -> None:
        self.model, self.scenes = small_eyes(), 0

    @property
    def shape(self):
        return self.model.shape

    def encode(self, frames):
        self.scenes += len(frames)
        return self.model.encode(frames)


def tiny(folder: Path, name: str = "one-cube-pixels-distill"):
    """A training from pixels that takes seconds."""
    save_encoder(folder / "eyes.safetensors", small_eyes(), {})
    preset = PRESETS[name]
    return replace(
        preset,
        encoder=str(folder / "eyes.safetensors"),
        td3=replace(preset.td3, batch=8),
        training=replace(
            preset.training, copies=2, horizon=3, env_steps=2 * 3 * 4, memory=60, threads=1,
            updates_per_step=0.4, examine_every=4, examine_episodes=2, save_every=2,
            warmup_episodes=2, teacher="oracle",
        ),
    )  # fmt: skip


def test_what_is_seen_comes_from_frames_alone(make_env):
    env = make_env(2, "TwoCubes", obs_type="both", autoreset_mode="Disabled")
    observer = PixelObserver(small_eyes(), CAMERAS, 2)
    plain, _ = env.reset(seed=0)
    blind = {
        name: rows if rows.dtype == np.uint8 else np.full_like(rows, np.nan)
        for name, rows in plain.items()
    }
    for look in (observer.state, observer.goal):
        seen, again = look(plain), look(blind)
        assert (seen.values == again.values).all()
        assert (seen.visible == again.visible).all()
        assert seen.visible.any()


def test_goals_are_looked_at_once_per_episode_and_copy(make_env):
    env = make_env(3, "OneCube", obs_type="both", autoreset_mode="Disabled")
    eyes = Counting()
    observer = PixelObserver(eyes, CAMERAS, 3)
    observation, _ = env.reset(seed=0)
    first = observer.goal(observation)
    assert eyes.scenes == 3
    observation, *_ = env.step(np.zeros((3, 3), np.float32))
    assert (observer.goal(observation).values == first.values).all()
    assert eyes.scenes == 3
    observation, _ = env.reset(options={"reset_mask": np.array([False, True, False])})
    second = observer.goal(observation)
    assert eyes.scenes == 4
    assert (second.values[[0, 2]] == first.values[[0, 2]]).all()
    fresh = PixelObserver(eyes, CAMERAS, 3).goal(observation)
    np.testing.assert_allclose(second.values, fresh.values, rtol=1e-4, atol=1e-4)


def test_without_any_of_its_cameras_an_agent_says_what_it_needs(make_env):
    env = make_env(1, "OneCube", obs_type="both", cameras=("front",), autoreset_mode="Disabled")
    observation, _ = env.reset(seed=0)
    with pytest.raises(BadValueError, match="looks through side, but there are no frames"):
        PixelObserver(small_eyes(), ("side",), 1).state(observation)


@pytest.mark.parametrize("left", CAMERAS)
def test_a_view_that_goes_missing_is_an_empty_set_and_the_rest_stays(left, make_env):
    env = make_env(3, "TwoCubes", obs_type="both", autoreset_mode="Disabled")
    observer = PixelObserver(small_eyes(), CAMERAS, 3)
    whole, _ = env.reset(seed=0)
    partly = {name: rows for name, rows in whole.items() if left in name or rows.dtype != np.uint8}
    view = CAMERAS.index(left)
    for look in (observer.state, observer.goal):
        every, some, again = look(whole), look(partly), look(whole)
        np.testing.assert_allclose(
            some.values[:, view], every.values[:, view], rtol=1e-4, atol=1e-4
        )
        assert (some.visible[:, view] == every.visible[:, view]).all()
        assert not some.visible[:, 1 - view].any()
        assert (again.values == every.values).all()
    actor = EITActor(FAST_NET, observer.features, 2, 3)
    assert torch.isfinite(
        actor(*(as_entities(look(partly)) for look in (observer.state, observer.goal)))
    ).all()


def test_frames_are_as_large_as_the_eyes_want_them(tmp_path):
    experiment = tiny(tmp_path)
    torch.manual_seed(0)
    eyes = DLP(replace(LITE_DLP, image=64, particles=4, proposals=4)).requires_grad_(False).eval()
    save_encoder(tmp_path / "eyes.safetensors", eyes, {})
    begin(experiment, tmp_path / "run", lambda row: None).run()
    assert what_it_reads(str(tmp_path / "run"))["image_size"] == 64


@pytest.mark.parametrize("more", [False, True], ids=["", "ground, photos"])
@pytest.mark.parametrize("lane", ["pixels-distill", "pixels", "pixels-privileged"])
def test_a_training_from_pixels_goes_on_bit_by_bit_and_takes_its_eyes_along(
    lane, more, tmp_path, make_env
):
    experiment = tiny(tmp_path, f"one-cube-{lane}")
    experiment = replace(
        experiment,
        net=replace(experiment.net, ground=more),
        hindsight=replace(experiment.hindsight, photos=2 * more),
    )
    begin(experiment, tmp_path / "whole", lambda row: None).run()

    class StopError(Exception):
        pass

    def stop(row) -> None:
        if row["round"] == 3:
            raise StopError

    with pytest.raises(StopError):
        begin(experiment, tmp_path / "broken", stop).run()
    Path(experiment.encoder).unlink()  # the run has a copy
    go_on(tmp_path / "broken", lambda row: None).run()
    for name in ("last", "best"):
        one, two = (
            load(tmp_path / run / f"checkpoints/{name}.safetensors")[0]
            for run in ("whole", "broken")
        )
        assert one.keys() == two.keys()
        assert all((one[key] == two[key]).all() for key in one), name

    _, agent = recall(tmp_path / "whole")
    options = what_it_reads(str(tmp_path / "whole"))
    assert options == {"obs_type": "both", "cameras": CAMERAS, "image_size": 128}
    env = make_env(2, "OneCube", autoreset_mode="Disabled", **options)
    observation, _ = env.reset(seed=0)
    assert policy_for(agent, env).act(observation).shape == (2, 3)
    blind = make_env(2, "OneCube", autoreset_mode="Disabled")
    with pytest.raises(BadValueError, match="no frames 'front'"):
        policy_for(agent, blind).act(blind.reset(seed=0)[0])


def test_privileged_critics_judge_the_moments_that_the_actor_sees(tmp_path):
    experiment = tiny(tmp_path, "two-cubes-pixels-privileged")
    shop = begin(experiment, tmp_path / "run", lambda row: None)
    shop.round()
    shop = shop.shop
    held = shop.ring.view()
    batch = shop.sampler.sample(200)
    assert batch.judged is not None
    rows = held.states.reshape(-1, *held.states.shape[2:])  # (E * (T+1), V, K, D)
    true = held.true_states.reshape(-1, *held.true_states.shape[2:])
    for seen, known in ((batch.state, batch.judged.state), (batch.next_state, batch.judged[2])):
        for one, two in zip(seen.values.numpy(), known.values.numpy(), strict=True):
            assert any(
                (one == a).all() and (two == b).all() for a, b in zip(rows, true, strict=True)
            )
    # A goal of hindsight is one later moment for both: where the objects truly were then.
    own = {tuple(goal) for goal in held.true_goals[:, 0, :, 0]}
    relabeled = 0
    for one, two in zip(batch.goal.values.numpy(), batch.judged.goal.values.numpy(), strict=True):
        if tuple(two[0, :, 0]) in own:
            continue
        relabeled += 1
        assert any(
            (one == a).all() and (two[0, :, :2] == b[0, 1:, :2]).all()
            for a, b in zip(rows, true, strict=True)
        )
    assert relabeled > 100


def test_a_privileged_critic_moves_the_actor_by_what_the_truth_says(tmp_path):
    experiment = tiny(tmp_path, "one-cube-pixels-privileged")
    batch = None
    moved = []
    for shift in (0.0, 0.3):
        rounds = begin(experiment, tmp_path / f"run{shift}", lambda row: None)
        rounds.round()
        agent, batch = rounds.shop.agent, batch or rounds.shop.sampler.sample(8)
        true = batch.judged._replace(
            state=Entities(batch.judged.state.values + shift, batch.judged.state.visible)
        )
        before = torch.cat([weight.detach().flatten() for weight in agent.actor.parameters()])
        for _ in range(2):
            agent.update(batch._replace(judged=true))
        after = torch.cat([weight.detach().flatten() for weight in agent.actor.parameters()])
        moved.append(after - before)
    assert moved[0].abs().max() > 0
    assert not torch.equal(moved[0], moved[1])


def test_a_privilege_over_true_state_is_refused():
    preset = PRESETS["one-cube-state"]
    with pytest.raises(BadValueError, match="lane 'scratch'"):
        replace(preset, training=replace(preset.training, lane="privileged-critic"))


def test_swapped_goals_get_the_label_of_their_own_moment_and_goal(tmp_path):
    experiment = tiny(tmp_path, "two-cubes-pixels-distill")
    rounds = begin(experiment, tmp_path / "run", lambda row: None)
    rounds.round()
    rounds.round()
    held = rounds.shop.ring.view()
    drawn = swap(rounds.shop.ring, 60, np.random.default_rng(0))
    moments = held.states[:, :-1].reshape(-1, *held.states.shape[2:])
    rows = held.rows[:, :-1].reshape(-1, *held.rows.shape[2:])
    owner = np.arange(len(held)).repeat(held.actions.shape[1])
    lonely = 0
    for state, goal, row, wanted in zip(
        drawn.state.values.numpy(),
        drawn.goal.values.numpy(),
        drawn.rows,
        drawn.desired,
        strict=True,
    ):
        at = next(k for k in range(len(rows)) if (rows[k] == row).all())
        assert (moments[at] == state).all()
        of = next(k for k in range(len(held)) if (held.desired[k] == wanted).all())
        assert (held.goals[of] == goal).all()
        lonely += of != owner[at]
    assert lonely > 20  # most goals are another episode's
    told = rounds._ask(drawn.rows, drawn.desired)
    script = SCRIPTED["oracle"](rounds.shop.env.recipe.task)
    asked = script.act({"observation": drawn.rows, "desired_goal": drawn.desired})
    np.testing.assert_allclose(told, asked, atol=1e-6)
    episode, step = np.array([0, 0, 1, 1]), np.array([0, 2, 1, 0])
    labels = rounds._lesson(episode, step).labels
    assert labels.shape == (8, 3)  # four of its own moments, then as many with other goals
    np.testing.assert_array_equal(labels[:4], held.actions[episode, step])


def test_goals_are_swapped_between_pictures_only():
    state = PRESETS["three-cubes-state-distill"]
    with pytest.raises(BadValueError, match="--swap-goals 0"):
        replace(state, training=replace(state.training, swap_goals=0.5))


def test_photos_are_for_those_who_see_and_for_episodes_that_last(tmp_path):
    state = PRESETS["one-cube-state"]
    with pytest.raises(BadValueError, match="--photos 0"):
        replace(state, hindsight=replace(state.hindsight, photos=5))
    short = tiny(tmp_path, "one-cube-pixels")
    short = replace(short, hindsight=replace(short.hindsight, photos=9))
    with pytest.raises(BadValueError, match="every 9 steps, but an episode has 3"):
        begin(short, tmp_path / "run", lambda row: None)


def test_a_swapped_goal_asks_for_the_colors_that_are_there(tmp_path):
    experiment = tiny(tmp_path, "two-cubes-pixels-distill-colors")
    rounds = begin(experiment, tmp_path / "run", lambda row: None)
    for _ in range(4):
        rounds.round()
    held = rounds.shop.ring.view()
    assert len({tuple(sorted(looks)) for looks in held.looks.tolist()}) > 1
    drawn = swap(rounds.shop.ring, 60, np.random.default_rng(0))
    for row, wanted in zip(drawn.rows, drawn.desired, strict=True):
        here = next(k for k in range(len(held)) if (held.rows[k] == row).all((-1, -2)).any())
        asked = held.looks[here]
        assert any(
            (held.desired[k][np.argsort(held.looks[k])] == wanted[np.argsort(asked)]).all()
            and set(held.looks[k]) == set(asked)
            for k in range(len(held))
        )

"""The Python interface: agents act on any observation that fits, alike in every order."""

import subprocess
import sys
from dataclasses import dataclass

import gymnasium
import numpy as np
import pytest

torch = pytest.importorskip("torch")

import jostle  # noqa: E402
from jostle.core.errors import BadValueError, UnknownNameError  # noqa: E402
from jostle.scene.shapes import SHAPES, Box, ObjectShape  # noqa: E402
from jostle.tasks.catalog import TASKS  # noqa: E402
from jostle.tasks.task import Task  # noqa: E402


@pytest.fixture(scope="module")
def state_agent():
    return jostle.load_agent("three-cubes-state-dagger")


@pytest.fixture(scope="module")
def pixel_agent():
    return jostle.load_agent("three-cubes-pixels")


def vector(make_env, count, task="ThreeCubes", **options):
    env = make_env(count, task, autoreset_mode="Disabled", threads=1, **options)
    return env, env.reset(seed=count)[0]


def play(agent, env, observation, steps=3):
    """Actions of some steps, (T, B, A)."""
    actions = []
    for _ in range(steps):
        actions.append(agent.act(observation))
        observation = env.step(actions[-1])[0]
    return np.stack(actions)


def test_one_environment_and_a_vector_of_them_get_the_same_actions(state_agent, make_env):
    single = gymnasium.make("jostle/ThreeCubes-v0", **state_agent.env_kwargs)
    observation, _ = single.reset(seed=3)
    env = make_env(1, "ThreeCubes", autoreset_mode="Disabled", threads=1)
    batch, _ = env.reset(seed=3)
    for deterministic in (True, False):
        state_agent.reset(seed=1)
        alone = state_agent.act(observation, deterministic)
        state_agent.reset(seed=1)
        assert alone.shape == (3,)
        np.testing.assert_array_equal(state_agent.act(batch, deterministic)[0], alone)
    single.close()


def test_noise_is_added_unless_deterministic_and_starts_anew_with_the_seed(state_agent, make_env):
    _, observation = vector(make_env, 2)
    calm = state_agent.act(observation, deterministic=True)
    state_agent.reset(seed=4)
    first, second = state_agent.act(observation), state_agent.act(observation)
    assert (first != calm).any()
    assert (first != second).any()
    state_agent.reset(seed=4)
    np.testing.assert_array_equal(state_agent.act(observation), first)
    np.testing.assert_array_equal(state_agent.predict(observation, deterministic=True)[0], calm)


@pytest.mark.parametrize("kind", ["state", "pixels"])
def test_two_vectors_in_turn_get_the_actions_they_get_alone(kind, request, make_env):
    agent = request.getfixturevalue("state_agent" if kind == "state" else "pixel_agent")
    options = {**agent.env_kwargs}

    def fresh():
        agent.reset(seed=0)
        return vector(make_env, 1, **options), vector(make_env, 2, **options)

    one, two = fresh()
    alone = [play(agent, *one, steps=2), play(agent, *two, steps=2)]
    (env1, seen1), (env2, seen2) = fresh()
    for step in range(2):
        first, second = agent.act(seen1), agent.act(seen2)
        np.testing.assert_array_equal(first, alone[0][step])
        np.testing.assert_allclose(second, alone[1][step], atol=1e-6)
        seen1, seen2 = env1.step(first)[0], env2.step(second)[0]


def test_acting_equals_the_policy_that_evaluations_use(pixel_agent, make_env):
    env, observation = vector(make_env, 2, **pixel_agent.env_kwargs)
    expected = pixel_agent.policy(env, eval_noise=0.0).act(observation)
    np.testing.assert_allclose(
        pixel_agent.act(observation, deterministic=True), expected, atol=1e-6
    )


def test_an_agent_of_three_objects_acts_with_six(state_agent, make_env):
    _, observation = vector(make_env, 2, "SixCubes")
    assert state_agent.act(observation).shape == (2, 3)


def test_observations_that_do_not_fit_are_named(state_agent, pixel_agent, make_env):
    _, headings = vector(make_env, 1, "PushT")
    with pytest.raises(BadValueError, match="columns"):
        state_agent.act(headings)
    _, no_images = vector(make_env, 1)
    with pytest.raises(BadValueError, match="cameras"):
        pixel_agent.act(no_images)
    with pytest.raises(UnknownNameError, match="Did you mean"):
        jostle.load_agent("three-cubes-stat")


def test_other_cameras_are_named(pixel_agent, make_env):
    options = {"obs_type": "both", "image_size": 128}
    _, mixed = vector(make_env, 1, cameras=("front", "corner"), **options)
    with pytest.raises(BadValueError, match=r"uses the cameras front, side.*of front, corner"):
        pixel_agent.act(mixed)
    _, more = vector(make_env, 1, cameras=("corner", "front", "side"), **options)
    assert pixel_agent.act(more).shape == (1, 3)
    with pytest.raises(BadValueError, match="lacks 'desired_goal'"):
        pixel_agent.act({"front": more["front"]})


@pytest.mark.parametrize("kind", ["state", "pixels"])
def test_an_agent_acts_in_any_number_of_environments(kind, request, make_env):
    agent = request.getfixturevalue("state_agent" if kind == "state" else "pixel_agent")
    for count in (2, 3):
        _, observation = vector(make_env, count, **agent.env_kwargs)
        assert agent.act(observation).shape == (count, 3)


def test_a_policy_of_two_environments_says_that_three_are_too_many(state_agent, make_env):
    env, _ = vector(make_env, 2)
    policy = state_agent.policy(env)
    for other in (vector(make_env, 3)[1], vector(make_env, 2, "SixCubes")[1]):
        with pytest.raises(BadValueError, match="made for 2 environments of 3 objects") as caught:
            policy.act(other)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("arch", "message"), [("eit", "fixed object ids"), ("mlp", "unstructured")]
)
def test_more_objects_than_a_network_takes_are_named(arch, message, make_env, tmp_path):
    run = jostle.train(
        "two-cubes", minutes=1e-6, progress=False, method="td3", size="paper", arch=arch,
        num_envs=2, horizon=2, eval_every=50, threads=1, out=str(tmp_path),
    )  # fmt: skip
    _, three = vector(make_env, 1)
    with pytest.raises(BadValueError, match=rf"{message}.* 2 objects"):
        run.agent.act(three)
    with pytest.raises(ValueError, match=f"(?i){message}.* with 2"):
        jostle.evaluate(run.agent, "ThreeCubes", episodes=1)


def test_evaluations_are_those_of_the_command_line(state_agent):
    result = jostle.evaluate(state_agent, episodes=4, num_envs=4)
    again = jostle.evaluate("three-cubes-state-dagger", "three-cubes", episodes=4, num_envs=4)
    assert result.rows == again.rows
    assert len(result.rows) == 4
    assert result.interval[0] <= result.success <= result.interval[1]
    assert result.summary["task"] == "ThreeCubes"


def test_any_policy_can_be_evaluated():
    class Still:
        def act(self, observation):
            return np.zeros((len(observation["desired_goal"]), 3), np.float32)

    class Model:
        def predict(self, observation, deterministic):
            return np.zeros((len(observation["desired_goal"]), 3), np.float32), None

    still = jostle.evaluate(Still(), "OneCube", episodes=3, num_envs=3)
    assert still.rows == jostle.evaluate(Model(), "OneCube", episodes=3, num_envs=3).rows
    oracle = jostle.evaluate("oracle", "OneCube", episodes=3, num_envs=3)
    assert oracle.success == 1.0
    with pytest.raises(BadValueError, match="Name the task"):
        jostle.evaluate(Still(), episodes=3)
    with pytest.raises(BadValueError, match="no policy"):
        jostle.evaluate(object(), "OneCube")


def test_training_from_python_stops_resumes_and_gives_an_agent(tmp_path):
    options = {
        "method": "td3", "num_envs": 4, "horizon": 5, "env_steps": 60, "random_episodes": 4,
        "eval_every": 1, "eval_episodes": 2, "batch_size": 8, "threads": 1, "out": str(tmp_path),
    }  # fmt: skip
    run = jostle.train("one-cube", minutes=1e-9, progress=False, **options)
    assert not run.finished
    assert [row["iteration"] for row in run.metrics] == [1]
    run = jostle.train(resume=run.path, progress=False)
    assert run.finished
    assert [row["iteration"] for row in run.metrics] == [1, 2, 3]
    assert run.agent.task == "OneCube"
    with pytest.raises(BadValueError, match="--help"):
        jostle.train("one-cube", progress=False, no_such_field=3)


def test_a_registered_task_is_known_everywhere():
    @dataclass(frozen=True, kw_only=True)
    class NearGoals(Task):
        """Goals where the cubes start."""

    task = NearGoals(name="NearGoals", summary="A toy task", objects=1, counts=(1, 1))
    try:
        jostle.register_task(task)
        env = gymnasium.make("jostle/NearGoals-v0")
        env.reset(seed=0)
        env.close()
        assert jostle.evaluate("oracle", "near-goals", episodes=2, num_envs=2).success == 1.0
        with pytest.raises(BadValueError, match="already"):
            jostle.register_task(task)
    finally:
        TASKS._entries.pop("NearGoals")
        gymnasium.registry.pop("jostle/NearGoals-v0")
    with pytest.raises(BadValueError, match="a str"):
        jostle.register_task("NearGoals")


def test_a_registered_shape_is_pushed_like_any_other():
    bar = ObjectShape((Box((0.03, 0.06, 0.03)),), height=0.03, spacing=0.04)
    try:
        jostle.register_shape("bar", bar)
        result = jostle.evaluate("oracle", "OneCube", episodes=2, num_envs=2, vary="shape=bar")
        assert result.summary["vary"] == "shape=bar"
        with pytest.raises(BadValueError, match="already"):
            jostle.register_shape("bar", bar)
    finally:
        SHAPES._entries.pop("bar", None)
    with pytest.raises(BadValueError, match="union of boxes"):
        jostle.register_shape("bar", "cube")
    with pytest.raises(BadValueError, match="as high as the shape"):
        ObjectShape((Box((0.03, 0.03, 0.03)), Box((0.03, 0.03, 0.02))), 0.03, 0.04)
    with pytest.raises(BadValueError, match="at least one box"):
        ObjectShape((), 0.03, 0.04)


def test_an_encoder_that_breaks_its_contract_is_refused():
    from jostle.encoders.catalog import ENCODERS, EncoderSpec

    class Blind:
        shape = layout = (1, 1)

    with pytest.raises(BadValueError, match="lacks encode"):
        jostle.register_encoder(
            "blind", EncoderSpec(model=Blind, config=dict, presets=ENCODERS["dlp"].presets)
        )
    with pytest.raises(BadValueError, match="EncoderSpec"):
        jostle.register_encoder("blind", Blind)


def test_the_package_is_imported_without_torch():
    code = "import sys, jostle; print('torch' in sys.modules, sorted(jostle.__all__)[0])"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout.split() == ["False", "EvaluationResult"]

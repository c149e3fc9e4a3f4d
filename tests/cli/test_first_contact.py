"""What a new user meets first: budgets without updates, wrong values, changed configs."""

import json
import signal
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

import jostle as package
from experiments import quiet, stop_at, tiny
from jostle.cli.main import main
from jostle.core.checkpoint import load, save
from jostle.core.errors import BadValueError, JostleError
from jostle.envs.vector import TabletopVectorEnv
from jostle.pretraining import start as pretraining
from jostle.pretraining.config import preset
from jostle.runs.config import ConfigMismatchError
from jostle.runs.trainer import StopRequested
from jostle.tasks.variations import Camera, Friction, Light, Mass, OneOf, Size, Table, Uniform
from jostle.training.start import resume_run, start_run
from jostle.zoo.encoders import check_cameras
from jostle.zoo.registry import registry
from synthetic_frames import write_frames


@pytest.fixture
def jostle(tmp_path, monkeypatch, capsys):
    """Run the command in an empty folder; returns exit code, output and errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "500")  # messages in one line
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["jostle", *map(str, words)])
        with pytest.raises(SystemExit) as stopped:
            main()
        captured = capsys.readouterr()
        return stopped.value.code, captured.out, captured.err

    yield run
    for number, handler in handlers.items():
        signal.signal(number, handler)


# 8: a warm-up that outlasts the run


def test_point_8_a_warmup_that_outlasts_the_run_is_refused(jostle):
    code, _, error = jostle("train", "one-cube", "--method", "td3", "--env-steps", "1200")
    assert code == 2
    assert "learning starts after 64 random episodes (1920 environment steps)" in error
    assert "--env-steps 1200" in error
    assert "more than 1920 --env-steps" in error
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    ("budget", "learns"),
    [({"env_steps": 240}, False), ({"env_steps": 241}, True), ({"utd_ratio": 0.008}, False)],
)
def test_point_8_a_budget_is_refused_exactly_if_nothing_would_be_learned(budget, learns, tmp_path):
    experiment = tiny(eval_every=100, **budget)  # 8 random episodes of 30 steps in 4 environments
    if not learns:
        with pytest.raises(BadValueError, match="No update would happen"):
            start_run(experiment, tmp_path / "run", quiet)
        return
    trainer = start_run(experiment, tmp_path / "run", quiet)
    trainer.run()
    assert trainer.components.agent.updates > 0


# 9 and 10: wrong values


TRAIN, SLOTS = ("train", "one-cube"), ("pretrain", "slots", "--data", "frames")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        # 9: these were tracebacks
        ((*TRAIN, "--seed", "-1"), "seed must be at least 0, not -1"),
        (("video", "OneCube", "--seed", "-1"), "seed must be at least 0, not -1"),
        (("evaluate", "oracle", "--seed", "-1"), "seed must be at least 0, not -1"),
        (("demo", "--seed", "-1"), "seed must be at least 0, not -1"),
        (("video", "OneCube", "--fps", "-3"), "fps must be at least 1, not -3"),
        ((*TRAIN, "--save-every", "0"), "save_every must be at least 1, not 0"),
        ((*SLOTS, "--save-every", "0"), "save_every must be at least 1, not 0"),
        ((*TRAIN, "--threads", "-1"), "threads must be at least 0, not -1"),
        ((*SLOTS, "--threads", "-1"), "threads must be at least 0, not -1"),
        (("collect", "OneCube", "--frames", "8", "--out", "f", "--threads", "-1"), "threads must"),
        (("queue", "--threads", "-1"), "threads must be at least 0, not -1"),
        (("plot", "run", "--out", "x.foo"), "'x.foo': its name must end in one of"),
        # 10: these were accepted, and ignored or used as they are
        (("video", "OneCube", "--steps", "0"), "steps must be at least 1, not 0"),
        (("video", "OneCube", "--fps", "0"), "fps must be at least 1, not 0"),
        ((*TRAIN, "--horizon", "0"), "horizon must be at least 1, not 0"),
        ((*TRAIN, "--minutes", "0"), "minutes must be more than 0, not 0"),
        ((*TRAIN, "--minutes", "-2"), "minutes must be more than 0, not -2"),
        ((*TRAIN, "--minutes", "nan"), "minutes must be finite, not nan"),
        (("train", "--resume", "run", "--minutes", "0"), "minutes must be more than 0"),
        ((*SLOTS, "--minutes", "0"), "minutes must be more than 0, not 0"),
        (("pretrain", "--resume", "run", "--minutes", "-1"), "minutes must be more than 0"),
        (("queue", "--minutes", "0"), "minutes must be more than 0, not 0"),
        (("queue", "--slice", "0"), "slice must be more than 0, not 0"),
        (("evaluate", "oracle", "--objects", "0"), "objects must be at least 1, not 0"),
        ((*TRAIN, "--name", "../evil"), "name must be the name of one folder"),
        ((*SLOTS, "--name", ".."), "name must be the name of one folder"),
        (("probe", "dlp-6cubes", "--name", "a/b", "--data", "f"), "name must be the name of one"),
        (("evaluate", "oracle", "--compare"), "name two agents"),
        (("evaluate", "one-cube-state", "three-cubes-state", "--compare"), "name two agents"),
        (("evaluate", "oracle", "--eval-noise", "0.1"), "'oracle' acts without it"),
        (("evaluate", "one-cube-state", "random", "--eval-noise", "0", "0.1"), "'random' acts"),
        (("evaluate", "one-cube-state", "--eval-noise", "-0.1"), "eval_noise must be at least 0"),
        ((*TRAIN, "--obs", "pixels", "--cameras", "corner"), "never trained on the camera"),
    ],
)  # fmt: skip
def test_points_9_and_10_a_wrong_value_is_one_sentence(words, message, jostle):
    code, output, error = jostle(*words)
    assert code == 2, output + error
    assert message in output + error
    assert not list(Path().iterdir())  # nothing was started


@pytest.mark.parametrize(
    "words",
    [
        (*TRAIN, "--out", "file"),
        ("video", "OneCube", "--out", "file"),
        ("demo", "--out", "file/demo"),
        ("docs", "--out", "file"),
        ("collect", "OneCube", "--frames", "8", "--out", "file"),
        ("evaluate", "oracle", "--task", "OneCube", "--out", "file/table"),
        ("probe", "dlp-6cubes", "--data", "frames", "--out", "file"),
        ("plot", "run", "--out", "file/plot.png"),
    ],
)
def test_point_9_an_impossible_output_is_refused_before_the_work(words, jostle, monkeypatch):
    def simulated(*args, **kwargs):
        raise AssertionError("the work has started")

    monkeypatch.setattr(TabletopVectorEnv, "reset", simulated)
    Path("file").write_text("")
    code, _, error = jostle(*words)
    assert code == 2
    assert "file is a file. Choose another --out." in error


def test_point_9_other_failures_of_the_system_are_one_sentence(jostle, monkeypatch):
    def fail(argv):
        raise OSError(28, "No space left on device", "results.md")

    monkeypatch.setattr("jostle.cli.tasks.run", fail)
    assert jostle("tasks") == (1, "", "jostle: results.md: No space left on device.\n")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("{", "is damaged"),
        ("[]", "holds no dict"),
        ("{}", "missing"),
        ({"net": 3}, "net must be a table of fields, not 3"),
        ({"name": 3}, "name = 3, but str was expected"),
        ({"objects": "three"}, "objects = 'three', but"),
        ({"colors": "blue"}, "colors = 'blue', but"),
        ({"cameras": ["front", 2]}, "cameras = ('front', 2), but"),
        ({"training": {"env_steps": "many"}}, "env_steps = 'many', but int was expected"),
        ({"training": {"threads": -1}}, "threads must be at least 0"),
        ({"trainings": {}}, "Did you mean 'training'?"),
    ],
)
def test_point_9_a_broken_config_of_a_run_is_named(change, message, jostle):
    Path("run").mkdir()
    if isinstance(change, dict):
        change = json.dumps({**tiny().to_dict(), **change})
    Path("run/experiment.json").write_text(change)
    code, _, error = jostle("train", "--resume", "run")
    assert code == 2
    assert error.startswith("jostle: run/experiment.json")
    assert message in error


def test_point_9_environments_refuse_wrong_types(make_env):
    for option, value in (
        ("objects", "three"), ("objects", 1.5), ("objects", ("1", "3")), ("image_size", "128"),
        ("image_size", (64, "64")), ("threads", 1.5), ("max_episode_steps", "9"),
        ("render_size", None),
    ):  # fmt: skip
        with pytest.raises(BadValueError, match=option):
            make_env(1, "NCubes", **{option: value})
    with pytest.raises(BadValueError, match="num_envs must be a whole number, not '2'"):
        TabletopVectorEnv("2", "OneCube")
    env = make_env(1, "OneCube")
    for seed in (-1, [-1], "zero", 0.5):
        with pytest.raises(BadValueError, match="seed"):
            env.reset(seed=seed)
    for state in ({}, None, {"states": np.zeros(3)}):
        with pytest.raises(BadValueError, match=r"what get_state\(\) returns"):
            env.set_state(state)


@pytest.mark.parametrize("kind", [Mass, Friction, Size, Table, Light])
def test_point_9_variations_refuse_what_is_no_number(kind):
    for value in ("a", None, OneOf(1.0, "a"), float("nan")):
        with pytest.raises(BadValueError, match=f"{kind.__name__}'s .* must be"):
            kind(value)
    assert kind(OneOf(1, Uniform(0.5, 1.0)))
    with pytest.raises(BadValueError, match="low must be a number"):
        Uniform("a", 1)
    with pytest.raises(BadValueError, match="Camera's fov"):
        Camera("front", fov="wide")


def test_point_9_the_python_interface_refuses_the_same_values(tmp_path):
    for options in ({"seed": -1}, {"save_every": 0}, {"threads": -1}, {"name": "../evil"}):
        with pytest.raises(JostleError):
            package.train("one-cube", out=str(tmp_path / "runs"), **options)
    for minutes in (0, -1.0, "ten"):
        with pytest.raises(BadValueError, match="minutes must be"):
            package.train("one-cube", minutes=minutes, out=str(tmp_path / "runs"))
    assert not list(tmp_path.iterdir())


def test_point_10_cameras_are_checked_against_what_the_encoder_was_trained_on(tmp_path):
    check_cameras("dlp-6cubes", ("side", "front"))
    with pytest.raises(BadValueError, match="'overhead', only on front, side"):
        check_cameras("dlp-6cubes", ("front", "overhead"))
    tensors, meta = load(registry()["dlp-6cubes"].weights)
    save(tmp_path / "encoder.safetensors", tensors, {**meta, "history": []})
    check_cameras(str(tmp_path / "encoder.safetensors"), ("overhead",))  # the file does not say


def test_point_10_the_python_interface_refuses_cameras_that_the_agent_was_not_trained_on():
    for cameras in (("front", "corner"), ["corner"]):
        with pytest.raises(BadValueError, match="'corner', only on front, side"):
            package.evaluate("one-cube-pixels-dagger", episodes=1, cameras=cameras)


def edit_config(folder, **changes):
    """Change fields in the config of a run, given as part__field or field."""
    path = folder / "experiment.json"
    config = json.loads(path.read_text())
    for name, value in changes.items():
        *parts, field = name.split("__")
        (config[parts[0]] if parts else config)[field] = value
    path.write_text(json.dumps(config))


def test_point_10_a_config_that_was_changed_is_not_resumed(tmp_path):
    folder = tmp_path / "run"
    with pytest.raises(StopRequested):
        start_run(tiny(), folder, stop_at(3)).run()
    edit_config(folder, td3__gamma=0.5, seed=4)
    with pytest.raises(ConfigMismatchError) as caught:
        resume_run(folder, quiet)
    text = str(caught.value)
    assert "experiment.json was changed since the last checkpoint" in text
    assert "td3.gamma: 0.95 there, 0.5 here" in text
    assert "seed: 0 there, 4 here" in text
    edit_config(folder, td3__gamma=0.95, seed=0, training__env_steps=480)  # this one applies
    trainer = resume_run(folder, quiet)
    trainer.run()
    assert trainer.counters["env_steps"] == 480


def test_point_10_a_changed_pretraining_is_not_resumed(tmp_path):
    from dataclasses import replace

    write_frames(tmp_path / "frames")
    config = preset("slots", "lite")
    model = replace(config.model, image_size=32, downscale=2, num_slots=3, channels=4, slot_dim=8)
    config = replace(
        config, model=model, data=str(tmp_path / "frames"), batch_size=4, validation=0.2, threads=1
    )
    folder = tmp_path / "run"
    pretraining.start_run(config, folder, quiet)
    pretraining.resume_run(folder, quiet)
    edit_config(folder, lr=0.5, steps=3)
    with pytest.raises(ConfigMismatchError, match=r"lr: 0.001 there, 0.5 here") as caught:
        pretraining.resume_run(folder, quiet)
    assert "steps" not in str(caught.value)

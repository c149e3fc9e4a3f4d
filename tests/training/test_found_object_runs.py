"""Training on objects found in images: nothing true is read, resumes, acts, and is refused."""

import functools
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from images import ENCODER, hide_truth, quick_classifier, with_stages  # noqa: E402

from experiments import assert_same_tensors, metric_rows, quiet, stop_at, tiny  # noqa: E402
from jostle.api.agent import load_agent  # noqa: E402
from jostle.core.checkpoint import load  # noqa: E402
from jostle.core.errors import BadValueError, ExportError, JostleError  # noqa: E402
from jostle.presets.axes import Axes  # noqa: E402
from jostle.presets.experiments import make_experiment  # noqa: E402
from jostle.presets.words import parse_words  # noqa: E402
from jostle.runs.run_dir import RunDir  # noqa: E402
from jostle.tasks.task import Task  # noqa: E402
from jostle.training import images as training_images  # noqa: E402
from jostle.training.components import make_env, make_policy  # noqa: E402
from jostle.training.start import resume_run, start_run  # noqa: E402
from jostle.zoo.commands import train_command  # noqa: E402

AXES = Axes(obs="objects", encoder=str(ENCODER))


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    """A classifier fitted to few random actions."""
    return quick_classifier(tmp_path_factory.mktemp("classifier"))


@pytest.fixture(autouse=True)
def evaluations_are_short(monkeypatch):
    """Four steps instead of fifty per object."""
    monkeypatch.setattr(Task, "evaluation_steps", lambda self, count: 4)


def short(classifier, task="one-cube", **training):
    """Four iterations of two episodes of three steps."""
    settings = {
        "num_envs": 2, "horizon": 3, "env_steps": 2 * 3 * 4, "replay_size": 60, "utd_ratio": 0.4,
        "eval_every": 4, "eval_episodes": 2, "random_episodes": 2,
    }  # fmt: skip
    experiment = tiny(task, AXES, **{**settings, **training})
    return replace(experiment, object_classifier=str(classifier))


def test_nothing_true_is_read_from_the_first_episode_to_the_choice_of_weights(
    classifier, tmp_path, monkeypatch
):
    experiment = with_stages(short(classifier, "two-cubes", env_steps=2 * 3 * 3))
    # Everything is a success by images, so that the first stage ends early
    recorder = functools.partial(training_images.FoundObjectRecorder)
    monkeypatch.setattr(
        training_images, "FoundObjectRecorder",
        lambda observer, reward, _, table: recorder(observer, reward, 9.0, table),
    )  # fmt: skip
    start_run(experiment, tmp_path / "sighted", quiet).run()
    hide_truth(monkeypatch, keep_gripper=True)
    start_run(experiment, tmp_path / "blind", quiet).run()

    for folder in ("", "stages/1"):
        runs = [RunDir(tmp_path / name / folder) for name in ("sighted", "blind")]
        for name in ("best", "best-critics", "final", "final-critics"):
            assert_same_tensors(*(run.best.with_stem(name) for run in runs))
        first, second = (metric_rows(run.path) for run in runs)
        assert first == second
        assert all("success" not in row and "train_success" not in row for row in first)
    assert runs[0].rows()[-1]["iteration"] == 2, "the stage did not end early"
    assert runs[0].rows()[-1]["updates"] > 0
    blind = load(tmp_path / "blind/checkpoints/last.safetensors")[0]
    assert np.isnan(blind["buffer.achieved"].numpy()).all()


def test_it_resumes_bit_for_bit(classifier, tmp_path):
    experiment = short(classifier)
    start_run(experiment, tmp_path / "whole", quiet).run()
    with pytest.raises(RuntimeError):
        start_run(experiment, tmp_path / "failed", stop_at(3, RuntimeError)).run()
    resume_run(tmp_path / "failed", quiet).run()
    for name in ("last", "best", "best-critics"):
        file = f"checkpoints/{name}.safetensors"
        assert_same_tensors(tmp_path / "whole" / file, tmp_path / "failed" / file)
    row = metric_rows(tmp_path / "whole")[-1]
    assert {"image_success", "train_image_success", "image_distance", "image_return"} <= row.keys()


def test_a_loaded_agent_acts_as_its_policy_does(classifier, tmp_path):
    experiment = short(classifier, "two-cubes")
    start_run(experiment, tmp_path / "run", quiet).run()
    loaded = load_agent(tmp_path / "run")
    assert loaded.agent.sensor.finds_objects
    encoder = loaded.agent.sensor.encoder
    env = make_env(loaded.experiment, 2, encoder)
    try:
        policy = make_policy(loaded.agent, env, 0.0)
        policy.reset()
        observation, _ = env.reset(seed=3)
        for _ in range(3):
            actions = policy.act(observation)
            np.testing.assert_allclose(loaded.act(observation, True), actions, atol=1e-5)
            observation = env.step(actions)[0]
    finally:
        env.close()


def test_hindsight_takes_places_that_were_found(classifier, tmp_path):
    trainer = start_run(short(classifier, "two-cubes"), tmp_path / "run", quiet)
    trainer.run()
    batch = trainer.components.sampler.sample(200)
    goal, state = batch.actor.goal, batch.actor.state
    assert goal.values.shape[1:] == (1, 2, state.values.shape[-1])
    assert (goal.values[..., 2:4] == 0).all(), "goals have neither heights nor a gripper"
    assert batch.reward.shape == (200, 2)
    assert np.isfinite(batch.reward.numpy()).all()


def test_settings_are_those_of_true_state_and_the_name_says_the_observation():
    found, state = (make_experiment("three-cubes", Axes(obs=obs)) for obs in ("objects", "state"))
    assert found.name == "three-cubes-objects-td3"
    assert (found.net, found.td3, found.curriculum) == (state.net, state.td3, state.curriculum)
    same = ("env_steps", "utd_ratio", "num_envs", "horizon", "lr_decay_fraction")
    assert all(getattr(found.training, x) == getattr(state.training, x) for x in same)
    assert (found.explore.reach_from, found.training.reward) == ("particles", "table")
    words = train_command(found).strip("`").removeprefix("jostle train ").split()
    assert words[:3] == ["three-cubes", "--obs", "objects"]
    assert parse_words(words).experiment == found


@pytest.mark.parametrize(
    ("task", "words", "message"),
    [
        ("one-cube", "--method dagger", "learns by --method td3"),
        ("one-cube", "--size paper", "--size fast"),
        ("one-cube", "--arch mlp", "--arch eit"),
        ("one-cube", "--reward gdac", "--reward table"),
        ("one-cube", "--strategy per-object", "whole moments"),
        ("one-cube", "--goal-render-every 5", "whole moments"),
        ("one-cube", "--table-xy", "no particles"),
        ("one-cube", "--reach-from truth", "where they truly are"),
        ("push-t", "", "headings"),
        ("sorting", "", "one goal"),
        ("distractors", "", "not in the scene"),
    ],
)
def test_what_does_not_go_with_found_objects_is_refused(task, words, message, capsys):
    with pytest.raises((BadValueError, SystemExit)) as error:
        parse_words([task, "--obs", "objects", *words.split()])
    said = f"{error.value} {' '.join(capsys.readouterr().err.replace('│', ' ').split())}"
    assert message in said


def test_objects_of_true_state_are_refused():
    with pytest.raises((BadValueError, SystemExit)):
        parse_words(["one-cube", "--entities", "objects"])


def test_an_export_is_refused_because_objects_are_followed_outside_of_networks(
    classifier, tmp_path
):
    pytest.importorskip("onnx")
    from jostle.exporting.onnx_export import OnnxOptions, export_onnx

    start_run(short(classifier), tmp_path / "run", quiet).run()
    loaded = load_agent(tmp_path / "run")
    with pytest.raises((ExportError, JostleError), match="outside of its networks"):
        export_onnx("run", loaded.experiment, loaded.agent, tmp_path / "onnx", OnnxOptions())
    assert not (tmp_path / "onnx").exists()


def test_videos_show_the_objects_that_the_agent_finds(classifier, tmp_path):
    imageio = pytest.importorskip("imageio.v2")
    from jostle.cli.video import OVERLAYS, VideoConfig, make_video

    start_run(short(classifier, "two-cubes"), tmp_path / "run", quiet).run()
    shown = {}
    for overlay in OVERLAYS:
        config = VideoConfig(
            task="TwoCubes", agent=(str(tmp_path / "run"),), out=tmp_path / overlay, size=48,
            overlay=overlay, steps=1, format="gif",
        )  # fmt: skip
        video, _, _ = make_video(config)
        shown[overlay] = np.stack(imageio.mimread(video)).tobytes()
    assert len(set(shown.values())) == len(shown)

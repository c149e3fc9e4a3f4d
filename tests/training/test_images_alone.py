"""Training from images alone: nothing true is read, and the classifier belongs to the run."""

import functools
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from images import ENCODER, by_images, hide_truth, quick_classifier, with_stages  # noqa: E402

from experiments import (  # noqa: E402
    assert_same_tensors,
    metric_rows,
    quiet,
    small_encoder,
    stop_at,
)
from jostle.core.checkpoint import CheckpointError, load  # noqa: E402
from jostle.core.errors import BadValueError, NotFiniteError  # noqa: E402
from jostle.core.object_classifier import load_classifier  # noqa: E402
from jostle.encoders.saving import load_encoder, save_encoder  # noqa: E402
from jostle.presets.words import parse_words  # noqa: E402
from jostle.runs.run_dir import RunDir  # noqa: E402
from jostle.tasks.task import Task  # noqa: E402
from jostle.training import images as training_images  # noqa: E402
from jostle.training.fit_objects import FitObjectsConfig, fit_object_classifier  # noqa: E402
from jostle.training.start import resume_run, start_run  # noqa: E402


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    """A classifier fitted to few random actions."""
    return quick_classifier(tmp_path_factory.mktemp("classifier"))


@pytest.fixture(autouse=True)
def evaluations_are_short(monkeypatch):
    """Four steps instead of fifty per object."""
    monkeypatch.setattr(Task, "evaluation_steps", lambda self, count: 4)


@pytest.mark.parametrize(
    ("reward", "values", "reach_prob"),
    [
        ("table", "pooled", 0.5), ("table", "pooled", 0.0), ("gdac", "pooled", 0.0),
        ("table", "per-entity", 0.0),
    ],
    ids=["table, the gripper is known", "table", "gdac", "table, values of goal particles"],
)  # fmt: skip
def test_nothing_true_is_read_from_the_first_episode_to_the_choice_of_weights(
    reward, values, reach_prob, classifier, tmp_path, monkeypatch
):
    small = by_images(classifier, reward, "two-cubes", values, env_steps=2 * 3 * 3)
    experiment = with_stages(small)
    explore = replace(experiment.explore, reach_prob=reach_prob)
    stages = replace(experiment.curriculum, stage_reach_prob=(reach_prob,))
    experiment = replace(experiment, explore=explore, curriculum=stages)
    # Everything is a success by images, so that the first stage ends early
    rules = functools.partial(training_images.ObjectRules)
    monkeypatch.setattr(
        training_images, "ObjectRules", lambda reward, _, table: rules(reward, 9.0, table)
    )
    start_run(experiment, tmp_path / "sighted", quiet).run()
    hide_truth(monkeypatch, keep_gripper=reach_prob > 0)
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
    last = [load(tmp_path / name / "checkpoints/last.safetensors")[0] for name in
            ("sighted", "blind")]  # fmt: skip
    assert np.isnan(last[1]["buffer.achieved"].numpy()).all()
    agents = [{key: x for key, x in part.items() if key[:5] == "agent"} for part in last]
    assert all(torch.equal(x, agents[1][key]) for key, x in agents[0].items())


def test_a_reward_of_true_coordinates_does_not_survive_hidden_truth(
    classifier, tmp_path, monkeypatch
):
    hide_truth(monkeypatch, keep_gripper=True)
    experiment = by_images(classifier, "true", success="images")
    experiment = replace(
        experiment,
        explore=replace(experiment.explore, reach_prob=0.0),
        hindsight=replace(experiment.hindsight, goal_render_every=0),
    )
    with pytest.raises(NotFiniteError):
        start_run(experiment, tmp_path / "run", quiet).run()


@pytest.mark.parametrize(
    ("reward", "values"),
    [
        ("table", "pooled"), ("table", "per-entity"), ("gdac", "pooled"), ("gdac-paper", "pooled"),
        ("chamfer", "pooled"),
    ],
)  # fmt: skip
def test_it_resumes_bit_for_bit_with_the_classifier_of_the_run(
    reward, values, classifier, tmp_path
):
    given = tmp_path / "given.safetensors"
    given.write_bytes(classifier.read_bytes())
    experiment = by_images(given, reward, values=values)
    start_run(experiment, tmp_path / "whole", quiet).run()
    with pytest.raises(RuntimeError):
        start_run(experiment, tmp_path / "failed", stop_at(3, RuntimeError)).run()
    given.unlink()  # the run has a copy
    resume_run(tmp_path / "failed", quiet).run()
    for name in ("last", "best", "best-critics"):
        file = f"checkpoints/{name}.safetensors"
        assert_same_tensors(tmp_path / "whole" / file, tmp_path / "failed" / file)
    row = metric_rows(tmp_path / "whole")[-1]
    assert {"image_success", "train_image_success", "image_distance", "image_return"} <= row.keys()
    score = load(RunDir(tmp_path / "whole").best)[1]["score"]
    assert score["image_success"] == row["image_success"]
    assert "success" not in score


def test_without_a_file_the_classifier_is_fitted_to_random_actions_and_stored(
    tmp_path, monkeypatch
):
    few = functools.partial(FitObjectsConfig, episodes=20, steps=8)
    monkeypatch.setattr(training_images, "FitObjectsConfig", few)
    hide_truth(monkeypatch, keep_gripper=False)
    experiment = by_images(None)
    explore = replace(experiment.explore, reach_prob=0.0)
    start_run(replace(experiment, explore=explore), tmp_path / "run", quiet)
    run = RunDir(tmp_path / "run")
    encoder = load_encoder(run.encoder)[0]
    stored = load_classifier(run.object_classifier)
    stored.check_encoder(load(run.encoder)[1]["encoder"]["hash"])
    again = fit_object_classifier(encoder, ("front", "side"), few())
    np.testing.assert_array_equal(stored.layers[0][0], again.layers[0][0])

    # Lost, or of another encoder
    kept = run.object_classifier.read_bytes()
    run.object_classifier.unlink()
    with pytest.raises(CheckpointError, match="lost its classifier"):
        resume_run(run.path, quiet)
    run.object_classifier.write_bytes(kept)
    save_encoder(run.encoder, small_encoder(), {})
    with pytest.raises(BadValueError, match="fitted to an encoder with the hash"):
        resume_run(run.path, quiet)


def test_success_by_images_can_choose_weights_of_a_true_reward(classifier, tmp_path):
    experiment = by_images(classifier, "true", success="images")
    experiment = replace(experiment, hindsight=replace(experiment.hindsight, goal_render_every=0))
    trainer = start_run(experiment, tmp_path / "run", quiet)
    trainer.run()
    assert "image_success" in metric_rows(tmp_path / "run")[-1]
    assert trainer.components.buffer.view().objects is None  # no reward reads them


def test_true_success_can_choose_weights_of_an_image_reward_and_goals_can_be_rendered(
    classifier, tmp_path
):
    experiment = by_images(classifier, "table", success="truth")
    experiment = replace(experiment, hindsight=replace(experiment.hindsight, goal_render_every=1))
    trainer = start_run(experiment, tmp_path / "run", quiet)
    trainer.run()
    assert "success" in metric_rows(tmp_path / "run")[-1]
    assert np.isfinite(trainer.components.sampler.sample(50).reward.numpy()).all()


def test_privileged_critics_can_learn_from_an_image_reward(classifier, tmp_path):
    words = f"one-cube --obs pixels --method td3-privileged --reward table --encoder {ENCODER}"
    experiment = parse_words(words.split()).experiment
    small = by_images(classifier).training
    training = replace(small, method="td3-privileged", shuffle_object_ids=False)
    experiment = replace(experiment, training=training, object_classifier=str(classifier))
    start_run(experiment, tmp_path / "run", quiet).run()
    assert metric_rows(tmp_path / "run")[-1]["updates"] > 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--reward table --encoder slots-6cubes --no-table-xy", "Use an encoder 'dlp'"),
        ("--reward gdac --encoder vae-123cubes --no-table-xy", "Use an encoder 'dlp'"),
        ("--reward table --reach-from truth", "where they truly are"),
        ("--reward gdac --values per-entity", "Train with --reward table"),
        ("--reward table --drop-attributes mask", "which particles are visible"),
        ("--reward table --object-classifier nowhere.safetensors", "There is no file"),
        ("--object-classifier objects.safetensors", "for rewards of images"),
    ],
)
def test_what_does_not_go_with_images_alone_is_refused_before_training(
    words, message, tmp_path, capsys
):
    def start():
        experiment = parse_words(f"one-cube --obs pixels --method td3 {words}".split()).experiment
        weights = ENCODER.with_stem(experiment.encoder)
        start_run(replace(experiment, encoder=str(weights)), tmp_path / "run", quiet)

    with pytest.raises((BadValueError, SystemExit)) as error:
        start()
    said = f"{error.value} {' '.join(capsys.readouterr().err.replace('│', ' ').split())}"
    assert any(part in said for part in message.split("|")), said
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("task", "words", "message"),
    [
        ("one-cube", "--reward table", "--obs pixels"),
        ("sorting", "--obs pixels --method td3 --reward table", "one goal"),
        ("push-t", "--obs pixels --method td3 --reward gdac", "headings"),
        ("distractors", "--obs pixels --method td3 --reward table", "not in the scene"),
        ("one-cube", "--obs pixels --method dagger --reward table", "td3"),
        ("one-cube", "--obs state --success images", "pixel agent"),
    ],
)
def test_tasks_and_methods_without_rewards_of_images_are_named(task, words, message, capsys):
    with pytest.raises((BadValueError, SystemExit)) as error:
        parse_words([task, *words.split()])
    said = f"{error.value} {' '.join(capsys.readouterr().err.replace('│', ' ').split())}"
    assert message in said

"""Trainings in varied scenes: stars, other colors, other masses."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from experiments import (  # noqa: E402
    assert_same_tensors,
    quiet,
    small_encoder,
    stop_at,
    tiny,
)
from jostle.core.errors import BadValueError, ImpossibleSceneError, UnknownNameError  # noqa: E402
from jostle.presets.axes import Axes  # noqa: E402
from jostle.presets.experiments import make_experiment  # noqa: E402
from jostle.scene.colors import COLORS  # noqa: E402
from jostle.training import images  # noqa: E402
from jostle.training.components import make_env, make_training_env  # noqa: E402
from jostle.training.experiment import read_experiment  # noqa: E402
from jostle.training.fit_objects import FitObjectsConfig  # noqa: E402
from jostle.training.start import resume_run, start_run  # noqa: E402


def test_all_environments_of_a_varied_training_are_varied():
    experiment = replace(tiny(), vary=("shape=star", "mass=x2", "color=held-out"))
    for env in (make_training_env(experiment), make_env(experiment, 2)):
        episode = env.episode_sampler.sample(np.random.default_rng(0))
        env.close()
        assert {item.shape for item in episode.scene.objects} == {"star"}
        assert {item.mass for item in episode.scene.objects} == {2.0}
        assert set(episode.appearance.colors) <= set(list(COLORS.values())[6:])


def test_a_varied_training_resumes_bit_for_bit(tmp_path):
    experiment = replace(tiny(), vary=("shape=star", "friction=0.5"))
    assert read_experiment(experiment.to_dict()) == experiment
    start_run(experiment, tmp_path / "whole", quiet).run()
    with pytest.raises(RuntimeError):
        start_run(experiment, tmp_path / "failed", stop_at(3, RuntimeError)).run()
    resume_run(tmp_path / "failed", quiet).run()
    last = "checkpoints/last.safetensors"
    assert_same_tensors(tmp_path / "whole" / last, tmp_path / "failed" / last)
    start_run(tiny(), tmp_path / "plain", quiet).run()
    with pytest.raises(AssertionError):  # other episodes than without
        assert_same_tensors(tmp_path / "whole" / last, tmp_path / "plain" / last)


def test_the_classifier_of_objects_is_fitted_to_varied_scenes(monkeypatch):
    fitted = []
    monkeypatch.setattr(images, "fit_object_classifier", lambda *args: fitted.append(args[-1]))
    plain = make_experiment("three-cubes", Axes(obs="objects"))
    for vary in ((), ("shape=star", "color=held-out")):
        images.new_classifier(replace(plain, vary=vary), small_encoder())
    assert fitted == [
        FitObjectsConfig(),
        FitObjectsConfig(objects=(1, 3), vary=("shape=star", "color=held-out")),
    ]


@pytest.mark.parametrize(
    ("vary", "reason"),
    [
        ("camera.front.x=+0.1", "cannot vary cameras"),
        ("drop_camera=side", "cannot vary cameras"),
        ("distractors=3", "as many as the task"),
    ],
)
def test_what_only_evaluations_vary_is_refused(vary, reason):
    with pytest.raises(BadValueError, match=reason):
        replace(tiny(), vary=(vary,))


def test_unknown_and_impossible_scenes_are_refused_and_leave_nothing_behind(tmp_path):
    with pytest.raises(UnknownNameError, match="Did you mean 'star'"):
        replace(tiny(), vary=("shape=starr",))
    with pytest.raises(ImpossibleSceneError, match="cannot be varied by 'size=9x9'"):
        start_run(replace(tiny(), vary=("size=9x9",)), tmp_path / "run", quiet)
    assert not list(tmp_path.iterdir())

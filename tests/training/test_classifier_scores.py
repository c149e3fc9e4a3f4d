"""What `jostle probe --classifier` reports, and in which scenes."""

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from jostle.cli import probe_classifier  # noqa: E402
from jostle.training import classifier_scores  # noqa: E402
from jostle.training.classifier_scores import SCENES, scene_env  # noqa: E402
from jostle.zoo.encoders import load_encoder  # noqa: E402
from typed_words import typed  # noqa: E402


def test_every_scene_shows_its_objects():
    encoder = load_encoder("dlp-6cubes")
    shown = {}
    for name, scene in SCENES.items():
        env = scene_env(scene, encoder, ("front", "side"), 1)
        observation, _ = env.reset(seed=0)
        shown[name] = env.episode_sampler.max_objects
        assert observation["front"].shape == (1, 128, 128, 3)
        env.close()
    assert [shown[f"{n} cube{'s' * (n > 1)}"] for n in (1, 3, 6, 12)] == [1, 3, 6, 12]


def test_probe_reports_both_classifiers_and_says_that_tags_are_simulated(
    monkeypatch, capsys, tmp_path
):
    scenes = {"1 cube": SCENES["1 cube"]}
    monkeypatch.setattr(classifier_scores, "SCENES", scenes)
    monkeypatch.setattr(probe_classifier, "_STEPS", 4)
    words = "probe", "dlp-6cubes", "--classifier", "--limit", "3", "--out", str(tmp_path), "--quiet"
    code, printed = typed(monkeypatch, capsys, *words)
    assert code == 0
    assert "| 1 cube |" in printed.out
    content = json.loads((tmp_path / "dlp-6cubes-classifier.json").read_text())
    (row,) = content["scenes"]
    assert row["particles"] > 10
    for part in ("motion", "tagged"):
        assert np.isfinite(list(row[part].values())).all()
        assert min(row[part].values()) > 0.8
    assert "Tags are simulated" in (tmp_path / "dlp-6cubes-classifier.md").read_text()


def test_folders_of_frames_do_not_go_with_the_classifier(monkeypatch, capsys, tmp_path):
    words = "probe", "dlp-6cubes", "--classifier", "--data", str(tmp_path)
    code, printed = typed(monkeypatch, capsys, *words)
    assert (code, "leave out --data" in printed.err) == (2, True)

"""Probe reports, and the command that writes them."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from painted import SIZE, Perfect, PerfectSlots, PerfectVector, paint

from jostle.cli.probe import run
from jostle.cli.scenes import collect_scenes, read_scenes
from jostle.core.errors import BadValueError, JostleError
from jostle.encoders.dlp import DLP
from jostle.encoders.dlp_config import LITE_DLP
from jostle.encoders.saving import save_encoder
from jostle.frames.reader import Frames
from jostle.probing.examples import scene_examples, worst_cases
from jostle.probing.metrics import EncoderMetrics, metric_descriptions
from jostle.probing.probe import Probe
from jostle.reports import encoders
from jostle.reports.drawing import draw_detections
from jostle.reports.encoders import (
    COLUMNS,
    ProbeSection,
    html_page,
    metrics_table,
    total_by_folder,
)
from jostle.rollout.frame_collector import CollectOptions

SCENES = Path(__file__).parents[2] / "studies/probe.toml"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return paint(tmp_path_factory.mktemp("scenes") / "squares", episodes=12)


def make_section(encoder, folder) -> ProbeSection:
    probe = Probe.run(encoder, folder)
    scenes, failures = scene_examples(encoder, probe, 2), worst_cases(encoder, probe, 4)
    return ProbeSection(probe.result(), scenes, failures)


def test_every_metric_has_a_description_and_a_column():
    assert list(metric_descriptions()) == list(EncoderMetrics.__dataclass_fields__)
    assert all(text.endswith(".") for text in metric_descriptions().values())
    empty = EncoderMetrics(objects=3)
    assert {column(empty) for column in COLUMNS.values()} == {"3", "–"}


def table_of(encoder, folder) -> str:
    return metrics_table(total_by_folder([make_section(encoder, folder).result]))


def test_tables_leave_out_empty_columns(folder):
    particles, vector = table_of(Perfect(folder), folder), table_of(PerfectVector(folder), folder)
    assert "| squares |" in particles
    assert "100.0%" in particles
    assert "recall" not in vector
    assert "PSNR" in vector
    assert len({len(line) for line in particles.splitlines()}) == 1


def test_worst_cases_are_missed_objects_of_different_episodes(folder):
    encoder = Perfect(folder)
    encoder.visible[8:12, 0, 1] = False  # the third episode
    encoder.positions[20:24, 1, 2] += 3  # the sixth, a little
    cases = worst_cases(encoder, Probe.run(encoder, folder), 2)
    assert [(case.view, case.object) for case in cases] == [(0, 1), (1, 2)]
    assert [case.scene.missed.sum() for case in cases] == [1, 1]
    assert cases[0].error > cases[1].error == pytest.approx(np.hypot(3, 3), abs=1e-4)


def test_images_show_particles_and_rings_around_missed_objects(folder):
    encoder = Perfect(folder)
    encoder.visible[:, 0, 1] = False
    scene = scene_examples(encoder, Probe.run(encoder, folder), 1)[0]
    image = draw_detections(scene, 0)
    assert image.shape == (2 * SIZE, 2 * SIZE, 3)
    row, column = (2 * scene.centers[0, 0] + 1).astype(int)
    assert (image[row, column] == (255, 140, 0)).all()  # the center of a particle
    row, column = (2 * scene.centers[0, 1] + 1).astype(int)
    ring = image[row - 13 : row + 14, column - 13 : column + 14]
    assert (ring == (220, 0, 0)).all(-1).sum() > 30
    assert not (image[row, column] == (255, 140, 0)).all()


@pytest.mark.parametrize("encoder_class", [Perfect, PerfectSlots, PerfectVector])
def test_html_pages_are_self_contained(encoder_class, folder):
    section = make_section(encoder_class(folder), folder)
    text = html_page("a <name>", "jostle probe a", [section])
    assert "a &lt;name&gt;" in text
    assert "<script" not in text
    assert set(re.findall(r'src="([^"]{10})', text)) == {"data:image"}
    assert text.count("<img") >= 8


def test_the_size_of_a_page_is_limited(folder, monkeypatch):
    monkeypatch.setattr(encoders, "MAX_BYTES", 60_000)
    section = make_section(Perfect(folder), folder)
    text = html_page("many", "jostle probe many", [section] * 8)
    assert len(text) < 60_000
    assert text.count("<h2>") == 8
    assert text.count("<img") >= 8


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("weights") / "tiny.safetensors"
    save_encoder(
        path, DLP(replace(LITE_DLP, image_size=SIZE, patch_size=8, box_size_prior=14 / SIZE)), {}
    )
    return path


def test_the_command_writes_metrics_and_pages(weights, folder, tmp_path, capsys):
    out = tmp_path / "out"
    run([str(weights), "--data", str(folder), "--out", str(out), "--limit", "20"])
    assert "| squares |" in capsys.readouterr().out
    content = json.loads((out / "tiny.json").read_text())
    assert content["data"][0]["scenes"] == 20
    assert content["data"][0]["total"]["objects"] == 20 * 2 * 3
    text = (out / "tiny.md").read_text()
    for name in re.findall(r"\]\((.*?)\)", text):
        assert (out / name).stat().st_size > 1000
    assert "glimpses of particles" in (out / "tiny.html").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("{weights}", "There are no frames"),
        ("{weights} --data nowhere", "no such folder"),
        ("{weights} --scenes nowhere.toml", "is not a list of scenes"),
        ("unknown --data {folder}", "no encoder called 'unknown'"),
        ("{weights} --data {folder} --limit 0", "limit must be at least 1"),
        ("{weights} --data {folder} --threads -1", "threads must be at least 0"),
    ],
)
def test_invalid_arguments_are_refused(words, message, weights, folder, capsys):
    with pytest.raises((JostleError, SystemExit)) as caught:
        run(words.format(weights=weights, folder=folder).split())
    text = " ".join((str(caught.value) + capsys.readouterr().err).replace("│", " ").split())
    assert message in text


def test_the_probe_scenes_can_be_built_with_a_seed_of_their_own():
    frames, datasets = read_scenes(SCENES)
    assert frames == 1800
    assert len(datasets) == 14
    for name, dataset in datasets.items():
        assert dataset.seed == 1000
        assert dataset.truth
        env = dataset.make_env(1, 1)
        assert name[0] not in "123456" or env.episode_sampler.max_objects == int(name[0])
        env.close()


def test_scenes_are_collected_once(tmp_path):
    path = tmp_path / "few.toml"
    path.write_text(
        'frames = 12\nseed = 3\n[[scenes]]\nname = "one"\ntask = "NCubes"\nobjects = [1]\n'
        'size = 32\nsteps = 2\n[[scenes]]\nname = "stars"\ntask = "NCubes"\nobjects = [2]\n'
        'shape = "star"\nsize = 32\nsteps = 2\n'
    )
    folders = collect_scenes(path, tmp_path / "frames", CollectOptions(threads=1))
    assert [folder.name for folder in folders] == ["one", "stars"]
    assert [len(Frames(folder)) for folder in folders] == [6, 6]
    before = [(folder / "manifest.json").read_bytes() for folder in folders]
    collect_scenes(path, tmp_path / "frames", CollectOptions(threads=1))
    assert [(folder / "manifest.json").read_bytes() for folder in folders] == before


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("frames = 1", "is not a list of scenes"),
        ('frames = 1\nseed = 0\n[[scenes]]\ntask = "NCubes"', "a name each"),
        (
            'frames = 1\nseed = 0\n[[scenes]]\nname = "a"\ntask = "NCubes"\nobject = 1',
            "Did you mean 'objects'",
        ),
        ('frames = 1\nseed = 0\n[[scenes]]\nname = "a"', "need a task"),
    ],
)
def test_invalid_lists_of_scenes_are_refused(text, message, tmp_path):
    (tmp_path / "wrong.toml").write_text(text)
    with pytest.raises(BadValueError, match=message):
        read_scenes(tmp_path / "wrong.toml")

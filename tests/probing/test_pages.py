"""Pages about encoders, and the verb that writes them."""

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
from jostle.frames.reader import Frames
from jostle.particles.config import LITE_DLP
from jostle.particles.dlp import DLP
from jostle.particles.saving import save_encoder
from jostle.probing.measure import Study
from jostle.probing.numbers import Numbers, meanings
from jostle.probing.showing import examples, worst
from jostle.reports import encoders
from jostle.reports.encoders import COLUMNS, Chapter, page, rows_of, table
from jostle.reports.portraits import found
from jostle.rollout.snapshots import Pace

RECIPE = Path(__file__).parents[2] / "recipes/probe.toml"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return paint(tmp_path_factory.mktemp("scenes") / "squares", episodes=12)


def chapter(model, folder) -> Chapter:
    study = Study.of(model, folder)
    return Chapter(study.measured(), examples(model, study, 2), worst(model, study, 4))


def test_every_number_has_a_meaning_and_a_column():
    assert list(meanings()) == list(Numbers.__dataclass_fields__)
    assert all(text.endswith(".") for text in meanings().values())
    empty = Numbers(objects=3)
    assert {column(empty) for column in COLUMNS.values()} == {"3", "–"}


def test_a_table_leaves_out_what_nobody_has(folder):
    whole = table(rows_of([chapter(Perfect(folder), folder).measured]))
    assert "| squares |" in whole
    assert "100.0%" in whole
    vector = table(rows_of([chapter(PerfectVector(folder), folder).measured]))
    assert "recall" not in vector
    assert "PSNR" in vector
    assert len({len(line) for line in whole.splitlines()}) == 1


def test_the_worst_are_missed_objects_of_different_episodes(folder):
    spoiled = Perfect(folder)
    spoiled.on[8:12, 0, 1] = False  # the third episode
    spoiled.places[20:24, 1, 2] += 3  # the sixth, a little
    found = worst(spoiled, Study.of(spoiled, folder), 2)
    assert [(case.view, case.object) for case in found] == [(0, 1), (1, 2)]
    assert [case.shown.missed.sum() for case in found] == [1, 1]
    assert found[0].error > found[1].error == pytest.approx(np.hypot(3, 3), abs=1e-4)


def test_pictures_show_boxes_and_ring_what_was_missed(folder):
    spoiled = Perfect(folder)
    spoiled.on[:, 0, 1] = False
    study = Study.of(spoiled, folder)
    shown = examples(spoiled, study, 1)[0]
    picture = found(shown, 0)
    assert picture.shape == (2 * SIZE, 2 * SIZE, 3)
    row, column = (2 * shown.middles[0, 0] + 1).astype(int)
    assert (picture[row, column] == (255, 140, 0)).all()  # a particle is there
    row, column = (2 * shown.middles[0, 1] + 1).astype(int)
    ring = picture[row - 13 : row + 14, column - 13 : column + 14]
    assert (ring == (220, 0, 0)).all(-1).sum() > 30
    assert not (picture[row, column] == (255, 140, 0)).all()


@pytest.mark.parametrize("kind", [Perfect, PerfectSlots, PerfectVector])
def test_a_page_needs_nothing_outside_of_it(kind, folder):
    text = page("a <name>", "jostle probe a", [chapter(kind(folder), folder)])
    assert "a &lt;name&gt;" in text
    assert "<script" not in text
    assert set(re.findall(r'src="([^"]{10})', text)) == {"data:image"}
    assert text.count("<img") >= 8


def test_a_page_stays_small_whatever_is_told(folder, monkeypatch):
    monkeypatch.setattr(encoders, "LARGEST", 60_000)
    one = chapter(Perfect(folder), folder)
    text = page("many", "jostle probe many", [one] * 8)
    assert len(text) < 60_000
    assert text.count("<h2>") == 8
    assert text.count("<img") >= 8


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("weights") / "tiny.safetensors"
    save_encoder(path, DLP(replace(LITE_DLP, image=SIZE, patch=8, box_prior=14 / SIZE)), {})
    return path


def test_the_verb_writes_numbers_and_pages(weights, folder, tmp_path, capsys):
    out = tmp_path / "out"
    run([str(weights), "--data", str(folder), "--out", str(out), "--limit", "20"])
    assert "| squares |" in capsys.readouterr().out
    content = json.loads((out / "tiny.json").read_text())
    assert content["data"][0]["scenes"] == 20
    assert content["data"][0]["total"]["objects"] == 20 * 2 * 3
    text = (out / "tiny.md").read_text()
    for name in re.findall(r"\]\((.*?)\)", text):
        assert (out / name).stat().st_size > 1000
    assert "what particles look like" in (out / "tiny.html").read_text()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("{weights}", "nothing to look at"),
        ("{weights} --data nowhere", "no such folder"),
        ("{weights} --scenes nowhere.toml", "is no recipe of scenes"),
        ("nobody --data {folder}", "no encoder called 'nobody'"),
        ("{weights} --data {folder} --limit 0", "number of scenes above 0"),
        ("{weights} --data {folder} --threads -1", "threads must be 0 or more"),
    ],
)
def test_misuse_is_answered_in_words(words, says, weights, folder, capsys):
    with pytest.raises((JostleError, SystemExit)) as told:
        run(words.format(weights=weights, folder=folder).split())
    text = " ".join((str(told.value) + capsys.readouterr().err).replace("│", " ").split())
    assert says in text


def test_the_recipe_of_scenes_can_be_built_and_is_never_trained_on():
    frames, wanted = read_scenes(RECIPE)
    assert frames == 1800
    assert len(wanted) == 14
    for name, collection in wanted.items():
        assert collection.seed == 1000
        assert collection.truth
        env = collection.build(1, 1)
        assert name[0] not in "123456" or env.recipe.most == int(name[0])
        env.close()


def test_scenes_are_collected_once(tmp_path):
    recipe = tmp_path / "few.toml"
    recipe.write_text(
        'frames = 12\nseed = 3\n[[scenes]]\nname = "one"\ntask = "NCubes"\nobjects = [1]\n'
        'size = 32\nsteps = 2\n[[scenes]]\nname = "stars"\ntask = "NCubes"\nobjects = [2]\n'
        'shape = "star"\nsize = 32\nsteps = 2\n'
    )
    folders = collect_scenes(recipe, tmp_path / "frames", Pace(threads=1))
    assert [path.name for path in folders] == ["one", "stars"]
    assert [len(Frames(path)) for path in folders] == [6, 6]
    before = [(path / "manifest.json").read_bytes() for path in folders]
    collect_scenes(recipe, tmp_path / "frames", Pace(threads=1))
    assert [(path / "manifest.json").read_bytes() for path in folders] == before


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("frames = 1", "is no recipe of scenes"),
        ('frames = 1\nseed = 0\n[[scenes]]\ntask = "NCubes"', "a name each"),
        (
            'frames = 1\nseed = 0\n[[scenes]]\nname = "a"\ntask = "NCubes"\nobject = 1',
            "Did you mean 'objects'",
        ),
        ('frames = 1\nseed = 0\n[[scenes]]\nname = "a"', "need a task"),
    ],
)
def test_a_wrong_recipe_is_answered_in_words(text, says, tmp_path):
    (tmp_path / "wrong.toml").write_text(text)
    with pytest.raises(BadValueError, match=says):
        read_scenes(tmp_path / "wrong.toml")

"""Collecting: the same frames however the work is cut, and truth that agrees with them."""

import json
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from jostle.cli.collect import run
from jostle.core.errors import BadValueError, JostleError
from jostle.envs.vector import TabletopVectorEnv
from jostle.frames.reader import Frames
from jostle.frames.truth import Truth
from jostle.rollout.acting import advanced
from jostle.rollout.collection import Collection
from jostle.rollout.snapshots import Pace, collect
from jostle.scene.cameras import CAMERAS, project
from jostle.scene.spec import TABLE_TOP

SMALL = Collection(task="NCubes", objects=(1, 4), colors=("random",), size=32, steps=3)
PACE = Pace(copies=3, threads=1, shard=24)  # two rounds of three episodes of four scenes
PER_EPISODE = 8


def everything(path) -> tuple[np.ndarray, ...]:
    frames, truth = Frames(path), Truth(path)
    frames.verify()
    known = truth.batch(truth.scenes)
    places = np.stack((frames.collections, frames.episodes, frames.steps))
    return (frames.batch(np.arange(len(frames))), places, truth.scenes, *vars(known).values())


def assert_same(one, two) -> None:
    for mine, other in zip(everything(one), everything(two), strict=True):
        np.testing.assert_array_equal(mine, other)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole")
    assert collect(SMALL, 16 * PER_EPISODE, path, PACE) == 16 * PER_EPISODE
    return path


def test_frames_do_not_depend_on_copies_threads_or_shards(whole, tmp_path):
    collect(SMALL, 16 * PER_EPISODE, tmp_path, Pace(copies=5, threads=2, shard=1000))
    assert_same(whole, tmp_path)


def test_in_two_parts_is_the_same_as_at_once(whole, tmp_path):
    collect(SMALL, 7 * PER_EPISODE - 3, tmp_path, PACE)  # rounded up to whole episodes
    assert len(Frames(tmp_path)) == 7 * SMALL.scenes
    collect(SMALL, 16 * PER_EPISODE, tmp_path, PACE)
    assert_same(whole, tmp_path)
    before = (tmp_path / "manifest.json").read_bytes()
    assert collect(SMALL, 16 * PER_EPISODE, tmp_path, PACE) == 16 * PER_EPISODE
    assert (tmp_path / "manifest.json").read_bytes() == before


@pytest.mark.parametrize(("rounds", "kept"), [(1, 0), (2, 0), (3, 6), (4, 6)])
def test_an_interrupt_loses_the_open_shard_only(whole, tmp_path, rounds, kept):
    heard = []

    def bar(total, done):
        def tell(frames):
            heard.append(frames)
            if len(heard) == rounds:
                raise KeyboardInterrupt

        return tell

    with pytest.raises(KeyboardInterrupt):
        collect(SMALL, 16 * PER_EPISODE, tmp_path, PACE, bar)
    assert not list(tmp_path.glob(".*.part"))
    if kept:
        assert len(Frames(tmp_path)) == kept * SMALL.scenes
    collect(SMALL, 16 * PER_EPISODE, tmp_path, PACE)
    assert_same(whole, tmp_path)


def test_a_killed_collection_goes_on(tmp_path):
    words = (
        "collect NCubes --objects 1 4 --colors random --size 32 --steps 3 --out f "
        "--frames 1000000 --copies 2 --threads 1 --shard 8"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", "from jostle.cli.main import main; main()", *words.split()],
        cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    killed, deadline = tmp_path / "f", time.monotonic() + 60
    while not (killed / "manifest.json").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = len(set(Frames(killed).episodes.tolist()))
    wanted = (done + 3) * PER_EPISODE
    collect(SMALL, wanted, killed, PACE)
    assert not list(killed.glob(".*.part"))
    collect(SMALL, wanted, tmp_path / "at-once", PACE)
    assert_same(killed, tmp_path / "at-once")


def test_the_manifest_tells_how_the_frames_were_made(whole):
    manifest = json.loads((whole / "manifest.json").read_text())
    asked = manifest["collections"][0]["asked"]
    assert asked["task"] == "NCubes"
    assert (asked["objects"], asked["colors"], asked["seed"]) == ([1, 4], ["random"], 0)
    assert asked["policy"] == "mixed"
    assert "mujoco" in manifest["collections"][0]["made_by"]["packages"]
    assert manifest["layout"]["size"] == [32, 32]
    assert [camera["name"] for camera in manifest["layout"]["cameras"]] == ["front", "side"]
    assert sum(shard["scenes"] for shard in manifest["shards"]) == 16 * SMALL.scenes


def test_colors_are_drawn_per_episode_and_told_truly(whole):
    frames, truth = Frames(whole), Truth(whole)
    known = truth.batch(np.arange(len(frames)))
    there = known.present
    np.testing.assert_allclose(truth.palette[known.colors[there]], known.rgb[there])
    colors = known.colors.reshape(-1, SMALL.scenes, truth.objects)
    assert (colors == colors[:, :1]).all()
    assert len({tuple(one) for one in colors[:, 0, :1].tolist()}) > 2
    for one, here in zip(known.colors, there, strict=True):
        assert len(set(one[here].tolist())) == here.sum()
    assert set(there.sum(-1).tolist()) <= {1, 2, 3, 4}
    assert len(set(there.sum(-1).tolist())) > 1


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    path = tmp_path_factory.mktemp("large")
    wish = Collection(task="ThreeCubes", steps=4, seed=3, colors=("random",))
    collect(wish, 120, path, Pace(copies=6, threads=1))
    return path


def test_masks_agree_with_positions(large):
    truth = Truth(large)
    known = truth.batch(truth.scenes)
    checked = 0
    for view, name in enumerate(("front", "side")):
        places = known.positions + np.array((0, 0, TABLE_TOP))
        centers = project(CAMERAS[name], places, (128, 128))  # (B, N, 2)
        for scene, one in np.argwhere(known.seen[:, view] == known.whole[:, view]):
            rows, columns = np.nonzero(known.masks[scene, view] == 2 + one)
            if len(rows) < 20 or min(*rows, *columns) == 0 or max(*rows, *columns) == 127:
                continue
            centroid = (columns.mean() + 0.5, rows.mean() + 0.5)
            assert np.hypot(*(centers[scene, one] - centroid)) < 1.5
            checked += 1
    assert checked > 60


def test_masks_show_the_colors(large):
    frames, truth = Frames(large), Truth(large)
    known, drawn = truth.batch(truth.scenes), frames.batch(truth.scenes)
    checked = 0
    for scene, view, one in np.argwhere(known.seen > 40):
        pixels = drawn[scene, view][known.masks[scene, view] == 2 + one].mean(0)
        palette = truth.palette / np.linalg.norm(truth.palette, axis=1, keepdims=True)
        assert int((palette @ pixels).argmax()) == known.colors[scene, one]
        checked += 1
    assert checked > 60


def test_no_object_shows_more_pixels_than_it_has(large):
    truth = Truth(large)
    known = truth.batch(truth.scenes)
    assert (known.seen <= known.whole).all()
    counts = [(known.masks == 2 + one).sum((2, 3)) for one in range(truth.objects)]
    np.testing.assert_array_equal(known.seen, np.stack(counts, axis=-1))
    assert (known.seen == known.whole).mean() > 0.4
    assert (known.seen < known.whole).any()
    assert (known.masks == 1).any()


def test_truth_can_be_thinned_out_or_left_out(whole, tmp_path):
    thin = replace(SMALL, truth_every=2)
    collect(thin, 3 * PER_EPISODE, tmp_path / "thin", PACE)
    truth = Truth(tmp_path / "thin")
    assert truth.scenes.tolist() == [0, 2, 4, 6, 8, 10]
    full = Truth(whole).batch(truth.scenes)
    for mine, other in zip(
        vars(truth.batch(truth.scenes)).values(), vars(full).values(), strict=True
    ):
        np.testing.assert_array_equal(mine, other)
    collect(replace(SMALL, truth=False), 3 * PER_EPISODE, tmp_path / "none", PACE)
    np.testing.assert_array_equal(
        Frames(tmp_path / "none").batch(range(12)), Frames(whole).batch(range(12))
    )
    with pytest.raises(BadValueError, match="begun in"):
        collect(thin, 6 * PER_EPISODE, tmp_path / "none", PACE)


@pytest.mark.parametrize("policy", ["random", "oracle", "mixed"])
def test_tasks_and_policies_mix_in_one_folder_if_the_layout_is_equal(whole, tmp_path, policy):
    other = Collection(task="PushT", size=32, steps=3, policy=policy)
    collect(SMALL, PER_EPISODE, tmp_path, PACE)
    collect(other, PER_EPISODE, tmp_path, PACE)
    frames = Frames(tmp_path)
    assert np.unique(frames.collections).tolist() == [0, 1]
    np.testing.assert_array_equal(frames.batch(range(4)), Frames(whole).batch(range(4)))
    for wrong in (replace(other, size=48), replace(other, cameras=("front", "top"))):
        with pytest.raises(BadValueError, match="holds frames from cameras front, side of 32 x 32"):
            collect(wrong, PER_EPISODE, tmp_path, PACE)


def test_other_seeds_and_policies_give_other_frames(whole, tmp_path):
    first = Frames(whole).batch(range(4))
    for number, wish in enumerate((replace(SMALL, seed=1), replace(SMALL, policy="random"))):
        collect(wish, PER_EPISODE, tmp_path / str(number), PACE)
        assert (Frames(tmp_path / str(number)).batch(range(4)) != first).any()


def test_other_shapes_and_sizes_are_told_and_do_not_touch_older_collections(whole, tmp_path):
    plain = SMALL.asked()
    assert "shape" not in plain
    assert "stretch" not in plain
    before = (whole / "manifest.json").read_bytes()
    collect(SMALL, 16 * PER_EPISODE, whole, PACE)
    assert (whole / "manifest.json").read_bytes() == before
    cubes = replace(SMALL, size=64)
    stars, blocks = replace(cubes, shape="star"), replace(cubes, stretch=(2.0, 2.0))
    size, asked = {}, {}
    for number, wish in enumerate((cubes, stars, blocks)):
        path = tmp_path / str(number)
        collect(wish, 4 * PER_EPISODE, path, PACE)
        known = Truth(path).batch(np.arange(16))
        size[number] = np.median(known.whole[known.whole > 0])
        asked[number] = json.loads((path / "manifest.json").read_text())["collections"][0]["asked"]
    assert size[1] != size[0]
    assert size[2] > 2 * size[0]
    assert (asked[1]["shape"], asked[2]["stretch"]) == ("star", [2.0, 2.0])


@pytest.mark.parametrize("task", ["AdjacentGoals", "OrderedPush", "Sorting", "SmallTable"])
def test_advanced_episodes_hold_finished_objects_that_do_not_overlap(task, rng):
    env = TabletopVectorEnv(8, task, autoreset_mode="Disabled", threads=1)
    episodes = [advanced(env.recipe.draw(rng), rng) for _ in range(8)]
    env.reset(options={"episode": episodes})
    before = np.stack([shot.qpos for shot in env.shots()])
    for _ in range(2):
        env.step(np.zeros((8, 3), np.float32))
    moved = np.abs(np.stack([shot.qpos for shot in env.shots()]) - before)[:, 7:]
    assert moved.max() < 0.003  # nothing was squeezed out of anything
    if task == "AdjacentGoals":
        done = [(one.start == one.goal).all(-1).sum() for one in episodes]
        assert max(done) >= 2
    env.close()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("ThreeCube --frames 8", "Did you mean 'ThreeCubes'"),
        ("NCubes --frames 0", "At least one frame"),
        ("NCubes --frames 8 --objects 1 2 3", "a range such as 1 6"),
        ("NCubes --frames 8 --objects 13", "1 to 12 objects"),
        ("NCubes --frames 8 --colors rde", "colors are needed|Did you mean"),
        ("NCubes --frames 8 --cameras frnt", "Did you mean 'front'"),
        ("NCubes --frames 8 --size 4", "8 to 2048"),
        ("NCubes --frames 8 --shape sta", "Did you mean 'star'"),
        ("NCubes --frames 8 --stretch 1 99", "scale must lie in"),
    ],
)
def test_misuse_is_answered_in_words(words, says, tmp_path, capsys):
    out = tmp_path / "f"
    with pytest.raises((JostleError, SystemExit)) as told:
        run([*words.split(), "--out", str(out)])
    text = " ".join((str(told.value) + capsys.readouterr().err).replace("│", " ").split())
    assert re.search(says, text), text
    assert not out.exists()

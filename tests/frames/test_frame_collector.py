"""Collection of frames: reproducible in any batches, with ground truth that matches them."""

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
from jostle.rollout.episode_plan import partially_solved
from jostle.rollout.frame_collector import CollectOptions, collect_frames
from jostle.rollout.frame_dataset import FrameDatasetSpec
from jostle.scene.cameras import CAMERAS, project
from jostle.scene.spec import TABLE_TOP

SMALL = FrameDatasetSpec(task="NCubes", objects=(1, 4), colors=("random",), size=32, steps=3)
OPTIONS = CollectOptions(num_envs=3, threads=1, shard=24)
"""Shards of two batches of three episodes of four scenes."""
PER_EPISODE = 8


def all_arrays(path) -> tuple[np.ndarray, ...]:
    frames, truth = Frames(path), Truth(path)
    frames.verify()
    batch = truth.batch(truth.scenes)
    scenes = np.stack((frames.collections, frames.episodes, frames.steps))
    return (frames.batch(np.arange(len(frames))), scenes, truth.scenes, *vars(batch).values())


def assert_same(folder, other) -> None:
    for array, expected in zip(all_arrays(folder), all_arrays(other), strict=True):
        np.testing.assert_array_equal(array, expected)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("folder")
    assert collect_frames(SMALL, 16 * PER_EPISODE, path, OPTIONS) == 16 * PER_EPISODE
    return path


def test_frames_do_not_depend_on_the_options(folder, tmp_path):
    options = CollectOptions(num_envs=5, threads=2, shard=1000)
    collect_frames(SMALL, 16 * PER_EPISODE, tmp_path, options)
    assert_same(folder, tmp_path)


def test_a_collection_in_two_parts_equals_one_at_once(folder, tmp_path):
    collect_frames(SMALL, 7 * PER_EPISODE - 3, tmp_path, OPTIONS)  # rounded up to whole episodes
    assert len(Frames(tmp_path)) == 7 * SMALL.scenes
    collect_frames(SMALL, 16 * PER_EPISODE, tmp_path, OPTIONS)
    assert_same(folder, tmp_path)
    before = (tmp_path / "manifest.json").read_bytes()
    assert collect_frames(SMALL, 16 * PER_EPISODE, tmp_path, OPTIONS) == 16 * PER_EPISODE
    assert (tmp_path / "manifest.json").read_bytes() == before


@pytest.mark.parametrize(("batches", "episodes"), [(1, 0), (2, 0), (3, 6), (4, 6)])
def test_an_interrupt_loses_only_the_open_shard(folder, tmp_path, batches, episodes):
    reported = []

    def start_progress(total, done):
        def report(frames):
            reported.append(frames)
            if len(reported) == batches:
                raise KeyboardInterrupt

        return report

    with pytest.raises(KeyboardInterrupt):
        collect_frames(SMALL, 16 * PER_EPISODE, tmp_path, OPTIONS, start_progress)
    assert not list(tmp_path.glob(".*.part"))
    if episodes:
        assert len(Frames(tmp_path)) == episodes * SMALL.scenes
    collect_frames(SMALL, 16 * PER_EPISODE, tmp_path, OPTIONS)
    assert_same(folder, tmp_path)


def test_a_killed_collection_can_be_resumed(tmp_path):
    words = (
        "collect NCubes --objects 1 4 --colors random --size 32 --steps 3 --out f "
        "--frames 1000000 --num-envs 2 --threads 1 --shard 8"
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
    frames = (done + 3) * PER_EPISODE
    collect_frames(SMALL, frames, killed, OPTIONS)
    assert not list(killed.glob(".*.part"))
    collect_frames(SMALL, frames, tmp_path / "at-once", OPTIONS)
    assert_same(killed, tmp_path / "at-once")


def test_the_manifest_records_the_identity_and_provenance_of_the_frames(folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    identity = manifest["collections"][0]["asked"]
    assert identity["task"] == "NCubes"
    assert (identity["objects"], identity["colors"], identity["seed"]) == ([1, 4], ["random"], 0)
    assert identity["policy"] == "mixed"
    assert "mujoco" in manifest["collections"][0]["made_by"]["packages"]
    assert manifest["layout"]["size"] == [32, 32]
    assert [camera["name"] for camera in manifest["layout"]["cameras"]] == ["front", "side"]
    assert sum(shard["scenes"] for shard in manifest["shards"]) == 16 * SMALL.scenes


def test_colors_are_sampled_per_episode_and_stored(folder):
    frames, truth = Frames(folder), Truth(folder)
    batch = truth.batch(np.arange(len(frames)))
    present = batch.present
    np.testing.assert_allclose(truth.palette[batch.colors[present]], batch.rgb[present])
    colors = batch.colors.reshape(-1, SMALL.scenes, truth.objects)
    assert (colors == colors[:, :1]).all()
    assert len(set(colors[:, 0, 0].tolist())) > 2
    for scene_colors, scene_present in zip(batch.colors, present, strict=True):
        assert len(set(scene_colors[scene_present].tolist())) == scene_present.sum()
    assert set(present.sum(-1).tolist()) <= {1, 2, 3, 4}
    assert len(set(present.sum(-1).tolist())) > 1


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    path = tmp_path_factory.mktemp("large")
    dataset = FrameDatasetSpec(task="ThreeCubes", steps=4, seed=3, colors=("random",))
    collect_frames(dataset, 120, path, CollectOptions(num_envs=6, threads=1))
    return path


def test_masks_match_positions(large):
    truth = Truth(large)
    batch = truth.batch(truth.scenes)
    checked = 0
    for view, name in enumerate(("front", "side")):
        positions = batch.positions + np.array((0, 0, TABLE_TOP))
        centers = project(CAMERAS[name], positions, (128, 128))  # (B, N, 2)
        unoccluded = batch.visible_px[:, view] == batch.unoccluded_px[:, view]
        for scene, index in np.argwhere(unoccluded):
            rows, columns = np.nonzero(batch.masks[scene, view] == 2 + index)
            if len(rows) < 20 or min(*rows, *columns) == 0 or max(*rows, *columns) == 127:
                continue
            centroid = (columns.mean() + 0.5, rows.mean() + 0.5)
            assert np.hypot(*(centers[scene, index] - centroid)) < 1.5
            checked += 1
    assert checked > 60


def test_masks_match_colors(large):
    frames, truth = Frames(large), Truth(large)
    batch, images = truth.batch(truth.scenes), frames.batch(truth.scenes)
    checked = 0
    for scene, view, index in np.argwhere(batch.visible_px > 40):
        pixels = images[scene, view][batch.masks[scene, view] == 2 + index].mean(0)
        palette = truth.palette / np.linalg.norm(truth.palette, axis=1, keepdims=True)
        assert int((palette @ pixels).argmax()) == batch.colors[scene, index]
        checked += 1
    assert checked > 60


def test_visible_pixels_are_counted_and_at_most_the_unoccluded_ones(large):
    truth = Truth(large)
    batch = truth.batch(truth.scenes)
    assert (batch.visible_px <= batch.unoccluded_px).all()
    counts = [(batch.masks == 2 + index).sum((2, 3)) for index in range(truth.objects)]
    np.testing.assert_array_equal(batch.visible_px, np.stack(counts, axis=-1))
    assert (batch.visible_px == batch.unoccluded_px).mean() > 0.4
    assert (batch.visible_px < batch.unoccluded_px).any()
    assert (batch.masks == 1).any()


def test_ground_truth_can_be_sparse_or_absent(folder, tmp_path):
    sparse = replace(SMALL, truth_every=2)
    collect_frames(sparse, 3 * PER_EPISODE, tmp_path / "sparse", OPTIONS)
    truth = Truth(tmp_path / "sparse")
    assert truth.scenes.tolist() == [0, 2, 4, 6, 8, 10]
    batch, expected = truth.batch(truth.scenes), Truth(folder).batch(truth.scenes)
    for name, array in vars(batch).items():
        np.testing.assert_array_equal(array, getattr(expected, name))
    collect_frames(replace(SMALL, truth=False), 3 * PER_EPISODE, tmp_path / "none", OPTIONS)
    np.testing.assert_array_equal(
        Frames(tmp_path / "none").batch(range(12)), Frames(folder).batch(range(12))
    )
    with pytest.raises(BadValueError, match="were collected into"):
        collect_frames(sparse, 6 * PER_EPISODE, tmp_path / "none", OPTIONS)


@pytest.mark.parametrize("policy", ["random", "oracle", "mixed"])
def test_datasets_of_equal_layout_can_share_a_folder(folder, tmp_path, policy):
    other = FrameDatasetSpec(task="PushT", size=32, steps=3, policy=policy)
    collect_frames(SMALL, PER_EPISODE, tmp_path, OPTIONS)
    collect_frames(other, PER_EPISODE, tmp_path, OPTIONS)
    frames = Frames(tmp_path)
    assert np.unique(frames.collections).tolist() == [0, 1]
    np.testing.assert_array_equal(frames.batch(range(4)), Frames(folder).batch(range(4)))
    for wrong in (replace(other, size=48), replace(other, cameras=("front", "top"))):
        with pytest.raises(BadValueError, match="has frames from cameras front, side of 32 x 32"):
            collect_frames(wrong, PER_EPISODE, tmp_path, OPTIONS)


def test_another_seed_or_policy_gives_other_frames(folder, tmp_path):
    first = Frames(folder).batch(range(4))
    for number, dataset in enumerate((replace(SMALL, seed=1), replace(SMALL, policy="random"))):
        collect_frames(dataset, PER_EPISODE, tmp_path / str(number), OPTIONS)
        assert (Frames(tmp_path / str(number)).batch(range(4)) != first).any()


def test_shapes_and_sizes_are_part_of_the_identity_only_if_set(folder, tmp_path):
    identity = SMALL.identity()
    assert "shape" not in identity
    assert "stretch" not in identity
    assert "vary" not in identity
    before = (folder / "manifest.json").read_bytes()
    collect_frames(SMALL, 16 * PER_EPISODE, folder, OPTIONS)
    assert (folder / "manifest.json").read_bytes() == before
    cubes = replace(SMALL, size=64)
    stars, large = replace(cubes, shape="star"), replace(cubes, stretch=(2.0, 2.0))
    area, identities = {}, {}
    for number, dataset in enumerate((cubes, stars, large)):
        path = tmp_path / str(number)
        collect_frames(dataset, 4 * PER_EPISODE, path, OPTIONS)
        pixels = Truth(path).batch(np.arange(16)).unoccluded_px
        area[number] = np.median(pixels[pixels > 0])
        manifest = json.loads((path / "manifest.json").read_text())
        identities[number] = manifest["collections"][0]["asked"]
    assert area[1] != area[0]
    assert area[2] > 2 * area[0]
    assert (identities[1]["shape"], identities[2]["stretch"]) == ("star", [2.0, 2.0])


def test_frames_are_varied_as_text_says(tmp_path):
    brightness, sides = {}, {}
    for number, vary in enumerate(("", "light=0.4", "size=1..3")):
        path, dataset = tmp_path / str(number), replace(SMALL, size=64, vary=vary)
        collect_frames(dataset, 6 * PER_EPISODE, path, OPTIONS)
        brightness[vary] = Frames(path).batch(range(8)).mean()
        pixels = Truth(path).batch(np.arange(24)).unoccluded_px
        sides[vary] = np.sqrt(pixels[pixels > 0])
        assert Frames(path).manifest.collections[0]["asked"].get("vary", "") == vary
    assert brightness["light=0.4"] < 0.7 * brightness[""]
    assert np.median(sides["size=1..3"]) > 1.4 * np.median(sides[""])
    assert np.std(sides["size=1..3"]) > 1.5 * np.std(sides[""])


@pytest.mark.parametrize("task", ["AdjacentGoals", "OrderedPush", "Sorting", "SmallTable"])
def test_partially_solved_episodes_have_no_overlapping_objects(task, rng):
    env = TabletopVectorEnv(8, task, autoreset_mode="Disabled", threads=1)
    episodes = [partially_solved(env.episode_sampler.sample(rng), rng) for _ in range(8)]
    env.reset(options={"episode": episodes})
    before = np.stack([request.qpos for request in env.render_requests()])
    for _ in range(2):
        env.step(np.zeros((8, 3), np.float32))
    moved = np.abs(np.stack([request.qpos for request in env.render_requests()]) - before)[:, 7:]
    assert moved.max() < 0.003  # overlapping objects would push each other apart
    if task == "AdjacentGoals":
        solved = [(episode.start == episode.goal).all(-1).sum() for episode in episodes]
        assert max(solved) >= 2
    env.close()


@pytest.mark.parametrize(
    ("words", "message"),
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
        ("NCubes --frames 8 --vary size=99", "scale must lie in"),
        ("NCubes --frames 8 --vary sise=2", "Did you mean 'size'"),
        ("NCubes --frames 8 --vary color=held-out", "--palette"),
        ("NCubes --frames 8 --vary camera.front.x=+0.1", "stay where they are"),
    ],
)
def test_invalid_arguments_are_refused(words, message, tmp_path, capsys):
    out = tmp_path / "f"
    with pytest.raises((JostleError, SystemExit)) as caught:
        run([*words.split(), "--out", str(out)])
    text = " ".join((str(caught.value) + capsys.readouterr().err).replace("│", " ").split())
    assert re.search(message, text), text
    assert not out.exists()

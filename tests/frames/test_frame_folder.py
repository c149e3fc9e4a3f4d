"""Folders of frames, written and read without a simulator."""

import errno
import json

import numpy as np
import pytest

from jostle.core.errors import BadValueError, FramesError
from jostle.frames.manifest import Layout, Manifest
from jostle.frames.reader import Frames
from jostle.frames.shards import SCENE, ArrayFile, FrameFolder, truth_dtype
from jostle.frames.truth import Truth

STEPS = 3
CAMERAS = ({"name": "left"}, {"name": "right"})
LAYOUT = Layout(cameras=CAMERAS, size=(4, 6))
FRAME = np.dtype(np.uint8)


def make_frames(task: str, episodes: np.ndarray) -> np.ndarray:
    """Frames that depend on task, episode and step, (S, V, H, W, 3)."""
    rng = np.random.default_rng(len(task))
    noise = rng.integers(0, 200, (1000, *LAYOUT.shape), np.uint8)
    return noise[episodes * STEPS + np.tile(np.arange(STEPS), len(episodes) // STEPS)]


def add(path, task: str, counts: list[int], truth: int = 0) -> None:
    """Append shards of so many episodes each; `truth` is the number of objects in the truth."""
    with FrameFolder(path, LAYOUT) as folder:
        number = folder.add_collection({"task": task}, {"truth": truth}, [(1.0, 0.0, 0.0)], {})
        for count in counts:
            first, scenes = folder.episodes(number), count * STEPS
            streams = {"frames": (FRAME, LAYOUT.shape, scenes), "scenes": (SCENE, (), scenes)}
            if truth:
                dtype = truth_dtype(LAYOUT.views, truth)
                streams["masks"] = (FRAME, LAYOUT.shape[:-1], count)
                streams["truth"] = (dtype, (), count)
            with folder.open_shard(streams) as writer:
                rows = np.zeros(scenes, SCENE)
                rows["episode"] = np.repeat(first + np.arange(count), STEPS)
                rows["step"] = np.tile(np.arange(STEPS), count)
                writer.append("frames", make_frames(task, rows["episode"]))
                writer.append("scenes", rows)
                if truth:
                    truth_rows = np.zeros(count, dtype)
                    truth_rows["scene"], truth_rows["present"] = np.arange(count) * STEPS, True
                    truth_rows["position"] = (first + np.arange(count))[:, None, None]
                    writer.append("masks", np.zeros((count, *LAYOUT.shape[:-1]), np.uint8))
                    writer.append("truth", truth_rows)
                writer.finish(number, first, count, scenes)


def test_shards_of_several_tasks_read_as_one_array(tmp_path):
    add(tmp_path, "a", [3, 2])
    add(tmp_path, "bb", [4])
    add(tmp_path, "a", [1])
    frames = Frames(tmp_path, size=(4, 6))
    assert len(frames) == 10 * STEPS
    assert frames.collections.tolist() == [0] * 15 + [1] * 12 + [0] * 3
    assert frames.episodes[::STEPS].tolist() == [0, 1, 2, 3, 4, 0, 1, 2, 3, 5]
    assert frames.steps[:4].tolist() == [0, 1, 2, 0]
    expected = np.concatenate(
        [make_frames(task, frames.episodes[frames.collections == index]) for index, task in
         enumerate(("a", "bb"))]
    )  # fmt: skip
    order = np.argsort(frames.collections, kind="stable")
    np.testing.assert_array_equal(frames.batch(order), expected)
    backward = np.arange(len(frames))[::-1]
    np.testing.assert_array_equal(frames.batch(backward), frames.batch(backward[::-1])[::-1])
    frames.verify()


def test_files_can_be_memory_mapped(tmp_path):
    add(tmp_path, "a", [2], truth=2)
    for path in tmp_path.glob("*.npy"):
        array = np.load(path, mmap_mode="r", allow_pickle=False)
        assert isinstance(array, np.memmap)
    assert not list(tmp_path.glob(".*.part"))


def test_the_split_is_by_episode_and_stable_when_the_folder_grows(tmp_path):
    add(tmp_path, "a", [20])
    add(tmp_path, "bb", [20])
    before = Frames(tmp_path)
    train, validation = before.split(0.2, seed=1)
    assert sorted([*train, *validation]) == list(range(len(before)))
    episodes = np.stack((before.collections, before.episodes), axis=1)
    sides = [set(map(tuple, episodes[side].tolist())) for side in (train, validation)]
    assert not sides[0] & sides[1]
    assert len(sides[1]) == 8
    assert before.split(0.2, seed=2)[1].tolist() != validation.tolist()
    add(tmp_path, "a", [13])
    after = Frames(tmp_path)
    again = after.split(0.2, seed=1)[1]
    assert again[again < len(before)].tolist() == validation.tolist()


def test_batches_resume_where_they_stopped(tmp_path):
    add(tmp_path, "a", [3, 4])
    frames = Frames(tmp_path)
    train, _ = frames.split(0.3)
    stream = frames.batches(4, train, seed=5)
    batches = [next(stream) for _ in range(12)]
    resumed = frames.batches(4, train, seed=5, position=7)
    for expected in batches[7:]:
        batch = next(resumed)
        np.testing.assert_array_equal(batch.scenes, expected.scenes)
        np.testing.assert_array_equal(batch.frames, expected.frames)
    per_epoch = len(train) // 4
    first, second = (
        np.concatenate([batch.scenes for batch in batches[start : start + per_epoch]]).tolist()
        for start in (0, per_epoch)
    )
    assert len(set(first)) == len(first)
    assert set(first) <= set(train.tolist())
    assert first != second


def test_truth_is_read_by_scene_and_padded_to_the_largest_number_of_objects(tmp_path):
    add(tmp_path, "a", [2], truth=2)
    add(tmp_path, "none", [2])
    add(tmp_path, "bb", [3], truth=3)
    truth, frames = Truth(tmp_path), Frames(tmp_path)
    assert truth.scenes.tolist() == [0, 3, 12, 15, 18]
    assert (frames.steps[truth.scenes] == 0).all()
    batch = truth.batch([18, 3])
    assert batch.present.tolist() == [[True, True, True], [True, True, False]]
    assert batch.colors[1].tolist() == [0, 0, -1]
    assert batch.positions[:, 0, 0].tolist() == [2, 1]
    with pytest.raises(BadValueError, match=r"no ground truth of scenes \[1, 7\]"):
        truth.batch([0, 1, 7])


def test_objects_are_visible_from_a_fraction_of_their_pixels_on(tmp_path):
    add(tmp_path, "a", [1], truth=1)
    batch = Truth(tmp_path).batch([0])
    batch.unoccluded_px[:] = 10
    for pixels, expected in ((0, False), (2, False), (3, True), (10, True)):
        batch.visible_px[:] = pixels
        assert (batch.visible(0.3) == expected).all()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: (path / "manifest.json").unlink(), "was interrupted before its first shard"),
        (
            lambda path: (path / "00000-frames.npy").unlink(),
            "is missing, though the manifest",
        ),
        (lambda path: (path / "00000-frames.npy").open("ab").write(b"x"), "bytes instead of"),
        (lambda path: (path / "manifest.json").write_text("[1"), "is not a manifest of frames"),
        (lambda path: (path / "manifest.json").write_text("{}"), "is not a manifest of frames"),
    ],
)
def test_damaged_folders_are_refused_in_one_line(tmp_path, damage, message):
    add(tmp_path, "a", [2])
    damage(tmp_path)
    with pytest.raises(FramesError, match=message) as caught:
        Frames(tmp_path)
    assert "\n" not in str(caught.value)


def rewrite(path, **changes) -> None:
    manifest = json.loads((path / "manifest.json").read_text())
    (path / "manifest.json").write_text(json.dumps({**manifest, **changes}))


def test_empty_folders_other_formats_and_other_sizes_are_refused(tmp_path):
    with pytest.raises(FramesError, match="no such folder"):
        Frames(tmp_path / "nowhere")
    with pytest.raises(FramesError, match="Make some with 'jostle collect'"):
        Frames(tmp_path)
    add(tmp_path, "a", [2])
    with pytest.raises(FramesError, match="are 4 x 6 pixels, not 128 x 128"):
        Frames(tmp_path, size=(128, 128))
    with pytest.raises(FramesError, match="collected without ground truth"):
        Truth(tmp_path)
    layout = {"cameras": list(CAMERAS), "size": [6, 4], "shadows": False}
    rewrite(tmp_path, layout=layout)
    with pytest.raises(FramesError, match=r"instead of uint8 \(6, 2, 6, 4, 3\)"):
        Frames(tmp_path)
    rewrite(tmp_path, format=99)
    with pytest.raises(FramesError, match="have format 99, but this version reads format 1"):
        Frames(tmp_path)


def test_verify_detects_a_single_changed_bit(tmp_path):
    add(tmp_path, "a", [2, 2])
    path = tmp_path / "00001-frames.npy"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    frames = Frames(tmp_path)  # sizes are right
    with pytest.raises(FramesError, match=r"00001-frames\.npy is damaged"):
        frames.verify()


def test_invalid_indices_and_sizes_are_refused(tmp_path):
    add(tmp_path, "a", [2])
    frames = Frames(tmp_path)
    for wrong in ([-1], [6], [0.5], [[0]]):
        with pytest.raises(BadValueError):
            frames.batch(wrong)
    assert frames.batch([]).shape == (0, *LAYOUT.shape)
    with pytest.raises(BadValueError, match="less than one batch"):
        frames.batches(7)
    with pytest.raises(BadValueError, match=r"in \[0, 1\]"):
        frames.split(1.5)


def test_a_full_disk_loses_only_the_open_shard(tmp_path, monkeypatch):
    add(tmp_path, "a", [2])
    write, free_bytes = ArrayFile.write, [300]

    def write_until_full(self, data):
        free_bytes[0] -= len(data)
        if free_bytes[0] < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(self, data)

    monkeypatch.setattr(ArrayFile, "write", write_until_full)
    with pytest.raises(FramesError, match="The disk is full"):
        add(tmp_path, "a", [2])
    assert not list(tmp_path.glob(".*.part"))
    assert len(Frames(tmp_path)) == 2 * STEPS
    monkeypatch.undo()
    add(tmp_path, "a", [2])
    assert Frames(tmp_path).episodes[::STEPS].tolist() == [0, 1, 2, 3]


def test_a_kill_just_before_the_manifest_is_written_loses_only_that_shard(tmp_path, monkeypatch):
    add(tmp_path, "a", [2], truth=1)

    def interrupt(self, folder):
        raise KeyboardInterrupt

    monkeypatch.setattr(Manifest, "write", interrupt)
    with pytest.raises(KeyboardInterrupt):
        add(tmp_path, "a", [2], truth=1)
    assert (tmp_path / "00001-masks.npy").exists()
    monkeypatch.undo()
    assert len(Frames(tmp_path)) == 2 * STEPS
    add(tmp_path, "bb", [2])
    assert not (tmp_path / "00001-masks.npy").exists()
    Frames(tmp_path).verify()


def test_shards_without_a_manifest_are_not_overwritten(tmp_path):
    add(tmp_path, "a", [1, 1])
    (tmp_path / "manifest.json").unlink()
    with pytest.raises(FramesError, match=r"its manifest\.json is lost"):
        add(tmp_path, "a", [1])
    assert (tmp_path / "00000-frames.npy").exists()


def test_a_folder_has_one_writer_at_a_time(tmp_path):
    with FrameFolder(tmp_path, LAYOUT), pytest.raises(FramesError, match="Another process"):
        FrameFolder(tmp_path, LAYOUT)
    add(tmp_path, "a", [1])

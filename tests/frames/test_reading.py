"""Folders of frames, written and read without any simulator."""

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


def pictures(task: str, episodes: np.ndarray) -> np.ndarray:
    """Pictures that tell where they come from, (S, V, H, W, 3)."""
    rng = np.random.default_rng(len(task))
    noise = rng.integers(0, 200, (1000, *LAYOUT.shape), np.uint8)
    return noise[episodes * STEPS + np.tile(np.arange(STEPS), len(episodes) // STEPS)]


def add(path, task: str, counts: list[int], truth: int = 0) -> None:
    """Append shards of so many episodes each; `truth` is the number of objects."""
    with FrameFolder(path, LAYOUT) as folder:
        number = folder.begin({"task": task}, {"truth": truth}, [(1.0, 0.0, 0.0)], {})
        for count in counts:
            first, scenes = folder.episodes(number), count * STEPS
            streams = {"frames": (FRAME, LAYOUT.shape, scenes), "scenes": (SCENE, (), scenes)}
            if truth:
                dtype = truth_dtype(LAYOUT.views, truth)
                streams["masks"] = (FRAME, LAYOUT.shape[:-1], count)
                streams["truth"] = (dtype, (), count)
            with folder.open_shard(streams) as pen:
                rows = np.zeros(scenes, SCENE)
                rows["episode"] = np.repeat(first + np.arange(count), STEPS)
                rows["step"] = np.tile(np.arange(STEPS), count)
                pen.append("frames", pictures(task, rows["episode"]))
                pen.append("scenes", rows)
                if truth:
                    known = np.zeros(count, dtype)
                    known["scene"], known["present"] = np.arange(count) * STEPS, True
                    known["position"] = (first + np.arange(count))[:, None, None]
                    pen.append("masks", np.zeros((count, *LAYOUT.shape[:-1]), np.uint8))
                    pen.append("truth", known)
                pen.finish(number, first, count, scenes)


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
        [pictures(task, frames.episodes[frames.collections == one]) for one, task in
         enumerate(("a", "bb"))]
    )  # fmt: skip
    order = np.argsort(frames.collections, kind="stable")
    np.testing.assert_array_equal(frames.batch(order), expected)
    backward = np.arange(len(frames))[::-1]
    np.testing.assert_array_equal(frames.batch(backward), frames.batch(backward[::-1])[::-1])
    frames.verify()


def test_files_are_plain_arrays_for_memory_maps(tmp_path):
    add(tmp_path, "a", [2], truth=2)
    for path in tmp_path.glob("*.npy"):
        found = np.load(path, mmap_mode="r", allow_pickle=False)
        assert isinstance(found, np.memmap)
    assert not list(tmp_path.glob(".*.part"))


def test_the_split_is_by_episode_exact_and_stable_when_the_folder_grows(tmp_path):
    add(tmp_path, "a", [20])
    add(tmp_path, "bb", [20])
    before = Frames(tmp_path)
    train, validation = before.split(0.2, seed=1)
    assert sorted([*train, *validation]) == list(range(len(before)))
    names = np.stack((before.collections, before.episodes), axis=1)
    sides = [{tuple(one) for one in names[side]} for side in (train, validation)]
    assert not sides[0] & sides[1]
    assert len(sides[1]) == 8
    assert before.split(0.2, seed=2)[1].tolist() != validation.tolist()
    add(tmp_path, "a", [13])
    after = Frames(tmp_path)
    again = after.split(0.2, seed=1)[1]
    assert again[again < len(before)].tolist() == validation.tolist()


def test_batches_go_on_exactly_where_they_stopped(tmp_path):
    add(tmp_path, "a", [3, 4])
    frames = Frames(tmp_path)
    train, _ = frames.split(0.3)
    stream = frames.batches(4, train, seed=5)
    whole = [next(stream) for _ in range(12)]
    resumed = frames.batches(4, train, seed=5, position=7)
    for one in whole[7:]:
        other = next(resumed)
        np.testing.assert_array_equal(one.scenes, other.scenes)
        np.testing.assert_array_equal(one.frames, other.frames)
    per_pass = len(train) // 4
    seen = np.concatenate([one.scenes for one in whole[:per_pass]])
    assert len(set(seen.tolist())) == len(seen)
    assert set(seen.tolist()) <= set(train.tolist())
    assert [one.scenes.tolist() for one in whole[:per_pass]] != [
        one.scenes.tolist() for one in whole[per_pass : 2 * per_pass]
    ]


def test_truth_is_found_by_scene_and_padded_to_the_most_objects(tmp_path):
    add(tmp_path, "a", [2], truth=2)
    add(tmp_path, "none", [2])
    add(tmp_path, "bb", [3], truth=3)
    truth, frames = Truth(tmp_path), Frames(tmp_path)
    assert truth.scenes.tolist() == [0, 3, 12, 15, 18]
    assert (frames.steps[truth.scenes] == 0).all()
    found = truth.batch([18, 3])
    assert found.present.tolist() == [[True, True, True], [True, True, False]]
    assert found.colors[1].tolist() == [0, 0, -1]
    assert found.positions[:, 0, 0].tolist() == [2, 1]
    with pytest.raises(BadValueError, match=r"scenes \[1, 7\] was not kept"):
        truth.batch([0, 1, 7])


def test_a_view_shows_an_object_from_a_share_of_its_own_pixels_on(tmp_path):
    add(tmp_path, "a", [1], truth=1)
    one = Truth(tmp_path).batch([0])
    one.whole[:] = 10
    for seen, expected in ((0, False), (2, False), (3, True), (10, True)):
        one.seen[:] = seen
        assert (one.visible(0.3) == expected).all()


@pytest.mark.parametrize(
    ("harm", "says"),
    [
        (lambda path: (path / "manifest.json").unlink(), "broke off before its first shard"),
        (lambda path: (path / "00000-frames.npy").unlink(), "is missing, though the manifest"),
        (lambda path: (path / "00000-frames.npy").open("ab").write(b"x"), "bytes instead of"),
        (lambda path: (path / "manifest.json").write_text("[1"), "no manifest of frames"),
        (lambda path: (path / "manifest.json").write_text("{}"), "no manifest of frames"),
    ],
)
def test_damage_is_named_in_one_sentence(tmp_path, harm, says):
    add(tmp_path, "a", [2])
    harm(tmp_path)
    with pytest.raises(FramesError, match=says) as told:
        Frames(tmp_path)
    assert "\n" not in str(told.value)


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
    with pytest.raises(FramesError, match="collected without truth"):
        Truth(tmp_path)
    layout = {"cameras": list(CAMERAS), "size": [6, 4], "shadows": False}
    rewrite(tmp_path, layout=layout)
    with pytest.raises(FramesError, match=r"instead of uint8 \(6, 2, 6, 4, 3\)"):
        Frames(tmp_path)
    rewrite(tmp_path, format=99)
    with pytest.raises(FramesError, match="have format 99, but this version reads format 1"):
        Frames(tmp_path)


def test_verify_finds_a_single_changed_bit(tmp_path):
    add(tmp_path, "a", [2, 2])
    path = tmp_path / "00001-frames.npy"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    frames = Frames(tmp_path)  # sizes are right
    with pytest.raises(FramesError, match=r"00001-frames\.npy is damaged"):
        frames.verify()


def test_asking_for_what_is_not_there_is_refused(tmp_path):
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


def test_a_full_disk_costs_the_open_shard_only(tmp_path, monkeypatch):
    add(tmp_path, "a", [2])
    write, room = ArrayFile.write, [300]

    def fill_up(self, data):
        room[0] -= len(data)
        if room[0] < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(self, data)

    monkeypatch.setattr(ArrayFile, "write", fill_up)
    with pytest.raises(FramesError, match="The disk is full"):
        add(tmp_path, "a", [2])
    assert not list(tmp_path.glob(".*.part"))
    assert len(Frames(tmp_path)) == 2 * STEPS
    monkeypatch.undo()
    add(tmp_path, "a", [2])
    assert Frames(tmp_path).episodes[::STEPS].tolist() == [0, 1, 2, 3]


def test_a_kill_just_before_the_manifest_is_written_costs_that_shard_only(tmp_path, monkeypatch):
    add(tmp_path, "a", [2], truth=1)

    def die(self, folder):
        raise KeyboardInterrupt

    monkeypatch.setattr(Manifest, "write", die)
    with pytest.raises(KeyboardInterrupt):
        add(tmp_path, "a", [2], truth=1)
    assert (tmp_path / "00001-masks.npy").exists()
    monkeypatch.undo()
    assert len(Frames(tmp_path)) == 2 * STEPS
    add(tmp_path, "bb", [2])
    assert not (tmp_path / "00001-masks.npy").exists()
    Frames(tmp_path).verify()


def test_shards_without_their_manifest_are_not_written_over(tmp_path):
    add(tmp_path, "a", [1, 1])
    (tmp_path / "manifest.json").unlink()
    with pytest.raises(FramesError, match=r"its manifest\.json is lost"):
        add(tmp_path, "a", [1])
    assert (tmp_path / "00000-frames.npy").exists()


def test_two_writers_do_not_share_a_folder(tmp_path):
    with FrameFolder(tmp_path, LAYOUT), pytest.raises(FramesError, match="Someone else"):
        FrameFolder(tmp_path, LAYOUT)
    add(tmp_path, "a", [1])

"""The layout of LeRobotDataset v3, as its documentation and its published datasets describe it."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest

pq = pytest.importorskip("pyarrow.parquet")
imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg")

from PIL import Image  # noqa: E402

from jostle.cli.main import main  # noqa: E402
from jostle.core.errors import BadValueError  # noqa: E402
from jostle.exporting import lerobot_export  # noqa: E402
from jostle.exporting.lerobot_export import export_lerobot  # noqa: E402
from jostle.exporting.lerobot_files import DataWriter, VideoWriter  # noqa: E402
from jostle.exporting.lerobot_stats import merge, vector_stats  # noqa: E402
from jostle.exporting.options import LeRobotOptions  # noqa: E402

ARROW = {"float32": "float", "int64": "int64", "bool": "bool"}
"""Types of Parquet columns, by the type that a feature names."""
DEFAULT_FEATURES = {
    "timestamp": "float32", "frame_index": "int64", "episode_index": "int64", "index": "int64",
    "task_index": "int64",
}  # fmt: skip
INFO = {
    "codebase_version", "robot_type", "total_episodes", "total_frames", "total_tasks",
    "chunks_size", "data_files_size_in_mb", "video_files_size_in_mb", "fps", "splits", "data_path",
    "video_path", "features",
}  # fmt: skip
EPISODE = {
    "episode_index": "int64", "length": "int64", "dataset_from_index": "int64",
    "dataset_to_index": "int64", "data/chunk_index": "int64", "data/file_index": "int64",
    "meta/episodes/chunk_index": "int64", "meta/episodes/file_index": "int64",
    "tasks": "list<element: string>",
}  # fmt: skip
STATS = {"min", "max", "mean", "std", "count", "q01", "q10", "q50", "q90", "q99"}


@pytest.fixture(scope="module", params=["states", "pixels"])
def dataset(request, tmp_path_factory):
    """A recording and its export."""
    recorded = request.getfixturevalue(request.param)
    root = tmp_path_factory.mktemp("lerobot")
    export_lerobot(recorded, root, LeRobotOptions())
    return recorded, root, json.loads((root / "meta/info.json").read_text())


def decode(path):
    """All frames of a video, (T, H, W, 3)."""
    reader = imageio_ffmpeg.read_frames(str(path))
    width, height = next(reader)["size"]
    return np.stack([np.frombuffer(data, np.uint8).reshape(height, width, 3) for data in reader])


def test_info_describes_the_dataset(dataset):
    recorded, _, info = dataset
    assert set(info) == INFO
    assert info["codebase_version"] == "v3.0"
    assert info["total_episodes"] == len(recorded)
    assert info["total_frames"] == len(recorded) * recorded.steps
    assert info["splits"] == {"train": f"0:{len(recorded)}"}
    for name, dtype in DEFAULT_FEATURES.items():
        assert info["features"][name] == {"dtype": dtype, "shape": [1], "names": None}
    for name, feature in info["features"].items():
        assert "/" not in name
        assert set(feature) == {"dtype", "shape", "names"} | (
            {"info"} if feature["dtype"] == "video" else set()
        )
        if feature["names"] is not None:
            lengths = {"video": 3}.get(feature["dtype"], feature["shape"][0])
            assert len(feature["names"]) == lengths
    videos = [name for name, feature in info["features"].items() if feature["dtype"] == "video"]
    assert videos == [f"observation.images.{camera}" for camera in recorded.cameras]


def test_rows_have_the_types_that_info_names(dataset):
    recorded, root, info = dataset
    table = pq.read_table(root / info["data_path"].format(chunk_index=0, file_index=0))
    columns = {name for name, feature in info["features"].items() if feature["dtype"] != "video"}
    assert set(table.column_names) == columns
    for name in columns:
        kind, size = ARROW[info["features"][name]["dtype"]], info["features"][name]["shape"][0]
        expected = kind if size == 1 else f"fixed_size_list<element: {kind}>[{size}]"
        assert str(table.schema.field(name).type) == expected, name
    file = pq.ParquetFile(root / info["data_path"].format(chunk_index=0, file_index=0))
    assert file.num_row_groups == len(recorded)


def test_rows_are_what_was_recorded(dataset):
    recorded, root, info = dataset
    steps = recorded.steps
    table = pq.read_table(root / info["data_path"].format(chunk_index=0, file_index=0)).to_pydict()
    assert table["index"] == list(range(len(recorded) * steps))
    for index, episode in enumerate(recorded):
        rows = {name: np.array(values)[index * steps :][:steps] for name, values in table.items()}
        assert (rows["episode_index"] == index).all()
        assert (rows["frame_index"] == np.arange(steps)).all()
        np.testing.assert_allclose(rows["timestamp"], np.arange(steps) / info["fps"], atol=1e-6)
        entities = np.concatenate(
            (rows["observation.state"], rows["observation.environment_state"]), axis=1
        )
        assert (entities == episode.observation[:-1].reshape(steps, -1)).all()
        assert (rows["observation.goal"] == episode.desired_goal.ravel()).all()
        assert (rows["action"] == episode.action).all()
        assert (rows["next.reward"] == episode.reward).all()
        assert (rows["next.success"] == episode.success[1:]).all()
        assert rows["next.done"].tolist() == [False] * (steps - 1) + [True]


def test_the_table_of_episodes_says_where_they_are(dataset):
    recorded, root, info = dataset
    table = pq.read_table(root / "meta/episodes/chunk-000/file-000.parquet")
    kinds = {name: str(table.schema.field(name).type) for name in table.column_names}
    assert EPISODE.items() <= kinds.items()
    for name in info["features"]:
        assert {f"stats/{name}/{part}" for part in STATS} <= set(kinds)
    for camera in recorded.cameras:
        prefix = f"videos/observation.images.{camera}"
        places = {"chunk_index": "int64", "file_index": "int64"}
        times = {"from_timestamp": "double", "to_timestamp": "double"}
        assert {f"{prefix}/{key}": kind for key, kind in (places | times).items()}.items() <= (
            kinds.items()
        )
    for index, row in enumerate(table.to_pylist()):
        assert (row["episode_index"], row["length"]) == (index, recorded.steps)
        assert row["dataset_to_index"] - row["dataset_from_index"] == recorded.steps


def test_tasks_are_a_data_frame_with_texts_as_its_index(dataset):
    _, root, _ = dataset
    table = pq.read_table(root / "meta/tasks.parquet")
    row = table.to_pylist()[0]
    assert row["task_index"] == 0
    episodes = pq.read_table(root / "meta/episodes/chunk-000/file-000.parquet").to_pylist()
    assert all(episode["tasks"] == [row["task"]] for episode in episodes)
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_parquet(root / "meta/tasks.parquet")
    assert frame.index.name == "task"
    assert frame.loc[row["task"]].task_index == 0


def test_videos_show_what_was_recorded(pixels, tmp_path):
    export_lerobot(pixels, tmp_path, LeRobotOptions(crf=0))
    rows = pq.read_table(tmp_path / "meta/episodes/chunk-000/file-000.parquet").to_pylist()
    for camera in pixels.cameras:
        key = f"observation.images.{camera}"
        frames = decode(tmp_path / f"videos/{key}/chunk-000/file-000.mp4")
        assert len(frames) == len(pixels) * pixels.steps
        for row, episode in zip(rows, pixels, strict=True):
            start = round(3 * row[f"videos/{key}/from_timestamp"])
            shown = frames[start : round(3 * row[f"videos/{key}/to_timestamp"])]
            expected = episode.frames[camera][:-1]
            assert shown.shape == expected.shape
            assert np.abs(shown.astype(float) - expected).mean() < 4  # colors at half resolution
            goal = tmp_path / f"goals/{camera}/episode-{row['episode_index']:06d}.png"
            assert (np.array(Image.open(goal)) == episode.goal_frames[camera]).all()


def test_statistics_are_those_of_all_rows(dataset, rng):
    recorded, root, info = dataset
    stats = json.loads((root / "meta/stats.json").read_text())
    assert set(stats) == set(info["features"])
    actions = recorded.read("action").reshape(-1, 3)
    for name, value in (
        ("min", actions.min(0)),
        ("mean", actions.mean(0)),
        ("std", actions.std(0)),
    ):
        np.testing.assert_allclose(stats["action"][name], value, atol=1e-6)
    assert stats["action"]["count"] == [len(actions)]
    for camera in recorded.cameras:
        assert np.shape(stats[f"observation.images.{camera}"]["mean"]) == (3, 1, 1)
    parts = [rng.normal(size=(size, 2)) for size in (3, 7, 20)]
    merged, whole = (
        merge([vector_stats(part) for part in parts]),
        vector_stats(np.concatenate(parts)),
    )
    for name in ("min", "max", "mean", "std", "count"):
        np.testing.assert_allclose(merged[name], whole[name])


def test_files_of_full_size_are_followed_by_others(tmp_path, rng):
    data = DataWriter(tmp_path, limit_mb=0.001)
    places = [data.write({"x": rng.normal(size=100)}) for _ in range(3)]
    data.close()
    assert [place["file_index"] for place in places] == [0, 1, 2]
    video = VideoWriter(tmp_path, "view", 3, 0, limit_mb=0)
    frames = rng.integers(0, 255, (3, 2, 16, 16, 3)).astype(np.uint8)
    places = [video.write(frames[0])]
    video.close()
    places.append(video.write(frames[1]))
    video.close()
    assert [place["file_index"] for place in places] == [0, 1]
    assert places[0] == places[1] | {"file_index": 0}
    assert len(list((tmp_path / "videos/view/chunk-000").glob("*.mp4"))) == 2


def test_odd_images_are_refused(pixels, tmp_path, monkeypatch):
    streams = pixels.manifest.streams
    odd = replace(streams["frames"], shape=(6, 2, 33, 33, 3))
    monkeypatch.setitem(streams, "frames", odd)
    with pytest.raises(BadValueError, match="even height and width, not 33 × 33"):
        export_lerobot(pixels, tmp_path, LeRobotOptions())


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_an_error_in_the_middle_leaves_nothing(error, pixels, tmp_path, monkeypatch, capsys):
    write = lerobot_export._write_goals

    def fail(root, index, episode):
        if index == 1:
            raise error
        write(root, index, episode)

    monkeypatch.setattr(lerobot_export, "_write_goals", fail)
    words = ["export", "lerobot", str(pixels.folder), "--out", str(tmp_path / "out")]
    monkeypatch.setattr(sys, "argv", ["jostle", *words])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == (130 if isinstance(error, KeyboardInterrupt) else 1)
    assert "Traceback" not in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_lerobot_itself_reads_it(dataset):
    reason = "lerobot is not installed: its dependencies exclude versions that this package uses"
    module = pytest.importorskip("lerobot.datasets.lerobot_dataset", reason=reason)
    recorded, root, info = dataset
    read = module.LeRobotDataset("jostle/test", root=root)
    assert (read.num_episodes, read.num_frames) == (len(recorded), info["total_frames"])
    item = read.hf_dataset[recorded.steps + 2]
    np.testing.assert_array_equal(item["action"], recorded[1].action[2])
    if not recorded.cameras:
        assert read[recorded.steps + 2]["task"] == read.meta.tasks.index[0]

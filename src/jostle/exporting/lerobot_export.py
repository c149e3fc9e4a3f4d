"""Recordings in the layout of LeRobotDataset v3: Parquet, MP4 and JSON.

A row is an observation, the action that follows and its reward: T rows per episode. The last
observation of an episode, after which nothing is done, has none.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.core.errors import require
from jostle.core.files import write_json
from jostle.exporting.lerobot_files import (
    CHUNK,
    DATA_MB,
    DATA_PATH,
    VIDEO_MB,
    VIDEO_PATH,
    DataWriter,
    VideoWriter,
    write_episodes,
    write_tasks,
)
from jostle.exporting.lerobot_stats import Stats, image_stats, merge, vector_stats
from jostle.exporting.options import LeRobotOptions
from jostle.recordings.reader import RecordedEpisode, RecordedEpisodes
from jostle.tasks.catalog import TASKS, task_id

VERSION = "v3.0"
"""Version of the layout."""
IMAGES = "observation.images."
"""Prefix of the features that are videos."""
GOALS_PATH = "goals/{camera}/episode-{episode_index:06d}.png"
"""Goal images, once per episode; this folder is our own addition to the layout."""
_COUNTERS = ("timestamp", "frame_index", "episode_index", "index", "task_index")
"""Features that every dataset has."""


def export_lerobot(recorded: RecordedEpisodes, root: Path, options: LeRobotOptions) -> None:
    """Write all episodes below `root`, an empty folder."""
    features = _features(recorded, options)
    data, stats, rows = DataWriter(root), [], []
    videos = {
        camera: VideoWriter(root, IMAGES + camera, options.fps, options.crf)
        for camera in recorded.cameras
    }
    try:
        for index, episode in enumerate(recorded):
            columns = _columns(episode, index, options.fps)
            places: dict[str, Any] = {"data": data.write(_arrow(columns, features))}
            for camera, video in videos.items():
                frames = episode.frames[camera][:-1]
                places[f"videos/{IMAGES}{camera}"] = video.write(frames)
            stats.append(_stats(columns, episode))
            rows.append(_episode_row(recorded, index, places, stats[-1]))
            _write_goals(root, index, episode)
        data.close()
        for video in videos.values():
            video.close()
    except BaseException:
        for video in videos.values():
            video.abort()
        raise
    write_episodes(root, rows)
    write_tasks(root, [TASKS[recorded.task].summary])
    write_json(root / "meta/info.json", _info(recorded, features, options))
    merged = {name: merge([episode[name] for episode in stats]) for name in stats[0]}
    lists = {
        name: {key: value.tolist() for key, value in part.items()} for name, part in merged.items()
    }
    write_json(root / "meta/stats.json", lists)


def _columns(episode: RecordedEpisode, index: int, fps: int) -> dict[str, NDArray[Any]]:
    """All features of an episode that are no videos, (T, D) each."""
    steps = len(episode.action)
    frame = np.arange(steps, dtype=np.int64)
    done = frame == steps - 1
    goal = np.repeat(episode.desired_goal.reshape(1, -1), steps, axis=0)
    columns = {
        "observation.state": episode.observation[:-1, 0],
        "observation.environment_state": episode.observation[:-1, 1:].reshape(steps, -1),
        "observation.goal": goal,
        "action": episode.action,
        "next.reward": episode.reward,
        "next.success": episode.success[1:],
        "next.done": done,
        "timestamp": (frame / fps).astype(np.float32),
        "frame_index": frame,
        "episode_index": np.full(steps, index, np.int64),
        "index": index * steps + frame,
        "task_index": np.zeros(steps, np.int64),
    }
    return {name: values.reshape(steps, -1) for name, values in columns.items()}


def _arrow(columns: dict[str, NDArray[Any]], features: dict[str, Any]) -> dict[str, Any]:
    """Columns as Arrow arrays: numbers, or lists of a fixed size."""
    import pyarrow as pa

    arrays = {}
    for name, values in columns.items():
        kind = pa.from_numpy_dtype(np.dtype(features[name]["dtype"]))
        flat = pa.array(np.ascontiguousarray(values).ravel(), kind)
        size = values.shape[1]
        single = features[name]["shape"] == [1]
        arrays[name] = flat if single else pa.FixedSizeListArray.from_arrays(flat, size)
    return arrays


def _stats(columns: dict[str, NDArray[Any]], episode: RecordedEpisode) -> dict[str, Stats]:
    """Statistics of one episode, by feature."""
    stats = {name: vector_stats(values) for name, values in columns.items()}
    for camera, frames in episode.frames.items():
        stats[IMAGES + camera] = image_stats(frames[:-1])
    return stats


def _episode_row(
    recorded: RecordedEpisodes, index: int, places: dict[str, Any], stats: dict[str, Stats]
) -> dict[str, Any]:
    """A row of the table of episodes: where an episode is, and its statistics."""
    steps = recorded.steps
    row: dict[str, Any] = {
        "episode_index": index,
        "tasks": [TASKS[recorded.task].summary],
        "length": steps,
        "dataset_from_index": index * steps,
        "dataset_to_index": (index + 1) * steps,
        "meta/episodes/chunk_index": 0,
        "meta/episodes/file_index": 0,
    }
    for prefix, where in places.items():
        row |= {f"{prefix}/{key}": value for key, value in where.items()}
    for name, part in stats.items():
        row |= {f"stats/{name}/{key}": value.tolist() for key, value in part.items()}
    return row


def _write_goals(root: Path, index: int, episode: RecordedEpisode) -> None:
    """Write the goal images of an episode."""
    for camera, image in episode.goal_frames.items():
        from PIL import Image

        path = root / GOALS_PATH.format(camera=camera, episode_index=index)
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(path)


def _features(recorded: RecordedEpisodes, options: LeRobotOptions) -> dict[str, Any]:
    """Types, shapes and names of all features."""
    columns = recorded.manifest.columns
    objects = recorded.manifest.streams["desired_goal"].shape[0]

    def names(kind: str) -> list[str]:
        return [f"{column}_{i}" for i in range(objects) for column in columns[kind]]

    def vector(names: list[str]) -> dict[str, Any]:
        return {"dtype": "float32", "shape": [len(names)], "names": names}

    def single(dtype: str) -> dict[str, Any]:
        return {"dtype": dtype, "shape": [1], "names": None}

    features = {
        "observation.state": vector(columns["observation"]),
        "observation.environment_state": vector(names("observation")),
        "observation.goal": vector(names("goal")),
        "action": vector(["x", "y", "z"]),
        "next.reward": single("float32"),
        "next.success": single("bool"),
        "next.done": single("bool"),
    }
    for camera in recorded.cameras:
        height, width = recorded.manifest.streams["frames"].shape[2:4]
        require(
            height % 2 == width % 2 == 0,
            f"Videos need images of an even height and width, not {height} × {width}.",
        )
        features[IMAGES + camera] = _video_feature(height, width, options.fps)
    kinds = {name: "float32" if name == "timestamp" else "int64" for name in _COUNTERS}
    return features | {name: single(kind) for name, kind in kinds.items()}


def _video_feature(height: int, width: int, fps: int) -> dict[str, Any]:
    info = {
        "video.height": height, "video.width": width, "video.codec": "h264",
        "video.pix_fmt": "yuv420p", "video.is_depth_map": False, "video.fps": fps,
        "video.channels": 3, "has_audio": False,
    }  # fmt: skip
    names = ["height", "width", "channels"]
    return {"dtype": "video", "shape": [height, width, 3], "names": names, "info": info}


def _info(
    recorded: RecordedEpisodes, features: dict[str, Any], options: LeRobotOptions
) -> dict[str, Any]:
    """The description of the dataset."""
    return {
        "codebase_version": VERSION,
        "robot_type": task_id(recorded.task),
        "total_episodes": len(recorded),
        "total_frames": len(recorded) * recorded.steps,
        "total_tasks": 1,
        "chunks_size": CHUNK,
        "data_files_size_in_mb": DATA_MB,
        "video_files_size_in_mb": VIDEO_MB,
        "fps": options.fps,
        "splits": {"train": f"0:{len(recorded)}"},
        "data_path": DATA_PATH,
        "video_path": VIDEO_PATH if recorded.cameras else None,
        "features": features,
    }

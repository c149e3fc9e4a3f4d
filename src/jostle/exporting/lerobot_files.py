"""Files of the LeRobotDataset v3 layout that grow episode by episode: tables and videos."""

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

CHUNK = 1000
"""Files per folder."""
DATA_MB, VIDEO_MB = 100, 200
"""Size at which the next file is begun, for tables and for videos."""
DATA_PATH = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
VIDEO_PATH = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
EPISODES_PATH = "meta/episodes/chunk-000/file-000.parquet"
TASKS_PATH = "meta/tasks.parquet"
_KEYFRAMES = 2
"""Frames from one keyframe to the next: readers jump to any frame."""


def place(number: int) -> dict[str, int]:
    """Chunk and file of the file with this number."""
    return {"chunk_index": number // CHUNK, "file_index": number % CHUNK}


class DataWriter:
    """Rows of all episodes, one row group per episode, in files of limited size."""

    def __init__(self, root: Path, limit_mb: float = DATA_MB) -> None:
        """Write below `root`."""
        self._root, self._limit = root, limit_mb * 2**20
        self._number, self._bytes = -1, 0
        self._writer: Any = None

    def write(self, columns: dict[str, Any]) -> dict[str, int]:
        """Append the rows of an episode; returns where they are."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = pa.table(columns)
        if self._writer is None or self._bytes + table.nbytes > self._limit:
            self.close()
            self._number, self._bytes = self._number + 1, 0
            path = self._root / DATA_PATH.format(**place(self._number))
            path.parent.mkdir(parents=True, exist_ok=True)
            self._writer = pq.ParquetWriter(path, table.schema)
        self._writer.write_table(table)
        self._bytes += table.nbytes
        return place(self._number)

    def close(self) -> None:
        """Complete the present file."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None


class VideoWriter:
    """Frames of one camera, episode after episode, in files of limited size."""

    def __init__(
        self, root: Path, key: str, fps: int, crf: int, limit_mb: float = VIDEO_MB
    ) -> None:
        """Write videos of the feature `key` below `root`."""
        self._root, self._key, self._fps, self._crf = root, key, fps, crf
        self._limit, self._number, self._frames = limit_mb * 2**20, -1, 0
        self._path: Path | None = None
        self._encoder: Generator[None, Any, None] | None = None

    def write(self, frames: NDArray[np.uint8]) -> dict[str, float]:
        """Append frames (T, H, W, 3); returns their file, and from when to when they last."""
        full = self._path is not None and self._path.stat().st_size > self._limit
        if self._encoder is None or full:
            self.close()
            self._number, self._frames = self._number + 1, 0
            self._open(frames.shape[2], frames.shape[1])
        assert self._encoder is not None
        for frame in frames:
            self._encoder.send(np.ascontiguousarray(frame))
        start, self._frames = self._frames, self._frames + len(frames)
        seconds = {"from_timestamp": start / self._fps, "to_timestamp": self._frames / self._fps}
        return {**place(self._number), **seconds}

    def close(self) -> None:
        """Complete the present file, and check that it holds all frames."""
        if self._encoder is None:
            return
        import imageio_ffmpeg

        self.abort()
        frames, _ = imageio_ffmpeg.count_frames_and_secs(str(self._path))
        if frames != self._frames:
            raise OSError(
                f"{self._path} holds {frames} of {self._frames} frames. Is the disk full?"
            )

    def abort(self) -> None:
        """End ffmpeg."""
        if self._encoder is not None:
            self._encoder.close()
            self._encoder = None

    def _open(self, width: int, height: int) -> None:
        """Start ffmpeg."""
        import imageio_ffmpeg

        self._path = self._root / VIDEO_PATH.format(video_key=self._key, **place(self._number))
        self._path.parent.mkdir(parents=True, exist_ok=True)
        quality = ["-crf", str(self._crf), "-g", str(_KEYFRAMES), "-bf", "0"]
        self._encoder = imageio_ffmpeg.write_frames(
            str(self._path), (width, height), fps=self._fps, codec="libx264", quality=None,
            pix_fmt_in="rgb24", pix_fmt_out="yuv420p", macro_block_size=1, output_params=quality,
            ffmpeg_log_level="error",
        )  # fmt: skip
        self._encoder.send(None)
        self._path.touch()  # ffmpeg may take a moment


def write_episodes(root: Path, rows: list[dict[str, Any]]) -> None:
    """Write the table of episodes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = root / EPISODES_PATH
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), path)


def write_tasks(root: Path, tasks: list[str]) -> None:
    """Write the table of tasks: text to number, with the text as the index of a data frame."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"task_index": pa.array(range(len(tasks)), pa.int64()), "task": tasks})
    kinds = {"task_index": ("int64", "int64"), "task": ("unicode", "object")}
    columns = [
        {"name": name, "field_name": name, "pandas_type": kind, "numpy_type": numpy_kind,
         "metadata": None}
        for name, (kind, numpy_kind) in kinds.items()
    ]  # fmt: skip
    pandas = {"index_columns": ["task"], "column_indexes": [], "columns": columns}
    path = root / TASKS_PATH
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table.replace_schema_metadata({"pandas": json.dumps(pandas)}), path)

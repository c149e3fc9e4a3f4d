"""What users choose in an export; without torch, for the help."""

from dataclasses import dataclass
from typing import Literal

from jostle.core.checks import check_folder_name, check_int, check_number
from jostle.core.errors import require
from jostle.scene.spec import MAX_OBJECTS

MIN_OPSET, MAX_OPSET = 13, 20
"""ONNX opsets that torch's exporter can write these networks in."""


@dataclass(frozen=True, kw_only=True)
class OnnxOptions:
    """How an agent is written as ONNX files."""

    objects: int | None = None
    """Most objects that an agent of true state can be given; as in its training by default."""
    opset: int = 17
    """ONNX opset, the version of the operators."""
    observations: int = 100
    """Observations on which the files are compared with torch."""

    def __post_init__(self) -> None:
        """Refuse values out of range."""
        check_int("observations", self.observations, 1)
        require(
            MIN_OPSET <= self.opset <= MAX_OPSET,
            f"opset must be from {MIN_OPSET} to {MAX_OPSET}, not {self.opset}.",
        )
        if self.objects is not None:
            check_int("objects", self.objects, 1)
            require(
                self.objects <= MAX_OBJECTS,
                f"objects must be at most {MAX_OBJECTS}, not {self.objects}.",
            )


@dataclass(frozen=True, kw_only=True)
class MinariOptions:
    """How recordings are written as a Minari dataset."""

    id: str = ""
    """Name of the dataset; by default jostle/TASK/AGENTS-v0."""
    jpeg: bool = False
    """Compress images by JPEG: smaller, but not exactly what was recorded."""


@dataclass(frozen=True, kw_only=True)
class LeRobotOptions:
    """How recordings are written in the layout of LeRobotDataset v3."""

    fps: int = 3
    """Actions per second; 3 is the speed of the simulated arm."""
    crf: int = 18
    """Quality of the videos: 0 is lossless, larger is smaller and worse (x264)."""

    def __post_init__(self) -> None:
        """Refuse values out of range."""
        check_int("fps", self.fps, 1)
        check_int("crf", self.crf, 0)
        require(self.crf <= 51, f"crf must be at most 51, not {self.crf}.")


@dataclass(frozen=True, kw_only=True)
class NpzOptions:
    """How recordings are written as npz files."""

    layout: Literal["ogbench", "hecrl"] = "ogbench"
    """ogbench: true state as vectors; hecrl: images of all views, and true state beside them."""
    val_fraction: float = 0.0
    """Fraction of the episodes, the last ones, that goes into a second file for validation."""
    name: str = "recording"
    """Name of the files without .npz."""

    def __post_init__(self) -> None:
        """Refuse values out of range."""
        check_folder_name("name", self.name)
        check_number("val_fraction", self.val_fraction, low=0)
        require(self.val_fraction < 1, f"val_fraction must be below 1, not {self.val_fraction}.")


@dataclass(frozen=True, kw_only=True)
class ImportOptions:
    """How a file of other projects becomes a recording."""

    task: str
    """Task whose environment the episodes are of (see 'jostle tasks')."""
    objects: int | None = None
    """Number of objects; the task's own number by default."""
    cameras: tuple[str, ...] = ("front", "side")
    """Cameras of the images, in the order of the views."""

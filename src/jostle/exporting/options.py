"""What users choose in an export; without torch, for the help."""

from dataclasses import dataclass

from jostle.core.checks import check_int
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

"""Optional packages, and the extra of this package that installs each."""

from importlib.util import find_spec

from jostle.core.errors import MissingPackageError

EXTRAS = {
    "torch": "train", "safetensors": "train", "tensorboard": "train", "matplotlib": "report",
    "imageio": "report", "imageio_ffmpeg": "report", "PIL": "report", "stable_baselines3": "sb3",
    "onnx": "onnx", "onnxruntime": "onnx", "minari": "data", "h5py": "data", "pyarrow": "data",
    "starlette": "play", "uvicorn": "play", "websockets": "play", "ray": "cluster",
}  # fmt: skip
"""Packages by the name they are imported by."""


def missing_package(what: str, package: str) -> MissingPackageError:
    """Error that says how to install a package that `what` needs."""
    return MissingPackageError(
        f"{what} needs the package {package}: pip install 'jostle[{EXTRAS[package]}]'",
        name=package,
    )


def explain(what: str, error: ImportError) -> ImportError:
    """The error to raise instead of one about a missing package, which is that one if unknown."""
    package = (error.name or "").partition(".")[0]
    if isinstance(error, MissingPackageError) or package not in EXTRAS:
        return error
    return missing_package(what, package)


def require_packages(what: str, *packages: str) -> None:
    """Refuse to start without some packages, before anything is computed."""
    for package in packages:
        try:
            missing = find_spec(package) is None
        except (ImportError, ValueError):  # it is blocked
            missing = True
        if missing:
            raise missing_package(what, package)

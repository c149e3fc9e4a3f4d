"""`jostle doctor`: check that this machine can simulate and render, and how fast it is."""

import json
import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import tyro

from jostle.core.checks import check_number, check_output
from jostle.core.errors import JostleError, require
from jostle.core.files import write_json

_PACKAGES = ("mujoco", "gymnasium", "numpy", "torch", "matplotlib", "imageio")
_OPTIONAL = ("torch", "matplotlib", "imageio")


@dataclass(frozen=True, kw_only=True)
class DoctorConfig:
    """Check versions, cores, GPU, disk, physics and rendering; exit 1 if there are problems."""

    bench: bool = False
    """Also measure environment steps, images and updates per second, and print them as JSON."""
    device: str = "auto"
    """Where --bench computes: auto (a GPU if there is one), cpu, cuda, cuda:1, mps."""
    seconds: float = 3.0
    """How long --bench measures each number."""
    out: Path | None = None
    """File for the JSON of --bench."""

    def __post_init__(self) -> None:
        """Refuse values out of range."""
        check_number("seconds", self.seconds, above=0)
        require(self.bench or self.out is None, "--out is for the numbers of --bench: add it.")


def run(argv: list[str]) -> int:
    """Print versions and checks; returns 0, or 1 if there are problems, which are explained."""
    config = tyro.cli(DoctorConfig, prog="jostle doctor", args=argv)
    if config.out is not None:
        check_output(config.out)
    print(f"python      {platform.python_version()} on {platform.platform()}")
    for package in _PACKAGES:
        print(f"{package:11} {_version(package)}")
    free = shutil.disk_usage(Path.cwd()).free / 2**30
    print(
        f"cores       {os.cpu_count()}\ngpu         {_gpu()}\ndisk        {free:.0f} GiB free here"
    )
    problems = [problem for problem in (_simulate(), _render()) if problem]
    if free < 1:
        problems.append("Less than 1 GiB of disk is free: make room before training.")
    for problem in problems:
        print(f"\nproblem: {problem}", file=sys.stderr)
    print("\nno problems" if not problems else f"\n{len(problems)} problem(s)")
    if config.bench and not problems:
        _bench(config)
    return 1 if problems else 0


def _bench(config: DoctorConfig) -> None:
    from jostle.cli.doctor_bench import bench

    numbers = bench(config.device, config.seconds)
    print(json.dumps(numbers, indent=2))
    if config.out is not None:
        write_json(config.out, numbers)
        print(f"written: {config.out}")


def _version(package: str) -> str:
    if package == "mujoco":  # it may come from the distribution mujoco-core
        import mujoco

        return str(mujoco.__version__)
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed" + (" (optional)" if package in _OPTIONAL else "")


def _gpu() -> str:
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return "none found"
    command = [tool, "--query-gpu=name", "--format=csv,noheader"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (subprocess.SubprocessError, OSError) as error:
        return f"nvidia-smi failed: {error}"
    return answer.stdout.strip().replace("\n", ", ") or "none found"


def _simulate() -> str | None:
    from jostle.envs.tabletop import TabletopEnv

    env = TabletopEnv("OneCube")
    env.reset(seed=0)
    for _ in range(3):
        env.step(env.action_space.sample())
    print("physics     ok, three steps of one cube")
    return None


def _render() -> str | None:
    from jostle.pixels import backend
    from jostle.pixels.render import Renderer, RenderRequest
    from jostle.scene.build import compile_scene
    from jostle.scene.cameras import resolve_cameras
    from jostle.scene.spec import Appearance, ObjectSpec, SceneSpec

    try:
        import numpy as np

        compiled = compile_scene(SceneSpec(objects=(ObjectSpec(),)))
        renderer = Renderer(compiled, 1, (64, 64))
        appearance = Appearance(colors=((1.0, 0.0, 0.0),), cameras=resolve_cameras(("front",)))
        frame = np.empty((1, 64, 64, 3), np.uint8)
        renderer.render(RenderRequest(compiled, compiled.model.qpos0, appearance), frame)
        print(f"rendering   {backend.backend()}: {backend.renderer_name()}")
        renderer.close()
    except JostleError as error:
        print("rendering   failed")
        return str(error)
    if frame.std() < 5:
        return f"The rendered frame is blank. {backend.INSTALL_HINT}"
    return None

"""`jostle doctor`: can this machine simulate and draw?"""

import os
import platform
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import tyro

from jostle.core.errors import JostleError

_PACKAGES = ("mujoco", "gymnasium", "numpy", "torch", "matplotlib", "imageio")
_OPTIONAL = ("torch", "matplotlib", "imageio")


def run(argv: list[str]) -> int:
    """Print what was found; 0 when all is well, 1 with the cure when not."""
    tyro.cli(_nothing, prog="jostle doctor", args=argv)
    print(f"python      {platform.python_version()} on {platform.platform()}")
    for package in _PACKAGES:
        print(f"{package:11} {_version(package)}")
    free = shutil.disk_usage(Path.cwd()).free / 2**30
    print(
        f"cores       {os.cpu_count()}\ngpu         {_gpu()}\ndisk        {free:.0f} GiB free here"
    )
    ills = [ill for ill in (_simulate(), _draw()) if ill]
    if free < 1:
        ills.append("Less than 1 GiB of disk is free: make room before training.")
    for ill in ills:
        print(f"\nproblem: {ill}", file=sys.stderr)
    print("\nall is well" if not ills else f"\n{len(ills)} problem(s)")
    return 1 if ills else 0


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed" + (" (optional)" if package in _OPTIONAL else "")


def _gpu() -> str:
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return "none found"
    asked = [tool, "--query-gpu=name", "--format=csv,noheader"]
    try:
        answer = subprocess.run(asked, capture_output=True, text=True, timeout=10, check=True)
    except (subprocess.SubprocessError, OSError) as error:
        return f"nvidia-smi failed: {error}"
    return answer.stdout.strip().replace("\n", ", ") or "none found"


def _simulate() -> str | None:
    from jostle.envs.tabletop import TabletopEnv

    env = TabletopEnv("OneCube")
    env.reset(seed=0)
    for _ in range(3):
        env.step(env.action_space.sample())
    print("physics     one cube stepped three times")
    return None


def _draw() -> str | None:
    from jostle.pixels import backend
    from jostle.pixels.render import Painter, Shot
    from jostle.scene.build import build
    from jostle.scene.cameras import read_cameras
    from jostle.scene.spec import Look, ObjectSpec, SceneSpec

    try:
        import numpy as np

        world = build(SceneSpec(objects=(ObjectSpec(),)))
        painter = Painter(world, 1, (64, 64))
        look = Look(colors=((1.0, 0.0, 0.0),), cameras=read_cameras(("front",)))
        frame = np.empty((1, 64, 64, 3), np.uint8)
        painter.paint(Shot(world, world.model.qpos0, look), frame)
        print(f"drawing     {backend.backend()}: {backend.renderer_name()}")
        painter.close()
    except JostleError as error:
        print("drawing     failed")
        return str(error)
    if frame.std() < 5:
        return f"The frame that was drawn is blank. {backend.CURE}"
    return None


def _nothing() -> None:
    """Check versions, cores, GPU, disk, physics and drawing; exit 1 with the cure if needed."""

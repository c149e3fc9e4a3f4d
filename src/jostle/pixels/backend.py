"""Choice of the OpenGL backend: EGL on a GPU, else software EGL, else OSMesa."""

import ctypes
import ctypes.util
import functools
import os
import sys
from typing import Any

from jostle.core.catalog import suggest
from jostle.core.errors import RenderError
from jostle.pixels import egl
from jostle.pixels.displays import SurfacelessContext, is_software_rendered

VARIABLE = "JOSTLE_GL"
"""Environment variable that forces a backend; MUJOCO_GL is honored too."""
BACKENDS = ("egl", "osmesa", "glfw")
INSTALL_HINT = (
    "Install the software renderer with "
    "'apt-get install libegl1 libgl1 libgl1-mesa-dri libosmesa6' (or your system's equivalent), "
    f"or force a backend with {VARIABLE}=egl|osmesa|glfw."
)
_DEVICE_PLATFORM = 0x313F

# Software GL renders each image on the calling thread; our threads render different images.
os.environ.setdefault("LP_NUM_THREADS", "0")


@functools.cache
def backend() -> str:
    """Choose the backend of this process."""
    forced = os.environ.get(VARIABLE) or os.environ.get("MUJOCO_GL", "")
    forced = forced.lower().strip()
    if forced:
        if forced not in BACKENDS:
            raise RenderError(
                f"There is no GL backend called '{forced}'. {suggest(forced, list(BACKENDS))}"
            )
        return forced
    if sys.platform != "linux":
        return "glfw"
    if egl_devices() > 0:
        return "egl"
    if osmesa_found():
        return "osmesa"
    raise RenderError(
        f"Neither EGL nor OSMesa was found, so nothing can be rendered. {INSTALL_HINT}"
    )


def context(width: int, height: int, own_display: bool = False) -> Any:
    """Open a GL context of the chosen backend, current in the calling thread.

    With `own_display` a software context shares no display with other contexts.
    """
    name = backend()
    try:
        if name == "egl" and own_display and is_software_rendered(name):
            opened: Any = SurfacelessContext()
            opened.make_current()
            return opened
        if name == "egl":
            from mujoco.egl import GLContext
        elif name == "osmesa":
            from mujoco.osmesa import GLContext
        else:
            from mujoco.glfw import GLContext
        opened = GLContext(width, height)
        opened.make_current()
    except (ImportError, OSError, AttributeError, RuntimeError) as error:
        raise RenderError(
            f"The GL backend '{name}' could not open a context: {error}. {INSTALL_HINT}"
        ) from error
    return opened


def egl_devices() -> int:
    """Count the EGL devices that can be initialized, without touching PyOpenGL."""
    return sum(egl.display(_DEVICE_PLATFORM, device) is not None for device in egl.devices())


def osmesa_found() -> bool:
    """Return whether OSMesa's library can be loaded."""
    for name in (ctypes.util.find_library("OSMesa"), "libOSMesa.so.8", "libOSMesa.so.6"):
        try:
            if name and ctypes.CDLL(name):
                return True
        except OSError:
            continue
    return False


def renderer_name() -> str:
    """Name of the GL driver that renders (needs a current context)."""
    from OpenGL import GL

    name = GL.glGetString(GL.GL_RENDERER)
    return name.decode() if name else "unknown"

"""One EGL display per software renderer: two that share a display can crash the process.

Mesa's software renderer keeps one list of contexts per display. Reading an image back walks
through the scenes of all contexts on that list while other threads build and free theirs, and
sometimes reads what has just been freed. So the first renderer uses the display of the device, the
second the surfaceless display, and there is no third.
"""

import functools
import sys
from typing import Any

from jostle.pixels.egl import NUMBER, POINTER, TEXT, WORD, address, devices, display, function

_SOFTWARE = b"EGL_MESA_device_software"
_SURFACELESS, _OPENGL, _EXTENSIONS, _NONE = 0x31DD, 0x30A2, 0x3055, 0x3038
_CONFIG = {0x3024: 8, 0x3023: 8, 0x3022: 8, 0x3021: 8, 0x3026: 8, 0x3025: 24, 0x3040: 8}
"""Eight bits each of red, green, blue, alpha and stencil, 24 of depth, rendered by OpenGL."""
_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "eglChooseConfig": (WORD, POINTER, POINTER, POINTER, NUMBER, POINTER),
    "eglBindAPI": (WORD, WORD),
    "eglCreateContext": (POINTER, POINTER, POINTER, POINTER, POINTER),
    "eglMakeCurrent": (WORD, POINTER, POINTER, POINTER, POINTER),
    "eglDestroyContext": (WORD, POINTER, POINTER),
}
"""Return type and argument types of EGL functions."""


def max_renderers(name: str) -> int:
    """Return how many contexts of a GL backend may render at the same time."""
    if not is_software_rendered(name):
        return sys.maxsize
    return 2 if name == "egl" and _surfaceless() is not None else 1


@functools.cache
def is_software_rendered(name: str) -> bool:
    """Return whether a GL backend renders on the CPU, as far as it reports."""
    query = function("eglQueryDeviceStringEXT", TEXT, POINTER, NUMBER)
    if name != "egl" or query is None:
        return name == "osmesa"
    return all(_SOFTWARE in (query(device, _EXTENSIONS) or b"") for device in devices())


class SurfacelessContext:
    """An OpenGL context on the surfaceless display, for the thread that opens it."""

    def __init__(self) -> None:
        """Open the context; RuntimeError if the driver refuses."""
        self._display: Any = _surfaceless()
        pairs = [number for pair in _CONFIG.items() for number in pair]
        attributes = (NUMBER * (len(pairs) + 1))(*pairs, _NONE)
        config, count = POINTER(), NUMBER(0)
        _call("eglChooseConfig", self._display, attributes, address(config), 1, address(count))
        _call("eglBindAPI", _OPENGL)
        self._context: Any = _call("eglCreateContext", self._display, config, None, None)

    def make_current(self) -> None:
        """Make it the current context of the calling thread."""
        _call("eglMakeCurrent", self._display, None, None, self._context)

    def free(self) -> None:
        """Destroy the context."""
        _call("eglMakeCurrent", self._display, None, None, None)
        _call("eglDestroyContext", self._display, self._context)
        self._context = None


@functools.cache
def _surfaceless() -> int | None:
    """Open the surfaceless display, once; None if there is none."""
    return display(_SURFACELESS, None)


def _call(name: str, *values: Any) -> Any:
    """Call an EGL function that returns 0 or NULL on failure."""
    call = function(name, *_SIGNATURES[name])
    result = call(*values) if call else None
    if not result:
        raise RuntimeError(f"{name} failed on the surfaceless display")
    return result

"""A display for every software painter: two that share one can kill the process.

Mesa's software renderer keeps one list of contexts per display. Whoever reads a picture walks
through the scenes of all contexts on that list while other threads build and free theirs, and now
and then reads what has just been freed. So the first painter draws on the display of the device,
the second on the one without surfaces, and there is no third.
"""

import functools
import sys
from typing import Any

from jostle.pixels.egl import NUMBER, POINTER, TEXT, WORD, address, devices, display, function

_SOFTWARE = b"EGL_MESA_device_software"
_SURFACELESS, _OPENGL, _EXTENSIONS, _NONE = 0x31DD, 0x30A2, 0x3055, 0x3038
_WANTED = {0x3024: 8, 0x3023: 8, 0x3022: 8, 0x3021: 8, 0x3026: 8, 0x3025: 24, 0x3040: 8}
"""Eight bits each of red, green, blue, alpha and stencil, 24 of depth, drawn by OpenGL."""
_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "eglChooseConfig": (WORD, POINTER, POINTER, POINTER, NUMBER, POINTER),
    "eglBindAPI": (WORD, WORD),
    "eglCreateContext": (POINTER, POINTER, POINTER, POINTER, POINTER),
    "eglMakeCurrent": (WORD, POINTER, POINTER, POINTER, POINTER),
    "eglDestroyContext": (WORD, POINTER, POINTER),
}
"""What a function of EGL gives, and what it takes."""


def most_painters(name: str) -> int:
    """Count the contexts of a GL backend that may draw at the same time."""
    if not draws_in_software(name):
        return sys.maxsize
    return 2 if name == "egl" and _surfaceless() is not None else 1


@functools.cache
def draws_in_software(name: str) -> bool:
    """Say whether a GL backend draws on the processor, as far as it tells."""
    describe = function("eglQueryDeviceStringEXT", TEXT, POINTER, NUMBER)
    if name != "egl" or describe is None:
        return name == "osmesa"
    return all(_SOFTWARE in (describe(one, _EXTENSIONS) or b"") for one in devices())


class SurfacelessContext:
    """An OpenGL context on the display without surfaces, for the thread that opens it."""

    def __init__(self) -> None:
        """Open it; RuntimeError if the driver will not."""
        self._display: Any = _surfaceless()
        wanted = [number for pair in _WANTED.items() for number in pair]
        attributes = (NUMBER * (len(wanted) + 1))(*wanted, _NONE)
        config, count = POINTER(), NUMBER(0)
        _call("eglChooseConfig", self._display, attributes, address(config), 1, address(count))
        _call("eglBindAPI", _OPENGL)
        self._context: Any = _call("eglCreateContext", self._display, config, None, None)

    def make_current(self) -> None:
        """Let the calling thread draw with it."""
        _call("eglMakeCurrent", self._display, None, None, self._context)

    def free(self) -> None:
        """Give it back."""
        _call("eglMakeCurrent", self._display, None, None, None)
        _call("eglDestroyContext", self._display, self._context)
        self._context = None


@functools.cache
def _surfaceless() -> int | None:
    """Open the display without surfaces, once; nothing if there is none."""
    return display(_SURFACELESS, None)


def _call(name: str, *values: Any) -> Any:
    """Call a function of EGL that gives nothing when it fails."""
    called = function(name, *_SIGNATURES[name])
    found = called(*values) if called else None
    if not found:
        raise RuntimeError(f"{name} failed on the display without surfaces")
    return found

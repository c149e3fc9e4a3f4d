"""A display for every software painter: two that share one can kill the process.

Mesa's software renderer keeps one list of contexts per display. Whoever reads a picture walks
through the scenes of all contexts on that list while other threads build and free theirs, and now
and then reads what has just been freed. So the first painter draws on the display of the device,
the second on the one without surfaces, and there is no third.
"""

import ctypes
import functools
import sys
from typing import Any

_SOFTWARE = b"EGL_MESA_device_software"
_SURFACELESS, _OPENGL, _EXTENSIONS, _NONE = 0x31DD, 0x30A2, 0x3055, 0x3038
_WANTED = {0x3024: 8, 0x3023: 8, 0x3022: 8, 0x3021: 8, 0x3026: 8, 0x3025: 24, 0x3040: 8}
"""Eight bits each of red, green, blue, alpha and stencil, 24 of depth, drawn by OpenGL."""
_POINTER, _WORD = ctypes.c_void_p, ctypes.c_uint


def most_painters(name: str) -> int:
    """Count the contexts of a GL backend that may draw at the same time."""
    if not draws_in_software(name):
        return sys.maxsize
    return 2 if name == "egl" and _surfaceless() is not None else 1


@functools.cache
def draws_in_software(name: str) -> bool:
    """Say whether a GL backend draws on the processor, as far as it tells."""
    describe = _function("eglQueryDeviceStringEXT", ctypes.c_char_p, _POINTER, ctypes.c_int)
    query = _function("eglQueryDevicesEXT", _WORD, ctypes.c_int, _POINTER, _POINTER)
    if name != "egl" or describe is None or query is None:
        return name == "osmesa"
    devices, count = (_POINTER * 16)(), ctypes.c_int(0)
    query(16, ctypes.addressof(devices), ctypes.addressof(count))
    told = [describe(device, _EXTENSIONS) or b"" for device in devices[: count.value]]
    return all(_SOFTWARE in one for one in told)


class SurfacelessContext:
    """An OpenGL context on the display without surfaces, for the thread that opens it."""

    def __init__(self) -> None:
        """Open it; RuntimeError if the driver will not."""
        self._display: Any = _surfaceless()
        wanted = [number for pair in _WANTED.items() for number in pair]
        attributes = (ctypes.c_int * (len(wanted) + 1))(*wanted, _NONE)
        config, count = _POINTER(), ctypes.c_int(0)
        _call("eglChooseConfig", self._display, attributes, _of(config), 1, _of(count))
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
def _surfaceless() -> Any:
    """Open the display without surfaces, once; nothing if there is none."""
    get = _function("eglGetPlatformDisplayEXT", _POINTER, _WORD, _POINTER, _POINTER)
    begin = _function("eglInitialize", _WORD, *(_POINTER,) * 3)
    display = get(_SURFACELESS, None, None) if get else None
    return display if display and begin and begin(display, None, None) else None


_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "eglChooseConfig": (_WORD, _POINTER, _POINTER, _POINTER, ctypes.c_int, _POINTER),
    "eglBindAPI": (_WORD, _WORD),
    "eglCreateContext": (_POINTER, *(_POINTER,) * 4),
    "eglMakeCurrent": (_WORD, *(_POINTER,) * 4),
    "eglDestroyContext": (_WORD, *(_POINTER,) * 2),
}
"""What a function of EGL gives, and what it takes."""


def _call(name: str, *values: Any) -> Any:
    """Call a function of EGL that gives nothing when it fails."""
    function = _function(name, *_SIGNATURES[name])
    found = function(*values) if function else None
    if not found:
        raise RuntimeError(f"{name} failed on the display without surfaces")
    return found


def _of(value: Any) -> int:
    return ctypes.addressof(value)


@functools.cache
def _function(name: str, gives: Any, *takes: Any) -> Any:
    """Look up a function of EGL; nothing if there is no such function, or no EGL."""
    try:
        egl = ctypes.CDLL("libEGL.so.1")
    except OSError:
        return None
    egl.eglGetProcAddress.restype, egl.eglGetProcAddress.argtypes = _POINTER, [ctypes.c_char_p]
    address = egl.eglGetProcAddress(name.encode())
    return ctypes.CFUNCTYPE(gives, *takes)(address) if address else None

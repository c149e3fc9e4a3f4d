"""Functions of EGL by name, without PyOpenGL: where they are missing, nothing breaks."""

import ctypes
import ctypes.util
import functools
from typing import Any

POINTER, WORD, NUMBER, TEXT = ctypes.c_void_p, ctypes.c_uint, ctypes.c_int, ctypes.c_char_p
_MOST_DEVICES = 16


@functools.cache
def function(name: str, gives: Any, *takes: Any) -> Any:
    """Look up a function of EGL; nothing if there is no such function, or no EGL."""
    try:
        egl = ctypes.CDLL(ctypes.util.find_library("EGL") or "libEGL.so.1")
    except OSError:
        return None
    egl.eglGetProcAddress.restype, egl.eglGetProcAddress.argtypes = POINTER, [TEXT]
    found = egl.eglGetProcAddress(name.encode())
    return ctypes.CFUNCTYPE(gives, *takes)(found) if found else None


def devices() -> list[int]:
    """Handles of the devices that EGL knows."""
    query = function("eglQueryDevicesEXT", WORD, NUMBER, POINTER, POINTER)
    found, count = (POINTER * _MOST_DEVICES)(), NUMBER(0)
    if query is None or not query(_MOST_DEVICES, address(found), address(count)):
        return []
    return [one for one in found[: count.value] if one]


def display(platform: int, device: int | None) -> int | None:
    """Open and initialize a display of a platform; nothing if that fails."""
    get = function("eglGetPlatformDisplayEXT", POINTER, WORD, POINTER, POINTER)
    begin = function("eglInitialize", WORD, POINTER, POINTER, POINTER)
    opened: int | None = get(platform, device, None) if get and begin else None
    return opened if opened and begin(opened, None, None) else None


def address(value: Any) -> int:
    """Where a value of ctypes lies."""
    return ctypes.addressof(value)

"""EGL functions by name, without PyOpenGL: missing ones are None instead of an import error."""

import ctypes
import ctypes.util
import functools
from typing import Any

POINTER, WORD, NUMBER, TEXT = ctypes.c_void_p, ctypes.c_uint, ctypes.c_int, ctypes.c_char_p
_MAX_DEVICES = 16


@functools.cache
def function(name: str, result_type: Any, *argument_types: Any) -> Any:
    """Look up an EGL function; None if there is no such function, or no EGL."""
    try:
        egl = ctypes.CDLL(ctypes.util.find_library("EGL") or "libEGL.so.1")
    except OSError:
        return None
    egl.eglGetProcAddress.restype, egl.eglGetProcAddress.argtypes = POINTER, [TEXT]
    pointer = egl.eglGetProcAddress(name.encode())
    return ctypes.CFUNCTYPE(result_type, *argument_types)(pointer) if pointer else None


def devices() -> list[int]:
    """Handles of the EGL devices."""
    query = function("eglQueryDevicesEXT", WORD, NUMBER, POINTER, POINTER)
    handles, count = (POINTER * _MAX_DEVICES)(), NUMBER(0)
    if query is None or not query(_MAX_DEVICES, address(handles), address(count)):
        return []
    return [handle for handle in handles[: count.value] if handle]


def display(platform: int, device: int | None) -> int | None:
    """Open and initialize a display of a platform; None if that fails."""
    get = function("eglGetPlatformDisplayEXT", POINTER, WORD, POINTER, POINTER)
    initialize = function("eglInitialize", WORD, POINTER, POINTER, POINTER)
    opened: int | None = get(platform, device, None) if get and initialize else None
    return opened if opened and initialize(opened, None, None) else None


def address(value: Any) -> int:
    """Address of a ctypes value."""
    return ctypes.addressof(value)

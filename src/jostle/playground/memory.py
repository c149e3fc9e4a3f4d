"""Gives freed memory back to the system, where the C library keeps it otherwise."""

import ctypes


def release_free_memory() -> None:
    """Return free memory of the C library to the system; does nothing where it cannot be asked.

    A renderer and an environment take tens of megabytes in large pieces. Small ones that live on,
    such as frames for replays, are allocated between them: after they are freed the C library
    keeps what is left between, and takes more from the system for the next ones.
    """
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):  # not the GNU C library
        return

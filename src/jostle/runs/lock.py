"""One process at a time trains a run."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jostle.core.errors import BadValueError

try:
    import fcntl
except ImportError:  # not on Windows, where runs are not locked
    fcntl = None  # type: ignore[assignment]


@contextmanager
def locked(path: Path, wait: bool = False) -> Iterator[None]:
    """Hold a lock file; the system releases it when the process ends, however it ends.

    With `wait`, wait for another process that holds it, instead of an error.
    """
    if fcntl is None:
        yield
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except OSError:
            owner = os.read(handle, 32).decode() or "unknown"
            raise BadValueError(
                f"The run in {path.parent} is in use by another process (pid {owner}). Wait for "
                "it, or stop it first."
            ) from None
        os.truncate(handle, 0)
        os.write(handle, str(os.getpid()).encode())
        yield
    finally:
        os.close(handle)

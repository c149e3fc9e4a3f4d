"""A session with Ray: on this machine, behind loopback alone, or with a cluster.

Ray is imported by these functions only; it is in the extra `cluster`.
"""

import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from jostle.core.errors import BadValueError, ClusterError, JostleError
from jostle.core.extras import require_packages

_CONNECT_SECONDS = 5.0
"""How long to try whether an address answers; Ray itself tries for minutes."""
_OBJECT_STORE = 512 * 2**20
"""Bytes of shared memory for weights and episodes on this machine."""


def import_ray(what: str) -> Any:
    """Import Ray for `what`, with settings that keep a local cluster behind loopback."""
    require_packages(what, "ray")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    import ray

    return ray


@contextmanager
def ray_session(address: str, cpus: int, what: str) -> Iterator[Any]:
    """Connect to a cluster or start one for this process, and leave it in the end.

    A session that is open already is used as it is, and stays open.

    Args:
        address: Such as 10.0.0.1:6379; empty for a cluster of this machine alone.
        cpus: CPUs of a cluster that is started here.
        what: What needs Ray, for errors.
    """
    ray = import_ray(what)
    if ray.is_initialized():
        yield ray
        return
    check_ray(what, address)
    try:
        with _signals_kept():
            _connect(ray, address, cpus)
        yield ray
    finally:
        with _signals_kept():
            ray.shutdown()


def check_ray(what: str, address: str) -> None:
    """Refuse to start without Ray, or with an address at which nothing answers."""
    require_packages(what, "ray")
    if address:
        _check_reachable(address)


def _check_reachable(address: str) -> None:
    host, colon, port = address.rpartition(":")
    if not colon or not host or not port.isdigit():
        raise BadValueError(
            f"'{address}' is no address of a Ray cluster: give HOST:PORT, such as 10.0.0.1:6379. "
            "'ray start --head' prints it."
        )
    try:
        socket.create_connection((host, int(port)), timeout=_CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise ClusterError(
            f"There is no Ray cluster at {address} ({error}). Start one with 'ray start --head "
            f"--port {port}', or leave out --ray to use this machine alone."
        ) from error


def _connect(ray: Any, address: str, cpus: int) -> None:
    """Start Ray here, or connect to the cluster at an address."""
    quiet = {"log_to_driver": False, "logging_level": "ERROR", "include_dashboard": False}
    try:
        if not address or address.startswith(("127.0.0.1:", "localhost:")):
            _stay_on_loopback()
        if address:
            ray.init(address=address, log_to_driver=False, logging_level="ERROR")
            return
        ray.init(address="local", num_cpus=cpus, object_store_memory=_OBJECT_STORE, **quiet)
    except JostleError:
        raise
    except Exception as error:
        text = " ".join(str(error).split())
        if "ersion mismatch" in text:
            raise ClusterError(
                f"The Ray cluster at {address} has other versions than this process: {text} "
                "Install the same versions of Python and Ray on all machines."
            ) from error
        where = f"at {address} could not be joined" if address else "could not be started here"
        raise ClusterError(f"The Ray cluster {where}: {text[:300]}") from error


def _stay_on_loopback() -> None:
    """Let a cluster of this machine use 127.0.0.1, as Ray does on Windows and macOS."""
    from ray._private import ray_constants

    os.environ[ray_constants.ENABLE_RAY_CLUSTERS_ENV_VAR] = "0"
    ray_constants.ENABLE_RAY_CLUSTER = False


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Put signal handlers back, which Ray replaces."""
    main = threading.current_thread() is threading.main_thread()
    numbers = (signal.SIGINT, signal.SIGTERM) if main else ()
    handlers = {number: signal.getsignal(number) for number in numbers}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def worker_error(error: Exception) -> Exception:
    """The error to raise for one that a remote process had: its own, or one clear sentence."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, JostleError):
        return cause
    text = str(error)
    if "No module named" in text or "ModuleNotFoundError" in text:
        missing = text.partition("No module named")[2].strip().splitlines()[:1]
        return ClusterError(
            f"A machine of the cluster lacks the package {(missing or ['jostle'])[0]}: install the "
            "same jostle with its extras on all machines (pip install 'jostle[train,cluster]')."
        )
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return ClusterError(f"A worker failed: {lines[-1].strip() if lines else error!r}")

"""A pool of renderers, one per thread, that renders many requests at once."""

import os
import threading
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.core.errors import require
from jostle.pixels.backend import backend
from jostle.pixels.displays import max_renderers
from jostle.pixels.render import Renderer, RenderRequest
from jostle.scene.build import CompiledScene

_Method = Callable[[Renderer, RenderRequest, NDArray[np.uint8]], None]


class RenderPool:
    """Renders on several threads; a pool that is dropped without `close` frees its contexts."""

    def __init__(
        self,
        scene: CompiledScene,
        views: int,
        size: tuple[int, int],
        threads: int = 0,
        renderer: type[Renderer] = Renderer,
    ) -> None:
        """Prepare; GL contexts are opened by the first request. 0 threads: one per core."""
        require(
            views >= 1 and all(8 <= side <= 2048 for side in size),
            f"Images are 8 to 2048 pixels a side and at least one, not {views} of {size}.",
        )
        self._scene, self._views, self._size = scene, views, size
        self._max_threads, self._renderer = threads, renderer
        self._threads: list[_RenderThread] = []
        finalizer = weakref.finalize(self, _abandon, self._threads, os.getpid())
        finalizer.atexit = False  # threads have already ended then, and the contexts with them

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the arguments: an unpickled pool opens contexts of its own."""
        arguments = (self._scene, self._views, self._size, self._max_threads, self._renderer)
        return RenderPool, arguments

    def render(self, requests: Sequence[RenderRequest]) -> NDArray[np.uint8]:
        """Render all views of all requests, (B, V, H, W, 3)."""
        out = np.empty((len(requests), self._views, *self._size, 3), np.uint8)
        self._run(_render, requests, out)
        return out

    def render_labels(self, requests: Sequence[RenderRequest]) -> NDArray[np.uint8]:
        """Say what each pixel of each request shows, (B, V, H, W), as in `pixels.labels`."""
        out = np.empty((len(requests), self._views, *self._size), np.uint8)
        self._run(_render_labels, requests, out)
        return out

    def close(self) -> None:
        """Free all contexts and end the threads; the next request opens new ones."""
        with _RENDERING:
            _close(self._threads)

    def _run(
        self, method: _Method, requests: Sequence[RenderRequest], out: NDArray[np.uint8]
    ) -> None:
        """Distribute the requests over the threads and wait for all of them."""
        with _RENDERING:
            limit = min(self._max_threads or _cores(), len(requests), max_renderers(backend()))
            while len(self._threads) < limit:
                own_display = len(self._threads) > 0
                make = partial(self._renderer, self._scene, self._views, self._size, own_display)
                self._threads.append(_RenderThread(make))
            stride = len(self._threads)
            try:
                futures = [
                    thread.submit(method, requests[number::stride], out[number::stride])
                    for number, thread in enumerate(self._threads)
                ]
                for future in futures:
                    future.result()
            finally:
                _close_abandoned()


class _RenderThread:
    """A thread and its renderer, which may be used on this thread only."""

    def __init__(self, make: Callable[[], Renderer]) -> None:
        self._make = make
        self._renderer: Renderer | None = None
        self._thread_id: int | None = None
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="renderer")

    def submit(
        self, method: _Method, requests: Sequence[RenderRequest], out: NDArray[np.uint8]
    ) -> "Future[None]":
        """Start to render the requests into `out`."""
        return self._executor.submit(self._run, method, requests, out)

    def close(self) -> None:
        """Free the context on the thread that owns it, and end the thread."""
        if self._thread_id == threading.get_ident():  # garbage is collected on any thread
            self._close_renderer()
            self._executor.shutdown(wait=False)
        else:
            self._executor.submit(self._close_renderer).result()
            self._executor.shutdown()

    def _run(
        self, method: _Method, requests: Sequence[RenderRequest], out: NDArray[np.uint8]
    ) -> None:
        if self._renderer is None:
            self._renderer, self._thread_id = self._make(), threading.get_ident()
        for request, image in zip(requests, out, strict=True):
            method(self._renderer, request, image)

    def _close_renderer(self) -> None:
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None


def _render(renderer: Renderer, request: RenderRequest, out: NDArray[np.uint8]) -> None:
    renderer.render(request, out)


def _render_labels(renderer: Renderer, request: RenderRequest, out: NDArray[np.uint8]) -> None:
    renderer.render_labels(request, out)


_RENDERING = threading.Lock()
"""Held while contexts are used or freed: the contexts of different pools may share a display, and
software GL can crash when one thread frees a context while another renders (`pixels.displays`)."""
_ABANDONED: list[list[_RenderThread]] = []
"""Threads of pools that were dropped without `close`."""


def _abandon(threads: list[_RenderThread], process_id: int) -> None:
    """Free the contexts of a dropped pool: now, or after the rendering that is under way."""
    if process_id != os.getpid():
        return  # a forked process has the objects, but neither threads nor contexts
    _ABANDONED.append(threads)
    if _RENDERING.acquire(blocking=False):
        try:
            _close_abandoned()
        finally:
            _RENDERING.release()


def _close_abandoned() -> None:
    while _ABANDONED:
        _close(_ABANDONED.pop())


def _close(threads: list[_RenderThread]) -> None:
    while threads:
        threads.pop().close()


def _cores() -> int:
    """Number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

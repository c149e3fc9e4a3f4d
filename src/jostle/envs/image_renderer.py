"""Rendering of images in any size for the environments of one layout."""

import numpy as np
from numpy.typing import NDArray

from jostle.core.profiler import PROFILER
from jostle.pixels.render import RenderRequest
from jostle.pixels.render_pool import RenderPool
from jostle.scene.build import compile_scene
from jostle.scene.spec import SceneSpec


class ImageRenderer:
    """One render pool per image size, opened when the first image of that size is rendered."""

    def __init__(self, scene: SceneSpec, views: int, threads: int) -> None:
        """Render `views` images per request of scenes with the layout of `scene`."""
        self._scene, self._views, self._threads = scene, views, threads
        self._pools: dict[tuple[int, int], RenderPool] = {}

    def render(self, requests: list[RenderRequest], size: tuple[int, int]) -> NDArray[np.uint8]:
        """Render all requests in `size` (height, width), (B, V, H, W, 3)."""
        if size not in self._pools:
            scene = compile_scene(self._scene)
            self._pools[size] = RenderPool(scene, self._views, size, self._threads)
        with PROFILER("rendering"):
            return self._pools[size].render(requests)

    def close(self) -> None:
        """Free all GL contexts; the next image opens new ones."""
        for pool in self._pools.values():
            pool.close()
        self._pools = {}

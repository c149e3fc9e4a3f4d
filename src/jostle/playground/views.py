"""Camera views of the page, as JPEG."""

import io
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from jostle.pixels.render import RenderRequest
from jostle.pixels.render_pool import RenderPool
from jostle.playground.memory import release_free_memory
from jostle.scene.build import compile_scene
from jostle.scene.spec import SceneSpec

VIEW_SIZE = 320
"""Height and width of a view in pixels."""
_QUALITY = 82


class Views:
    """Renders the views of scenes of any layout; contexts are opened anew when it changes."""

    def __init__(self, size: int = VIEW_SIZE) -> None:
        """Render square views of `size` pixels."""
        self.size = size
        self._pool: RenderPool | None = None
        self._layout: tuple[object, ...] = ()

    def render(self, request: RenderRequest) -> tuple[bytes, ...]:
        """All views of a scene."""
        if not request.appearance.cameras:
            return ()
        scene = request.scene.spec
        layout = _layout(scene), len(request.appearance.cameras)
        if self._pool is None or layout != self._layout:
            self.close()
            size = (self.size, self.size)
            self._pool = RenderPool(compile_scene(scene), layout[1], size, 1)
            self._layout = layout
        return encode(self._pool.render([request])[0])

    def close(self) -> None:
        """Free the GL contexts."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None
            release_free_memory()


def encode(frames: Sequence[NDArray[np.uint8]] | NDArray[np.uint8]) -> tuple[bytes, ...]:
    """Frames (V, H, W, 3) as JPEG."""
    encoded = []
    for frame in frames:
        file = io.BytesIO()
        Image.fromarray(frame).save(file, "JPEG", quality=_QUALITY)
        encoded.append(file.getvalue())
    return tuple(encoded)


def decode(jpeg: bytes) -> NDArray[np.uint8]:
    """A frame (H, W, 3) of a JPEG."""
    return np.asarray(Image.open(io.BytesIO(jpeg)).convert("RGB"))


def _layout(scene: SceneSpec) -> tuple[object, ...]:
    """What a renderer cannot change: the numbers of geoms."""
    return len(scene.objects), scene.parts, scene.corridor

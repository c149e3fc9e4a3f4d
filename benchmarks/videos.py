"""Time per frame of a video, beside frames without shadows and with MuJoCo's own shadows."""

import time
from dataclasses import replace
from statistics import median

from jostle.envs.vector import TabletopVectorEnv
from jostle.pixels.presentation import PresentationRenderer
from jostle.pixels.render import Renderer, RenderRequest
from jostle.pixels.render_pool import RenderPool
from jostle.scene.cameras import resolve_cameras

_ROUNDS = 12


def milliseconds(request: RenderRequest, size: int) -> dict[str, float]:
    """CPU time per frame of each kind, measured in turns."""
    shaded = replace(request, appearance=replace(request.appearance, shadows=True))
    kinds = {
        "no shadows": (Renderer, request),
        "MuJoCo's shadows": (Renderer, shaded),
        "videos": (PresentationRenderer, request),
    }
    pools = {
        kind: RenderPool(request.scene, 1, (size, size), 1, renderer)
        for kind, (renderer, _) in kinds.items()
    }
    times: dict[str, list[float]] = {kind: [] for kind in kinds}
    for _ in range(_ROUNDS):
        for kind, (_, shown) in kinds.items():
            start = time.process_time()
            pools[kind].render([shown])
            times[kind].append(time.process_time() - start)
    for pool in pools.values():
        pool.close()
    return {kind: 1000 * median(values[2:]) for kind, values in times.items()}


def main() -> None:
    print("| task | size | no shadows, ms | MuJoCo's shadows, ms | videos, ms |")
    print("|---|---|---|---|---|")
    for task in ("ThreeCubes", "Sorting"):
        env = TabletopVectorEnv(1, task, threads=1)
        env.reset(seed=2)
        request = env.render_requests()[0]
        hero = replace(request.appearance, cameras=resolve_cameras(("hero",)))
        for size in (256, 384, 480):
            times = milliseconds(replace(request, appearance=hero), size)
            cells = " | ".join(f"{value:.1f}" for value in times.values())
            print(f"| {task} | {size} | {cells} |")
        env.close()


if __name__ == "__main__":
    main()

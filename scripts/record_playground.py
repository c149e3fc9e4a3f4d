"""Pictures of the playground and the site, and a film: `python scripts/record_playground.py`.

Needs Chromium and the extra 'dev', and for `--only pages` the site and the page beside the paper:
`make docs` and `jostle report --out build/paper.html`. The film shows a goal that is dragged twice
while the agent works.
"""

import argparse
import io
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import imageio_ffmpeg
import numpy as np
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from jostle.playground.serve import WebServer
from jostle.playground.session import Session
from jostle.playground.setup import PlaySetup

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
FPS = 8
SECONDS = 20
WIDTH = 1100
"""Width of the film in pixels."""


@contextmanager
def serving(setup: PlaySetup) -> Iterator[tuple[Session, str]]:
    """A session and the address of its page."""
    with (
        tempfile.TemporaryDirectory() as folder,
        socket.create_server(("127.0.0.1", 0)) as listening,
    ):
        web = WebServer("127.0.0.1", Path(folder))
        session = Session(setup, web.server.publish, Path(folder))
        thread = web.run_in_background(session, listening)
        yield session, web.address(listening)
        web.stop()
        thread.join()


def open_page(browser: Browser, address: str, width: int, height: int, scale: float) -> Page:
    """Open the page and wait for its first images."""
    page = browser.new_page(viewport={"width": width, "height": height}, device_scale_factor=scale)
    page.goto(address)
    page.wait_for_selector("body[data-step]")
    page.wait_for_timeout(1500)
    return page


def save_png(data: bytes, path: Path) -> None:
    """Write a screenshot with 256 colors, half of them for the gray of the page."""
    image = Image.open(io.BytesIO(data)).convert("RGB")
    bright = image.quantize(128, Image.Quantize.MAXCOVERAGE).getpalette() or []
    common = image.quantize(128, Image.Quantize.MEDIANCUT, kmeans=2).getpalette() or []
    palette = Image.new("P", (1, 1))
    palette.putpalette(bright[: 3 * 128] + common[: 3 * 128])
    image.quantize(palette=palette, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path}: {path.stat().st_size // 1000} kB")


class Film:
    """Frames at an even rate, with a pointer drawn where the mouse is."""

    def __init__(self, page: Page) -> None:
        """Film a page."""
        self.page, self.frames = page, []
        self._next = time.monotonic()
        page.evaluate(
            """() => {
                const dot = document.createElement("div");
                dot.id = "pointer";
                Object.assign(dot.style, {position: "fixed", width: "18px", height: "18px",
                    margin: "-9px", borderRadius: "50%", background: "#3b5bdb66",
                    border: "2px solid #3b5bdb", zIndex: 99, pointerEvents: "none"});
                document.body.append(dot);
                addEventListener("pointermove", (event) => {
                    dot.style.left = event.clientX + "px"; dot.style.top = event.clientY + "px";
                });
            }"""
        )

    def run(self, seconds: float) -> None:
        """Film for a while; if the machine is slow, frames are shown twice."""
        end = self._next + seconds
        while self._next < end - 0.5 / FPS:
            self.page.wait_for_timeout(max(0.0, 1000 * (self._next - time.monotonic())))
            self._shoot()

    def run_until_success(self, seconds: float) -> None:
        """Film until the goal is reached, and a little longer; at most so many seconds."""
        end = self._next + seconds
        while self._next < end and not self.page.query_selector("#success[data-success=true]"):
            self.run(2 / FPS)
        self.run(0.5)

    def _shoot(self) -> None:
        now = time.monotonic()
        frame = self.page.screenshot(type="jpeg", quality=90)
        image = Image.open(io.BytesIO(frame)).convert("RGB")
        image = image.resize((WIDTH, image.height * WIDTH // image.width // 2 * 2), Image.LANCZOS)
        missed = int((now - self._next) * FPS)
        self.frames += [np.asarray(image)] * (1 + max(0, missed))
        self._next += (1 + max(0, missed)) / FPS

    def drag(self, start: tuple[float, float], end: tuple[float, float], parts: int = 10) -> None:
        """Drag from one point of the table to another, while filming."""
        mouse = self.page.mouse
        mouse.move(*self.point(*start))
        self.run(2 / FPS)
        mouse.down()
        for part in np.linspace(0, 1, parts + 1)[1:]:
            x, y = np.array(start) + part * (np.array(end) - start)
            mouse.move(*self.point(x, y))
            self.run(1 / FPS)
        mouse.up()

    def point(self, x: float, y: float) -> tuple[float, float]:
        """Where a point of the table is on the screen."""
        at: list[float] = self.page.evaluate(
            """([x, y]) => {
                const map = document.getElementById("map");
                const at = new DOMPoint(1000 * y, 1000 * x).matrixTransform(map.getScreenCTM());
                return [at.x, at.y];
            }""",
            [x, y],
        )
        return at[0], at[1]

    def save(self, path: Path) -> None:
        """Write the film as WebM."""
        frames = self.frames[: SECONDS * FPS]
        size = frames[0].shape[1], frames[0].shape[0]
        options = ["-crf", "34", "-b:v", "0", "-row-mt", "1"]
        writer = imageio_ffmpeg.write_frames(
            str(path), size, fps=FPS, codec="libvpx-vp9", quality=None, output_params=options,
            macro_block_size=2,
        )  # fmt: skip
        writer.send(None)
        for frame in frames:
            writer.send(np.ascontiguousarray(frame))
        writer.close()
        print(f"{path}: {len(frames) / FPS:.0f} s, {path.stat().st_size // 1000} kB")


def record_film(browser: Browser, out: Path) -> None:
    """Drag a goal, and again when the cube has arrived."""
    with serving(PlaySetup(task="OneCube", agent="one-cube-pixels", seed=3)) as (session, address):
        page = open_page(browser, address, 1200, 640, 1.0)
        film = Film(page)
        film.run(1.0)
        goal = tuple(session.simulation.episode.goal[0, :2])
        film.drag(goal, (-0.05, 0.17))
        film.run_until_success(8.0)
        film.drag((-0.05, 0.17), (0.07, 0.02))
        film.run(16.0)
        film.save(out / "playground.webm")
        page.close()


def record_pictures(browser: Browser, out: Path) -> None:
    """The page on a desktop and on a phone."""
    with serving(PlaySetup(task="ThreeCubes", agent="three-cubes-pixels")) as (_, address):
        page = open_page(browser, address, 1280, 800, 1.0)
        page.click("[data-overlay=matches]")
        page.wait_for_timeout(3500)
        save_png(page.screenshot(), out / "playground.png")
        page.close()
    setup = PlaySetup(task="ThreeCubes", agent="three-cubes-state-td3")
    with serving(setup) as (_, address):
        page = open_page(browser, address, 390, 844, 1.5)
        page.click("#theme")
        page.wait_for_timeout(5000)
        save_png(page.screenshot(), out / "playground-phone.png")
        page.close()


def record_pages(browser: Browser, build: Path, out: Path) -> None:
    """The first page of the site, and the top of the page beside the paper."""
    for name, source in (("site.png", "site/index.html"), ("paper-page.png", "paper.html")):
        page = browser.new_page(viewport={"width": 1100, "height": 900})
        page.goto((build / source).resolve().as_uri())
        page.wait_for_timeout(500)
        save_png(page.screenshot(), out / name)
        page.close()


def main() -> None:
    """Write all of them, or only some."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/pictures"))
    parser.add_argument("--only", choices=("pictures", "film", "pages"))
    parser.add_argument("--build", type=Path, default=Path("build"))
    options = parser.parse_args()
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        if options.only in (None, "pictures"):
            record_pictures(browser, options.out)
        if options.only in (None, "film"):
            record_film(browser, options.out)
        if options.only in (None, "pages"):
            record_pages(browser, options.build, options.out)
        browser.close()


if __name__ == "__main__":
    main()

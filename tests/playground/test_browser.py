"""The page in a real browser: Debian's Chromium, driven by playwright."""

import os
import shutil
import socket
import time
from types import SimpleNamespace

import numpy as np
import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
PATIENCE = 60.0
"""Seconds until a test gives up; nothing takes as long."""


def _missing():
    try:
        import playwright.sync_api
    except ImportError:
        return "the Python package playwright is missing: pip install 'jostle[dev]'"
    del playwright
    return None if CHROMIUM else "Chromium is missing: apt-get install chromium"


if _missing() and not os.environ.get("CI"):
    pytest.skip(_missing(), allow_module_level=True)

from playwright.sync_api import sync_playwright  # noqa: E402

from jostle.playground.serve import WebServer  # noqa: E402
from jostle.playground.session import Session  # noqa: E402
from jostle.playground.setup import PlaySetup  # noqa: E402


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def playground(tmp_path):
    """A server with a session, at an address."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        web = WebServer("127.0.0.1", tmp_path)
        setup = PlaySetup(task="OneCube", agent="oracle")
        session = Session(setup, web.server.publish, tmp_path)
        thread = web.run_in_background(session, listening)
        yield SimpleNamespace(session=session, web=web, address=web.address(listening))
        web.stop()
        thread.join()


@pytest.fixture
def open_page(browser, playground):
    """Open the page; errors of its scripts fail the test."""
    contexts, errors = [], []

    def open_page(width=1280, height=820):
        contexts.append(browser.new_context(viewport={"width": width, "height": height}))
        page = contexts[-1].new_page()
        page.set_default_timeout(PATIENCE * 1000)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(playground.address)
        page.wait_for_selector("#map .goal")
        page.wait_for_selector("body[data-step]")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert errors == []


def wait_until(true):
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, "that did not happen"
        time.sleep(0.05)


def distance_of_cube(session):
    simulation = session.simulation
    return np.linalg.norm(simulation.present_poses[0, :2] - simulation.episode.goal[0, :2])


def point(page, x, y):
    """Where a point of the table is on the screen."""
    return page.evaluate(
        """([x, y]) => {
            const map = document.getElementById("map");
            const at = new DOMPoint(1000 * y, 1000 * x).matrixTransform(map.getScreenCTM());
            return [at.x, at.y];
        }""",
        [x, y],
    )


def drawn(page):
    """Where the first object is drawn on the screen."""
    box = page.locator("#map .object .body").first.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def shown(page, session):
    """Where it is in the simulation, as a point of the screen."""
    return point(page, *session.simulation.present_poses[0, :2])


def drag_goal(page, session, x, y, drop=True):
    """Drag the goal of the first object by mouse."""
    page.mouse.move(*point(page, *session.simulation.episode.goal[0, :2]))
    page.mouse.down()
    page.mouse.move(*point(page, x, y), steps=4)
    if drop:
        page.mouse.up()


def test_a_dragged_goal_is_pursued_and_an_impossible_one_snaps_back(open_page, playground):
    page, session = open_page(), playground.session
    assert page.inner_text("#status") == "Running"
    page.select_option("#speed", "8")
    drag_goal(page, session, 0.08, -0.15)
    wait_until(
        lambda: np.allclose(session.simulation.episode.goal[0, :2], (0.08, -0.15), atol=2e-3)
    )
    page.wait_for_selector("#success[data-success=true]")
    wait_until(lambda: distance_of_cube(session) < 0.04)  # at speed 8 it may be pushed on meanwhile

    drag_goal(page, session, 0.3, 0.0)
    page.wait_for_selector("#toasts p:has-text('would not lie on the table')")
    assert abs(session.simulation.episode.goal[0, 0]) < 0.25
    label = page.get_attribute("#map .goal", "aria-label")
    assert "Goal of the red object" in label

    # The cameras show something
    colors = page.evaluate(
        """() => [...document.querySelectorAll("#views canvas")].map((canvas) => {
            const pen = canvas.getContext("2d");
            return new Set(pen.getImageData(0, 0, canvas.width, canvas.height).data).size;
        })"""
    )
    assert len(colors) == 2
    assert min(colors) > 50


def test_objects_are_pushed_by_hand_and_the_agent_recovers(open_page, playground):
    page, session = open_page(), playground.session
    page.click("[data-layer=objects]")
    page.select_option("#agent", "you")
    wait_until(lambda: session.simulation.setup.agent == "you")
    wait_until(lambda: np.allclose(drawn(page), shown(page, session), atol=2.0))
    page.mouse.move(*drawn(page))
    page.mouse.down()
    page.mouse.move(*point(page, 0.1, 0.15), steps=4)
    page.mouse.up()
    wait_until(lambda: np.allclose(session.simulation.present_poses[0, :2], (0.1, 0.15), atol=0.02))
    grip = session.simulation.snapshot().gripper[1]
    page.focus("#play")
    page.keyboard.down("d")
    wait_until(lambda: session.simulation.snapshot().gripper[1] > grip + 0.05)
    page.keyboard.up("d")
    page.select_option("#speed", "8")
    page.select_option("#agent", "oracle")
    page.wait_for_selector("#success[data-success=true]")


def test_agents_are_switched_and_those_that_do_not_fit_are_gray(open_page, playground):
    page, session = open_page(), playground.session
    page.select_option("#agent", "random")
    wait_until(lambda: session.simulation.setup.agent == "random")
    tee = page.locator("#agent option[value='push-t-state-dagger']")
    assert tee.is_disabled()
    assert "turn T-blocks" in tee.inner_text()
    page.select_option("#task", "PushT")
    wait_until(lambda: session.simulation.setup.task == "PushT")
    page.wait_for_selector(
        "#agent option[value='push-t-state-dagger']:not([disabled])", state="attached"
    )
    page.click("#map .goal")
    yaw = session.simulation.episode.goal[0, 2]
    page.click("#turn-left")
    wait_until(lambda: abs(abs(session.simulation.episode.goal[0, 2] - yaw) - np.pi / 12) < 1e-3)
    page.fill("#vary", "mass=lots")
    page.click("#setup-form button[type=submit]")
    page.wait_for_selector("#toasts p:has-text('not a number')")
    assert session.simulation.setup.vary == ""


def test_a_reload_goes_on_and_of_two_pages_one_steers(open_page, playground):
    page, session = open_page(), playground.session
    page.click("#play")
    page.wait_for_selector("#status:has-text('Paused')")
    page.reload()
    page.wait_for_selector("#status:has-text('Paused')")
    page.wait_for_selector("#play:not([disabled])")
    other = open_page()
    other.wait_for_selector("#take-over:not([hidden])")
    assert other.is_disabled("#play")
    page.click("#play")
    other.wait_for_selector("#status:has-text('Running')")
    other.click("#take-over")
    page.wait_for_selector("#take-over:not([hidden])")
    other.click("#play")
    page.wait_for_selector("#status:has-text('Paused')")
    other.context.close()
    page.wait_for_selector("#transport:not([disabled])")
    assert session.simulation.step >= 0


def test_a_server_that_stops_during_a_drag_is_survived(open_page, playground):
    page, session = open_page(), playground.session
    drag_goal(page, session, 0.05, 0.05, drop=False)
    assert page.locator("#map .dragging").count() == 1
    playground.web.stop()
    page.wait_for_selector("#status:has-text('Connection lost')")
    assert page.locator("#map .dragging").count() == 0
    page.mouse.move(*point(page, 0.1, 0.1))
    page.mouse.up()
    assert page.is_disabled("#play")


def test_a_phone_shows_everything_and_keys_are_enough(open_page, playground):
    page, session = open_page(390, 844), playground.session
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.click("#play")
    page.wait_for_selector("#status:has-text('Paused')")
    goal = session.simulation.episode.goal[0].copy()
    page.focus("#map .goal")
    page.keyboard.press("ArrowRight")
    wait_until(lambda: abs(session.simulation.episode.goal[0, 1] - goal[1] - 0.01) < 1e-3)
    page.keyboard.press("+")
    wait_until(lambda: session.simulation.setup.count == 2)
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("button, select, input, svg g[tabindex], canvas")]
            .filter((item) => !(item.getAttribute("aria-label") || item.textContent.trim()
                || item.labels?.length)).map((item) => item.outerHTML)"""
    )
    assert nameless == []
    page.click("#theme")
    page.click("#theme")
    page.click("[data-overlay=attention]")
    page.wait_for_selector("#overlay-note:has-text('does not look at pictures')")

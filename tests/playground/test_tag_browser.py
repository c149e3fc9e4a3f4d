"""The tagging page in a real browser: mouse, keyboard, a reload, and a phone's width."""

import json
import socket
from types import SimpleNamespace

import pytest

pytest.importorskip("torch")
from tag_pages import CONFIG, OBJECTS, images, tag_session
from test_browser import PATIENCE, browser, wait_until  # noqa: F401 - a fixture

from jostle.playground.serve import WebServer
from jostle.playground.tagging import TAG_PAGES, parse_tag_message
from jostle.training.tag_images import read_tags


@pytest.fixture
def tagging(tmp_path):
    """A server with a session, at an address."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        web = WebServer("127.0.0.1", None, TAG_PAGES, parse_tag_message)
        with tag_session(tmp_path, web.server.publish) as session:
            thread = web.run_in_background(session, listening)
            file = tmp_path / "tags.json"
            yield SimpleNamespace(session=session, address=web.address(listening), file=file)
            web.stop()
            thread.join()


@pytest.fixture
def open_page(browser, tagging):  # noqa: F811
    """Open the page; errors of its scripts fail the test."""
    contexts, errors = [], []

    def open_page(width=1180, height=860):
        contexts.append(browser.new_context(viewport={"width": width, "height": height}))
        page = contexts[-1].new_page()
        page.set_default_timeout(PATIENCE * 1000)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(tagging.address)
        page.wait_for_selector("#particles g")
        page.wait_for_selector("#status:has-text('Saved')")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert errors == []


def particle(page, number):
    return page.locator(f"#particles [data-number='{number}']")


def click(page, number):
    """Click a little beside the center of a particle, as fingers do."""
    box = particle(page, number).locator(".dot").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2 + 4, box["y"] + box["height"] / 2 + 3)


def test_particles_are_tagged_by_mouse_and_tags_are_kept_over_a_reload(open_page, tagging):
    page = open_page()
    assert page.locator("#particles g").count() == len(images().visible(0))
    click(page, 0)
    click(page, 1)
    click(page, 1)  # again removes
    wait_until(lambda: tagging.session.tags.objects[0] == {0})
    assert particle(page, 0).get_attribute("aria-checked") == "true"
    assert "an object" in particle(page, 0).get_attribute("aria-label")
    page.click("#next")
    page.wait_for_selector("body[data-shown='1']")
    assert page.inner_text("#done-count") == "1 of 4 done"
    wait_until(lambda: json.loads(tagging.file.read_text())["images"][0]["done"])
    page.reload()
    page.wait_for_selector("body[data-shown='1']")  # the first that is not done
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector("#particles [data-number='0'][aria-checked='true']")
    assert read_tags(tagging.file, images()).objects[0] == {0}


def test_the_keyboard_is_enough_and_the_end_is_a_fit(open_page, tagging):
    page = open_page(390, 844)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for image in range(CONFIG.images):
        page.wait_for_selector(f"body[data-shown='{image}']")
        for number in OBJECTS:
            particle(page, number).focus()
            page.keyboard.press("Space" if number else "Enter")
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press("Space" if image % 2 else "ArrowRight")
    page.wait_for_selector("#scores:not([hidden])")
    assert page.inner_text("#objects-score") == "100.0 %"
    assert page.inner_text("#done-count") == "4 of 4 done"
    assert tagging.session.tags.objects == [set(OBJECTS)] * CONFIG.images
    assert (tagging.file.parent / "classifier.safetensors").exists()
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("button, img, progress, svg, svg g")]
            .filter((item) => !(item.getAttribute("aria-label") || item.alt
                || item.textContent.trim())).map((item) => item.outerHTML)"""
    )
    assert nameless == []


def test_of_two_browsers_one_tags(open_page, tagging):
    page = open_page()
    other = page.context.new_page()
    other.goto(tagging.address)
    other.wait_for_selector("#take-over:not([hidden])")
    assert other.is_disabled("#next")
    click(page, 2)
    other.wait_for_selector("#particles [data-number='2'][aria-checked='true']")
    other.click("#take-over")
    page.wait_for_selector("#take-over:not([hidden])")

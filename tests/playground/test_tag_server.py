"""The server of the tagging page: who may connect, what it survives, and what it keeps."""

import json
import random
from contextlib import contextmanager

import pytest

pytest.importorskip("torch")
pytest.importorskip("starlette")
pytest.importorskip("httpx2")
from garbage import garbage
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect
from tag_pages import CONFIG, images, tag_session
from test_server import ORIGIN, REFUSED, TOKEN, Browser, connected

from jostle.core.errors import BadValueError
from jostle.core.object_classifier import load_classifier
from jostle.playground.server import Access, PlayServer
from jostle.playground.tagging import TAG_PAGES, Done, Fit, Tag, parse_tag_message
from jostle.training.tag_images import read_tags


@contextmanager
def serving(folder):
    access = Access(TOKEN, ("testserver",))
    server = PlayServer(access, None, TAG_PAGES, parse_tag_message)
    with (
        tag_session(folder, server.publish) as session,
        TestClient(server.app(session)) as client,
    ):
        yield client


def test_pages_need_the_token_and_no_other_files_are_served(tmp_path):
    with serving(tmp_path) as client:
        page = client.get(f"/{TOKEN}/")
        assert (page.status_code, "jostle tagging" in page.text) == (200, True)
        assert "default-src 'none'" in page.headers["content-security-policy"]
        for name in ("tag.js", "tag.css", "style.css", "socket.js"):
            assert client.get(f"/{TOKEN}/{name}").status_code == 200
        for path in ("/", "/wrong/", f"/{TOKEN}x/", "/wrong/tag.js"):
            answer = client.get(path)
            assert (answer.status_code, TOKEN in answer.text) == (403, False)
        for path in ("tagging.py", "files/tags.json", "..%2Ftagging.py"):
            assert client.get(f"/{TOKEN}/{path}").status_code in (403, 404)
        assert client.get(f"/{TOKEN}/", headers={"host": "evil.example"}).status_code == 403


def test_websockets_refuse_wrong_tokens_and_other_origins(tmp_path):
    with serving(tmp_path) as client:
        for path, headers in REFUSED:
            with (
                pytest.raises(WebSocketDisconnect),
                client.websocket_connect(f"/{path}/socket", headers=headers),
            ):
                pass
        assert not (tmp_path / "tags.json").exists()


def test_every_tag_is_saved_and_a_new_session_resumes(tmp_path):
    number = images().visible(2)[1]
    with serving(tmp_path) as client, connected(client) as browser:
        setup = browser.wait_for("setup")
        assert [image["camera"] for image in setup["images"]] == ["front", "side"] * 2
        assert [row[0] for row in setup["images"][2]["particles"]] == images().visible(2)
        assert browser.image(0)[:2] == b"\xff\xd8"
        browser.send("tag", image=2, particle=number, on=True)
        browser.wait_for("tags", lambda tags: tags["objects"][2] == [number])
        browser.send("done", image=2, done=True)
        browser.wait_for("tags", lambda tags: tags["done"][2])
    assert read_tags(tmp_path / "tags.json", images()).objects[2] == {number}
    with serving(tmp_path) as client, connected(client) as browser:
        tags = browser.wait_for("tags")
        assert (tags["objects"][2], tags["done"]) == ([number], [False, False, True, False])
        browser.send("tag", image=2, particle=number, on=False)
        browser.wait_for("tags", lambda tags: tags["objects"][2] == [])


def test_the_last_image_is_followed_by_a_fit_and_mistakes_by_a_sentence(tmp_path):
    with serving(tmp_path) as client, connected(client) as browser:
        browser.send("fit")
        answer = browser.wait_for("fit", lambda fit: not fit["running"])
        assert "name no object" in answer["error"]
        for image in range(CONFIG.images):
            for number in images().visible(image)[::2]:
                browser.send("tag", image=image, particle=number, on=True)
            browser.send("done", image=image, done=True)
        answer = browser.wait_for("fit", lambda fit: not fit["running"] and not fit["error"])
        assert (answer["images"], answer["objects"]) == (CONFIG.images, 8)
        assert answer["object_accuracy"] == answer["other_accuracy"] == 1
        load_classifier(tmp_path / "classifier.safetensors").check_encoder(images().encoder)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"type": "goal"}', "no message 'goal'"),
        ('{"type": "tag", "image": 0, "particle": 0}', "lacks on"),
        ('{"type": "tag", "image": true, "particle": 0, "on": true}', "must be int"),
        ('{"type": "tag", "image": 0, "particle": 0, "on": 1}', "must be bool"),
        ('{"type": "done", "image": 1e9, "done": true}', "must be int"),
        ('{"type": "fit", "out": "/etc/passwd"}', "no field 'out'"),
        ("[" * 3000, "not JSON"),
    ],
)
def test_malformed_messages_are_refused(text, why):
    with pytest.raises(BadValueError, match=why):
        parse_tag_message(text)


def test_messages_of_this_page_survive_json():
    for kind, message in (("tag", Tag(1, 2, True)), ("done", Done(0, False)), ("fit", Fit())):
        assert parse_tag_message(json.dumps({"type": kind, **vars(message)})) == message


def test_images_and_particles_that_do_not_exist_are_refused(tmp_path):
    with serving(tmp_path) as client, connected(client) as browser:
        for image, particle, why in (
            (4, 0, "images 0 to 3"),
            (-1, 0, "images 0 to 3"),
            (0, 99, "no particle 99"),
        ):
            browser.send("tag", image=image, particle=particle, on=True)
            assert why in browser.wait_for("error")["text"]
        browser.send("done", image=4, done=True)
        assert "images 0 to 3" in browser.wait_for("error")["text"]
        assert not (tmp_path / "tags.json").exists()


def test_garbage_changes_nothing_and_of_two_browsers_one_tags(tmp_path):
    source, number = random.Random(0), images().visible(0)[0]
    with serving(tmp_path) as client, connected(client) as browser:
        for _ in range(40):
            browser.socket.send_text(garbage(source))
        with client.websocket_connect(f"/{TOKEN}/socket", headers=ORIGIN) as socket:
            other = Browser(socket)
            other.send("tag", image=0, particle=number, on=True)
            assert "Another browser" in other.wait_for("error")["text"]
            other.send("steer")
            other.wait_for("role", lambda role: role["steering"])
            other.send("tag", image=0, particle=number, on=True)
            other.wait_for("tags", lambda tags: tags["objects"][0] == [number])

"""`jostle tag` as it is typed: the page until Ctrl-C, fits without a page, and refusals."""

import os
import re
import signal
import subprocess
import sys
import urllib.request

import pytest

pytest.importorskip("torch")
pytest.importorskip("starlette")

from experiments import small_encoder
from jostle.encoders.saving import save_encoder
from jostle.training.tag_images import TagConfig, Tags, make_tag_images, write_tags
from typed_words import typed


@pytest.fixture
def encoder(tmp_path):
    file = tmp_path / "encoder.safetensors"
    save_encoder(file, small_encoder(), {})
    return file


def test_the_page_is_served_until_ctrl_c_and_says_how_to_tunnel(encoder, tmp_path):
    environment = {key: value for key, value in os.environ.items() if "DISPLAY" not in key}
    command = [sys.executable, "-m", "jostle", "tag", "--encoder", str(encoder), "--images", "2"]
    command += ["--tags", str(tmp_path / "tags.json"), "--out", str(tmp_path / "c.safetensors")]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as server:
        lines = []
        while not lines or "Ctrl-C" not in lines[-1]:
            lines.append(server.stdout.readline())
            assert lines[-1] or server.poll() is None, server.stderr.read()
        address = re.search(r"http://\S+/", "".join(lines)).group()
        assert "ssh -N -L" in "".join(lines)
        with urllib.request.urlopen(address, timeout=30) as page:
            assert b"jostle tagging" in page.read()
        server.send_signal(signal.SIGINT)
        assert "Traceback" not in server.communicate(timeout=60)[1]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--images", "0"), "at least 1"),
        (("--task", "juggling"), "no task called 'juggling'"),
        (("--encoder", "missing"), "no encoder called 'missing'"),
        (("--fit", "missing.json"), "cannot be read as tags"),
        (("--port", "70000"), "at most 65535"),
    ],
)
def test_wrong_words_are_refused_by_one_sentence(monkeypatch, capsys, tmp_path, words, why):
    monkeypatch.chdir(tmp_path)
    code, printed = typed(monkeypatch, capsys, "tag", *words)
    assert code == 2
    assert why in " ".join(re.sub(r"[│╭╮╰╯─]", " ", printed.err + printed.out).split())
    assert "Traceback" not in printed.err


def test_tags_of_another_encoder_are_refused_by_the_fit(monkeypatch, capsys, tmp_path, encoder):
    images = make_tag_images(small_encoder(64), TagConfig(images=2))
    file = tmp_path / "tags.json"
    write_tags(file, Tags.empty(2), images, str(encoder))
    words = "tag", "--fit", str(file), "--out", str(tmp_path / "c.safetensors")
    code, printed = typed(monkeypatch, capsys, *words)
    assert code == 2
    assert "encoder with the hash" in printed.err or "for other images" in printed.err
    write_tags(file, Tags.empty(2), make_tag_images(small_encoder(), images.config), str(encoder))
    code, printed = typed(monkeypatch, capsys, *words)
    assert (code, "name no object" in printed.err) == (2, True)
    assert not (tmp_path / "c.safetensors").exists()

"""`jostle play` as it is typed, and evaluations of what it saves."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from dataclasses import replace

import numpy as np
import pytest
from gymnasium.utils.seeding import np_random

from jostle.core.errors import BadValueError
from jostle.envs.episode_files import read_episodes, stored_env_kwargs
from jostle.envs.options import EnvOptions
from jostle.envs.vector import TabletopVectorEnv
from jostle.tasks.vary import parse_vary
from typed_words import typed

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")


def test_a_port_that_is_taken_is_named(monkeypatch, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        code, printed = typed(monkeypatch, capsys, "play", "--port", port)
    assert code == 2
    assert f"Port {port} of 127.0.0.1 cannot be used" in printed.err
    assert "Choose another --port" in printed.err


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("juggling",), "no task called 'juggling'"),
        (("one-cube", "--agent", "missing"), "no agent called 'missing'"),
        (("one-cube", "--vary", "mass=lots"), "not a number"),
        (("--port", "70000"), "at most 65535"),
        (("--host", "no.such.host.invalid"), "cannot be used"),
        (("push-t", "--objects", "3"), "takes 1 to 2 objects"),
    ],
)
def test_wrong_words_are_refused_by_one_sentence(monkeypatch, capsys, words, why):
    code, printed = typed(monkeypatch, capsys, "play", *words)
    assert code == 2
    assert why in " ".join(re.sub(r"[│╭╮╰╯─]", " ", printed.err + printed.out).split())
    assert "Traceback" not in printed.err


def test_the_page_is_served_until_ctrl_c(tmp_path):
    environment = {key: value for key, value in os.environ.items() if "DISPLAY" not in key}
    command = [sys.executable, "-m", "jostle", "play", "one-cube", "--agent", "oracle"]
    command += ["--host", "0.0.0.0", "--out", str(tmp_path)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as server:
        lines = []
        while not lines or "Ctrl-C" not in lines[-1]:
            lines.append(server.stdout.readline())
            assert lines[-1] or server.poll() is None, server.stderr.read()
        port, token = re.search(r":(\d+)/([\w-]+)/", "".join(lines)).groups()
        address = f"http://127.0.0.1:{port}/"
        with urllib.request.urlopen(f"{address}{token}/", timeout=30) as page:
            assert b"jostle playground" in page.read()
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(f"{address}guessed/", timeout=30)
        server.send_signal(signal.SIGINT)
        warning = server.communicate(timeout=60)[1]
    assert "lets other machines connect" in warning
    assert "Traceback" not in warning


def test_a_headless_machine_says_how_to_tunnel(monkeypatch, capsys):
    from jostle.cli.web_page import print_address

    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    print_address("It", "steer", "127.0.0.1", "http://127.0.0.1:5000/token/", 5000)
    assert "ssh -N -L 5000:127.0.0.1:5000" in capsys.readouterr().out


def stored(vary="", task="NCubes", **options):
    """A sampled episode of a varied task."""
    kwargs = parse_vary(vary).env_kwargs(options, "oracle")
    return EnvOptions(**kwargs).episode_sampler(task, {}).sample(np_random(0)[0])


@pytest.mark.parametrize(
    "episode",
    [
        stored(objects=4),
        stored("shape=star table=0.4x0.4", objects=2),
        stored(objects=(1, 5)),
        stored(task="Distractors"),
        stored(task="Sorting"),
        stored(cameras=("top",)),
        stored(colors=[(0.1 * n, 0.5, 0.5) for n in range(11)], objects=11),
    ],
    ids=["four", "varied", "padded", "distractors", "sorting", "camera", "eleven"],
)
def test_stored_episodes_of_any_layout_are_played(episode, tmp_path):
    path = tmp_path / "episodes.jsonl"
    path.write_text(episode.to_json() + "\n\n")
    read = read_episodes(path)
    assert [item.to_json() for item in read] == [episode.to_json()]
    task, kwargs = stored_env_kwargs(read, {})
    env = TabletopVectorEnv(1, task, **kwargs)
    env.reset(options={"episode": list(read)})
    assert env.episodes[0].to_json() == episode.to_json()
    np.testing.assert_allclose(env.physics.objects[0, 0, :2], episode.start[0, :2])
    env.close()


def test_evaluate_plays_the_episodes_of_a_file(monkeypatch, capsys, tmp_path):
    first = stored(task="OneCube")
    reached = replace(first, start=first.goal)
    path, out = tmp_path / "episodes.jsonl", tmp_path / "scores"
    path.write_text(f"{reached.to_json()}\n{first.to_json()}\n{reached.to_json()}\n")
    words = ["evaluate", "random", "--episodes-file", str(path), "--quiet"]
    code, printed = typed(monkeypatch, capsys, *words, "--num-envs", "2", "--out", str(out))
    assert code == 0
    assert "| OneCube | 1 | random | 3 |" in printed.out
    rows = [json.loads(line) for line in out.with_suffix(".jsonl").read_text().splitlines()]
    assert [row["digest"] for row in rows] == [e.digest for e in (reached, first, reached)]
    code, printed = typed(monkeypatch, capsys, *words, "--seed", "4")
    assert (code, "--seed cannot be combined" in printed.err) == (2, True)


def test_files_without_episodes_are_refused(tmp_path):
    path = tmp_path / "episodes.jsonl"
    cube, two = stored(task="OneCube").to_json(), stored(task="TwoCubes").to_json()
    for text, why in (
        ("", "no episodes"),
        ("[1]\n", "line 1"),
        ("nonsense\n", "line 1"),
        (cube + "\n{}\n", "line 2"),
        (cube.replace("OneCube", "Juggling"), "Juggling"),
        (f"{cube}\n{two}\n", "mixes"),
    ):
        path.write_text(text)
        with pytest.raises(BadValueError, match=why):
            read_episodes(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadValueError, match="cannot be read"):
        read_episodes(path)
    with pytest.raises(BadValueError, match="cannot be read"):
        read_episodes(tmp_path / "missing.jsonl")

"""A cluster of two nodes on loopback: the run goes on when one of them is killed."""

import os
import secrets
import signal
import socket
import subprocess
import sys
import time

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("ray", reason="needs the extra 'cluster': pip install 'jostle[cluster]'")

from jostle.runs.run_dir import RunDir  # noqa: E402

RAY_START = (
    "import ray._private.services as services\n"
    "services.get_node_ip_address = lambda address=None: '127.0.0.1'\n"
    "from ray.scripts.scripts import main\nmain()"
)
"""The command `ray`, which otherwise replaces 127.0.0.1 by an address of the network."""


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [opened.getsockname()[1] for opened in sockets]
    for opened in sockets:
        opened.close()
    return ports


def start_node(*words):
    fixed = ["--num-cpus", "1", "--node-ip-address", "127.0.0.1", "--block"]
    command = [sys.executable, "-c", RAY_START, "start", *map(str, words), *fixed]
    return subprocess.Popen(
        [*command, "--object-store-memory", str(100 * 2**20), "--disable-usage-stats"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip


def raylet_of(port):
    """The process that manages the node with this port; None if there is none."""
    listing = subprocess.run(
        ["ps", "-wweo", "pid,args"], capture_output=True, text=True, check=True
    )
    for line in listing.stdout.splitlines():
        if "raylet/raylet" in line and f"--node_manager_port={port}" in line:
            return int(line.split()[0])
    return None


@pytest.fixture
def two_nodes(monkeypatch):
    """Address of the cluster, and the port of its second node's manager."""
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(16))  # of this cluster alone
    port, first, second = free_ports(3)
    nodes = [start_node("--head", "--port", port, "--node-manager-port", first,
                        "--include-dashboard", "false")]  # fmt: skip
    try:
        wait_until(lambda: raylet_of(first))
        nodes.append(start_node("--address", f"127.0.0.1:{port}", "--node-manager-port", second))
        wait_until(lambda: raylet_of(second))
        time.sleep(5)  # it registers
        yield f"127.0.0.1:{port}", second
    finally:
        for node in nodes:
            node.send_signal(signal.SIGTERM)
        for node in nodes:
            node.wait(60)


def wait_until(true, seconds=90):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.5)


@pytest.mark.slow
def test_a_run_goes_on_when_one_of_two_nodes_is_killed(tmp_path, two_nodes):
    address, second = two_nodes
    words = (
        "train one-cube --method td3 --num-envs 4 --horizon 6 --env-steps 4800 --random-episodes 4 "
        "--eval-every 200 --eval-episodes 2 --save-every 200 --replay-size 2000 --utd-ratio 0.1 "
        f"--threads 1 --workers 2 --ray {address} --out {tmp_path}"
    )
    run, log = RunDir(tmp_path / "one-cube-state-td3-0"), tmp_path / "log.txt"
    with log.open("w") as file:  # in a process of its own: Ray reads its token when it is imported
        training = subprocess.Popen(
            [sys.executable, "-m", "jostle", *words.split()], stdout=file, stderr=file
        )
    try:
        wait_until(lambda: len(run.rows()) >= 2 or training.poll() is not None)
        assert training.poll() is None, log.read_text()
        os.kill(raylet_of(second), signal.SIGKILL)
        assert training.wait(120) == 0, log.read_text()
    finally:
        training.kill()
    rows = run.rows()
    assert rows[-1]["env_steps"] == 4800
    assert rows[1]["train_worker_restarts"] == 0
    assert rows[-1]["train_worker_restarts"] >= 1
    assert raylet_of(second) is None

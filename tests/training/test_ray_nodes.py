"""A cluster of two nodes on loopback: the run goes on when one of them is killed."""

import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("ray", reason="needs the extra 'cluster': pip install 'jostle[cluster]'")

from experiments import tiny  # noqa: E402
from jostle.presets.axes import Axes  # noqa: E402
from jostle.runs.run_dir import RunDir  # noqa: E402
from jostle.training.collection_config import CollectionConfig  # noqa: E402
from jostle.training.start import start_run  # noqa: E402

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
    listing = subprocess.run(["ps", "-wweo", "pid,args"], capture_output=True, text=True, check=True)
    for line in listing.stdout.splitlines():
        if "raylet/raylet" in line and f"--node_manager_port={port}" in line:
            return int(line.split()[0])
    return None


@pytest.fixture
def two_nodes():
    """Address of the cluster, and the port of its second node's manager."""
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
    base = tiny(
        "one-cube", Axes(method="td3"), horizon=6, env_steps=4 * 6 * 8, random_episodes=4,
        eval_every=8, eval_episodes=2, save_every=8,
    )  # fmt: skip
    experiment = replace(base, collection=CollectionConfig(workers=2, ray=address))
    nodes = []

    def kill_second_node(row):
        import ray

        if row.get("iteration") == 2:
            nodes.append(sum(node["Alive"] for node in ray.nodes()))
            os.kill(raylet_of(second), signal.SIGKILL)

    start_run(experiment, tmp_path / "run", kill_second_node).run()
    rows = RunDir(tmp_path / "run").rows()
    assert nodes == [2]
    assert rows[-1]["env_steps"] == 4 * 6 * 8
    assert rows[-1]["train_worker_restarts"] >= 1
    assert raylet_of(second) is None

"""Frames per second and memory of the playground, played by a client for half an hour.

The client moves goals, pushes objects, adds and removes some, and starts new episodes, as one does
on the page: `python benchmarks/playground.py --out docs/results`. On a machine that others use, the
processor time per frame says more than the frames per second.
"""

import argparse
import json
import os
import random
import socket
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from websockets.sync.client import ClientConnection, connect

from jostle.core.files import write_json
from jostle.playground.serve import WebServer
from jostle.playground.session import Session
from jostle.playground.setup import PlaySetup

EDIT_SECONDS = 4.0
"""Time between two edits."""


def memory_mb() -> float:
    """Memory of this process that is in use."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def edit(client: ClientConnection, source: random.Random, objects: int) -> None:
    """Do something that one does on the page."""
    slot = source.randrange(objects)
    x, y = source.uniform(-0.14, 0.14), source.uniform(-0.2, 0.2)
    messages = [
        [{"type": "goal", "slot": slot, "x": x, "y": y, "yaw": 0.0}],
        [{"type": "push", "slot": slot, "x": x, "y": y}, {"type": "release"}],
        [{"type": "reset", "seed": source.randrange(1000)}],
        [{"type": "add"}] if objects < 5 else [{"type": "remove", "slot": slot}],
        [{"type": "remove", "slot": slot}] if objects > 1 else [{"type": "add"}],
    ]
    for message in source.choices(messages, (6, 4, 1, 1, 1))[0]:
        client.send(json.dumps(message))


def play(client: ClientConnection, seconds: float, source: random.Random) -> dict[str, float]:
    """Play for a while; counts what arrives."""
    started, cpu = time.monotonic(), time.process_time()
    frames, actions, step, objects = 0, 0, -1, 3
    gaps: list[float] = []
    edited = shown = started
    while time.monotonic() < started + seconds:
        data = client.recv(timeout=60)
        now = time.monotonic()
        if isinstance(data, bytes):
            if data[:2] == b"\0\0":  # the first live view
                frames += 1
                gaps.append(now - shown)
                shown = now
        elif (message := json.loads(data))["type"] == "state":
            actions += message["step"] != step
            step, objects = message["step"], len(message["objects"])
        if now > edited + EDIT_SECONDS:
            edited = now
            edit(client, source, objects)
    elapsed, used = time.monotonic() - started, time.process_time() - cpu
    return {
        "frames_per_second": frames / elapsed,
        "actions_per_second": actions / elapsed,
        "gap_99_percent_seconds": float(np.quantile(gaps or [elapsed], 0.99)),
        "cores": used / elapsed,
        "cpu_ms_per_frame": 1000 * used / max(frames, 1),
        "memory_mb": memory_mb(),
    }


def main() -> None:
    """Play, print a row per minute, and write a summary."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agent", default="three-cubes-pixels")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    with (
        tempfile.TemporaryDirectory() as folder,
        socket.create_server(("127.0.0.1", 0)) as listening,
    ):
        web = WebServer("127.0.0.1", Path(folder))
        setup = PlaySetup(task="ThreeCubes", agent=options.agent)
        session = Session(setup, web.server.publish, Path(folder))
        thread = web.run_in_background(session, listening)
        address = web.address(listening)
        origin = "/".join(address.split("/")[:3])
        source = random.Random(0)
        with connect(address.replace("http", "ws") + "socket", origin=origin) as client:
            play(client, 5.0, source)  # warm up
            for _ in range(max(1, round(options.minutes))):
                seconds = 60.0 * options.minutes / max(1, round(options.minutes))
                rows.append(play(client, seconds, source))
                rows[-1]["replay_mb"] = session.player.history.size / 1e6
                print({key: round(value, 2) for key, value in rows[-1].items()}, flush=True)
        web.stop()
        thread.join()
    result = {
        "agent": options.agent,
        "minutes": options.minutes,
        "frames_per_second": float(np.median([row["frames_per_second"] for row in rows])),
        "cores": float(np.median([row["cores"] for row in rows])),
        "cpu_ms_per_frame": float(np.median([row["cpu_ms_per_frame"] for row in rows])),
        "load_of_the_machine": os.getloadavg()[1],
        "memory_mb_first": rows[0]["memory_mb"],
        "memory_mb_last": rows[-1]["memory_mb"],
        "each_minute": rows,
    }
    print({key: value for key, value in result.items() if key != "each_minute"})
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        write_json(options.out / "playground.json", result)


if __name__ == "__main__":
    main()

"""Memory of the playground: what is freed goes back, and edits leave no more behind than before."""

import os
from pathlib import Path

import numpy as np
import pytest

from jostle.playground.history import History, ShownFrame
from jostle.playground.memory import release_free_memory
from jostle.playground.setup import YOU, PlaySetup
from jostle.playground.simulation import Simulation
from jostle.playground.views import Views

STATM = Path("/proc/self/statm")
pytestmark = pytest.mark.skipif(not STATM.is_file(), reason="asks Linux for the memory in use")


def memory_mb():
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def test_memory_that_is_freed_between_small_pieces_goes_back_to_the_system():
    large, small = [], []
    for _ in range(1000):
        large.append(np.ones(100_000, np.uint8))
        small.append(bytes(2000))
    full = memory_mb()
    del large
    release_free_memory()
    assert memory_mb() < full - 80
    assert len(small) == 1000


def test_objects_that_come_and_go_leave_no_memory_behind():
    simulation, views = Simulation(PlaySetup(task="OneCube", agent=YOU)), Views(128)
    history, used = History(max_bytes=1_000_000), []
    for number in range(24):
        simulation.add_object()
        simulation.remove_object(0)
        for snapshot in simulation.advance(4):
            frame = ShownFrame(float(number), "{}" * 2000, views.render(snapshot.request), 0)
            history.append(frame)
        used.append(memory_mb())
    views.close()
    simulation.close()
    assert np.median(used[-8:]) < np.median(used[4:12]) + 12

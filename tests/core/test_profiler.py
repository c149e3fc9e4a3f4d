"""Every second is counted once, where it was spent."""

import time

import pytest

from jostle.core.profiler import Profiler, time_shares, time_summary


def test_parts_inside_parts_are_counted_once():
    profiler = Profiler()
    start = time.perf_counter()
    with profiler("outer"):
        time.sleep(0.02)
        for _ in range(2):
            with profiler("inner"):
                time.sleep(0.02)
    whole = time.perf_counter() - start
    spent = profiler.take()
    assert spent["inner"] >= 0.04
    assert spent["outer"] >= 0.02
    assert sum(spent.values()) <= whole


def test_seconds_that_were_taken_start_at_zero_again():
    profiler = Profiler()
    with profiler("work"):
        pass
    assert set(profiler.take()) == {"work"}
    assert profiler.take() == {}


def test_a_part_that_fails_is_counted_too():
    profiler = Profiler()
    with pytest.raises(ValueError, match="broken"), profiler("work"):
        raise ValueError("broken")
    assert set(profiler.take()) == {"work"}


def test_shares_add_up_to_one_with_the_largest_first():
    rows = [{"time/a": 1.0, "time/b": 2.0, "iteration": 1}, {"time/b": 1.0, "iteration": 2}]
    assert time_shares(rows) == {"b": 0.75, "a": 0.25}
    assert time_shares([{"iteration": 1}]) == {}
    assert time_summary(rows) == "b 75 %, a 25 %"

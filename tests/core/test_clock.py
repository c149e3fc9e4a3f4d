"""Every second is counted once, where it was spent."""

import time

import pytest

from jostle.core.clock import Clock, shares, time_told


def test_parts_inside_parts_are_counted_once():
    clock = Clock()
    start = time.perf_counter()
    with clock("outer"):
        time.sleep(0.02)
        for _ in range(2):
            with clock("inner"):
                time.sleep(0.02)
    whole = time.perf_counter() - start
    spent = clock.take()
    assert spent["inner"] >= 0.04
    assert spent["outer"] >= 0.02
    assert sum(spent.values()) <= whole


def test_what_was_taken_is_not_told_again():
    clock = Clock()
    with clock("work"):
        pass
    assert set(clock.take()) == {"work"}
    assert clock.take() == {}


def test_a_part_that_fails_is_counted_too():
    clock = Clock()
    with pytest.raises(ValueError, match="broken"), clock("work"):
        raise ValueError("broken")
    assert set(clock.take()) == {"work"}


def test_shares_add_up_to_one_with_the_largest_first():
    rows = [{"spent_a": 1.0, "spent_b": 2.0, "round": 1}, {"spent_b": 1.0, "round": 2}]
    assert shares(rows) == {"b": 0.75, "a": 0.25}
    assert shares([{"round": 1}]) == {}
    assert time_told(rows) == "b 75 %, a 25 %"

"""What agents observe stays the same, bit for bit."""

import json

import pytest
from observed_frames import CASES, STORED, driver, observed

GOLDEN = json.loads(STORED.read_text())


@pytest.mark.parametrize("task", CASES)
def test_observed_frames_are_what_they_always_were(task):
    same_driver = driver() == GOLDEN["driver"]
    found, stored = observed(task), GOLDEN["frames"][task]
    assert found.keys() == stored.keys()
    for name in stored:
        assert found[name]["mean"] == pytest.approx(stored[name]["mean"], abs=0.3), name
        assert not same_driver or found[name]["hash"] == stored[name]["hash"], name

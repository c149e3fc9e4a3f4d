"""What short trainings, encoders and agents of the zoo do is written down, and stays."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import golden_cases as cases  # noqa: E402

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parent / "golden.json").read_text())
BITS = os.environ.get("GOLDEN_BITS") == "1"
"""Whether hashes count: they do on the processor that wrote them, with one thread."""
_NEAR = 1e-5
"""Relative difference that other processors may make."""


def check(found: Any, golden: Any) -> None:
    """Compare fingerprints: sizes nearly, hashes if asked for."""
    if "size" not in golden:
        assert found.keys() == golden.keys()
        for name in golden:
            check(found[name], golden[name])
        return
    assert found["size"] == pytest.approx(golden["size"], rel=_NEAR)
    assert not BITS or found["hash"] == golden["hash"]


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("name", cases.RUNS)
def test_three_iterations_learn_what_they_always_did(name, tmp_path):
    check(cases.train(name, tmp_path / "run"), GOLDEN["train"][name])


@pytest.mark.parametrize("name", GOLDEN["resume"])
def test_a_stopped_run_resumes_to_what_an_unbroken_one_learns(name, tmp_path):
    assert GOLDEN["resume"][name] == GOLDEN["train"][name]
    check(cases.train_with_a_break(name, tmp_path / "run"), GOLDEN["resume"][name])


@pytest.mark.parametrize("name", GOLDEN["encode"])
def test_encoders_of_the_zoo_see_what_they_always_did(name):
    check(cases.encode(name), GOLDEN["encode"][name])


@pytest.mark.parametrize("kind", GOLDEN["pretrain"])
def test_a_step_of_pretraining_does_what_it_always_did(kind, tmp_path):
    check(cases.pretrain(kind, tmp_path), GOLDEN["pretrain"][kind])


@pytest.mark.parametrize("name", GOLDEN["play"])
def test_agents_of_the_zoo_act_as_they_always_did(name):
    assert cases.play(name) == pytest.approx(GOLDEN["play"][name], rel=_NEAR, abs=_NEAR)

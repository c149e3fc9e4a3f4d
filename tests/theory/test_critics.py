"""Errors of trained critics against returns, and the page that shows them."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from jostle.theory import critics
from jostle.theory.critics import discounted_returns, fit_critics, measure_critics, visit

ROOT = Path(__file__).parents[2]


def test_returns_are_discounted_sums_and_the_last_reward_lasts():
    rewards = np.array([9.0, -1.0, -2.0, -3.0])
    later = -3 / (1 - 0.5)
    expected = [-1 + 0.5 * (-2 + 0.5 * (-3 + 0.5 * later)), -2 + 0.5 * (-3 + 0.5 * later)]
    assert discounted_returns(rewards, 0.5)[:2] == pytest.approx(expected)
    assert discounted_returns(np.full(5, -1.0), 0.9) == pytest.approx(np.full(4, -10.0))


@pytest.fixture(scope="module")
def visited():
    """A trained agent with its critics, and states that it visits with two cubes."""
    from jostle.cli.theory import _load_with_critics
    from jostle.envs.vector import TabletopVectorEnv
    from jostle.training.observers import make_observer

    agent = _load_with_critics("three-cubes-state-td3")
    env = TabletopVectorEnv(4, "NCubes", objects=2, autoreset_mode="Disabled")
    patch = pytest.MonkeyPatch()
    patch.setattr(critics, "STEPS", 20)
    patch.setattr(critics, "_TAIL", 40)
    try:
        return agent, visit(agent, make_observer(agent.net, env), env, seed=0)
    finally:
        patch.undo()
        env.close()


def test_visits_have_a_return_per_object_within_the_range(visited):
    agent, visits = visited
    assert visits.returns.shape == visits.potential.shape == (4 * 4, 2)
    assert len(visits.action) == len(visits.state.values) == 16
    assert (visits.returns <= 0).all()
    assert (visits.returns >= agent.config.q_min).all()


def test_a_trained_critic_is_nearer_to_the_returns_than_a_new_one(visited):
    agent, visits = visited
    new = fit_critics(agent, [visits], "per-entity", updates=0)
    trained, untrained = measure_critics(agent, visits), measure_critics(new, visits)
    assert trained.error_95 < untrained.error_95
    assert trained.error_95 <= trained.largest


@pytest.mark.parametrize("values", ["pooled", "per-entity"])
def test_fitting_reduces_the_error_and_keeps_the_actor(visited, values):
    agent, visits = visited
    before, after = (fit_critics(agent, [visits], values, updates) for updates in (0, 15))
    assert measure_critics(after, visits).error_95 < measure_critics(before, visits).error_95
    np.testing.assert_array_equal(
        after.act(visits.state, visits.goal), agent.act(visits.state, visits.goal)
    )
    assert (measure_critics(after, visits).object_95 is None) == (values == "pooled")


def test_the_published_page_is_made_from_the_published_numbers(tmp_path):
    pytest.importorskip("matplotlib")
    from jostle.reports.theory_figures import draw_figures
    from jostle.reports.theory_page import write_page

    published = ROOT / "docs/results/theory.md"
    numbers = json.loads((ROOT / "docs/results/theory/numbers.json").read_text())
    command = re.search(r"Made by `(.*?)`", published.read_text())
    assert command is not None
    write_page(numbers, tmp_path / "theory.md", command[1])
    assert (tmp_path / "theory.md").read_text() == published.read_text()
    draw_figures(numbers, tmp_path)
    figures = sorted(path.name for path in tmp_path.glob("*.png"))
    assert figures == ["broken.png", "critics.png", "growth.png", "tightness.png", "toy.png"]


def test_damaged_numbers_and_agents_without_critics_are_refused(tmp_path):
    pytest.importorskip("matplotlib")
    from jostle.cli.theory import _load_with_critics, run
    from jostle.core.errors import BadValueError

    (tmp_path / "theory").mkdir()
    (tmp_path / "theory/numbers.json").write_text("{")
    with pytest.raises(BadValueError, match="damaged"):
        run(["--out", str(tmp_path / "theory")])
    with pytest.raises(BadValueError, match="no critics beside"):
        _load_with_critics("three-cubes-state-dagger")

"""Grids of variations, and how much success an agent keeps."""

import pytest

from jostle.core.errors import BadValueError, UnknownNameError
from jostle.evaluation.evaluate import wilson_interval
from jostle.evaluation.grid import BASE, COUNT, PRESETS, GridAgent, grid_cells
from jostle.evaluation.retained import CellResult, retained_success, summarize, worst

STATE = GridAgent(task="ThreeCubes", objects=3)
PIXELS = GridAgent(task="ThreeCubes", objects=3, cameras=("front", "side"))


def row(successes: int, episodes: int = 100, **values):
    low, high = wilson_interval(successes, episodes)
    rates = {"success": successes / episodes, "success_low": low, "success_high": high}
    return {**rates, "task": "ThreeCubes", "episodes": episodes, **values}


@pytest.mark.parametrize("preset", PRESETS.values(), ids=list(PRESETS))
@pytest.mark.parametrize("agent", [STATE, PIXELS], ids=["state", "pixels"])
def test_grids_start_with_the_unchanged_task_and_repeat_no_cell(preset, agent):
    cells = grid_cells(preset, agent)
    assert cells[0].ladder == BASE
    assert not cells[0].vary
    keys = [(cell.task, cell.objects, cell.colors, str(cell.vary)) for cell in cells]
    assert len(set(keys)) == len(keys)
    assert all(str(cell.vary) in cell.label for cell in cells)


def test_agents_of_true_state_are_not_asked_about_images():
    texts = [str(cell.vary) for cell in grid_cells(PRESETS["full"], STATE)]
    assert not any(word in text for text in texts for word in ("camera", "light", "color"))
    pixels = [str(cell.vary) for cell in grid_cells(PRESETS["full"], PIXELS)]
    assert {"drop_camera=front", "drop_camera=side", "light=0.7"} <= set(pixels)
    assert set(texts) < set(pixels)


def test_the_paper_has_its_table_of_properties_and_its_numbers_of_cubes():
    cells = grid_cells(PRESETS["paper"], PIXELS)
    assert [cell.label for cell in cells] == [
        "own task", "count=1", "count=2", "count=4", "count=5", "count=6", "shape=star",
        "size=1.5x1", "size=2x1", "size=1.5x1.5", "size=2x2", "color=yellow,purple,cyan",
        "color=held-out", "mass=x0.05", "mass=x0.1", "mass=x10", "mass=x20",
    ]  # fmt: skip
    assert PRESETS["paper"].episodes == 400


def test_counts_beyond_the_named_colors_have_hues_and_are_for_true_state():
    twelve = [cell for cell in grid_cells(PRESETS["full"], STATE) if cell.objects == 12]
    assert [cell.colors for cell in twelve] == ["hues"]
    assert all(cell.objects < 12 for cell in grid_cells(PRESETS["full"], PIXELS))


def test_factors_counts_and_pairs_are_chosen():
    preset = PRESETS["quick"]
    cells = grid_cells(preset, STATE, factors=("mass",))
    assert {cell.ladder for cell in cells} == {BASE, "mass"}
    cells = grid_cells(preset, STATE, factors=(COUNT,), counts=(2, 5), pairs=("count=2 mass=x5",))
    assert [cell.label for cell in cells] == [BASE, "count=2", "count=5", "count=2 mass=x5"]
    assert [cell.objects for cell in cells] == [3, 2, 5, 2]
    with pytest.raises(UnknownNameError, match="Did you mean 'mass'"):
        grid_cells(preset, STATE, factors=("mas",))
    with pytest.raises(UnknownNameError, match="Did you mean 'mass'"):
        grid_cells(preset, STATE, pairs=("mas=x2",))
    with pytest.raises(BadValueError, match="no task like OrderedPush with 3 objects"):
        grid_cells(preset, GridAgent(task="OrderedPush", objects=2), counts=(3,))
    with pytest.raises(BadValueError, match="at most one number of objects"):
        grid_cells(preset, STATE, pairs=("count=six",))


def test_tasks_with_one_number_of_objects_have_no_counts():
    cells = grid_cells(PRESETS["full"], GridAgent(task="OrderedPush", objects=2))
    assert {cell.objects for cell in cells} == {2}


def test_retained_success_is_a_ratio_within_its_interval():
    kept = retained_success(row(40), row(80))
    assert kept.ratio == pytest.approx(0.5)
    assert 0 < kept.low < 0.5 < kept.high < 1
    everything = retained_success(row(90), row(90))
    assert everything.low < 1 < everything.high
    assert retained_success(row(0), row(90)).low == 0
    assert retained_success(row(0), row(90)).high > 0
    assert retained_success(row(5), row(0)) is None


def test_more_episodes_make_the_interval_narrower():
    few, many = (
        retained_success(row(10, 20), row(18, 20)),
        retained_success(row(500, 1000), row(900, 1000)),
    )
    assert many.high - many.low < 0.3 * (few.high - few.low)


def test_intervals_hold_the_true_ratio_nineteen_times_out_of_twenty(rng):
    for true, base in ((0.3, 0.9), (0.85, 0.95)):
        held = 0
        for _ in range(1000):
            kept = retained_success(row(rng.binomial(100, true)), row(rng.binomial(100, base)))
            held += kept.low <= true / base <= kept.high
        assert 0.93 <= held / 1000 <= 0.99


def results(rates):
    cells = grid_cells(PRESETS["paper"], STATE)
    return [
        CellResult(cell=cell, row=None if rate is None else row(rate))
        for cell, rate in zip(cells, rates, strict=False)
    ]


def test_the_summary_names_where_an_agent_breaks_and_the_worst_cell_is_found():
    grid = results([100, 95, 60, 10, None, 93])
    text = summarize("agent", grid)
    assert "breaks at count=4 (10%)" in text
    assert "weakens at count=2 (60%)" in text
    assert "holds (90% or more of it) in 2 of 4 cells" in text
    assert worst(grid).cell.label == "count=4"
    assert worst(grid[:1]) is None
    assert "breaks nowhere" in summarize("agent", results([100, 99]))
    assert "no success to keep" in summarize("agent", results([0, 0]))
    assert "not evaluated" in summarize("agent", results([None, 5]))

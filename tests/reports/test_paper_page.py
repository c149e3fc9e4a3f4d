"""The paper's page: complete, self-contained, every number with a source, no empty figure."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from jostle.cli import report
from jostle.core.errors import JostleError
from jostle.core.goal_metric import METRICS
from jostle.reports.paper_data import PaperRow, read_paper
from jostle.reports.paper_page import paper_page
from jostle.reports.stored import StoredRow, beside, difference, like_for_like, read_stored
from jostle.reports.svg import dot_plot, histogram_plot, line_plot

ROOT = Path(__file__).parents[2]


def row(agent="three-cubes-pixels-td3", task="ThreeCubes", success=0.9, **values):
    metrics = dict.fromkeys(METRICS, 0.01) | {"success": success}
    interval = {"success_low": success - 0.05, "success_high": success + 0.05}
    trained = "`x` (method td3, seed 0): 1,200 updates, 15 min, then `y` (method td3, seed 0): 3 "
    known = {
        "agent": agent, "task": task, "objects": 3, "episodes": 400, "colors": "fixed",
        "trained": f"{trained}updates, 7 min", "episode_set": "abc", "weights": agent,
    }  # fmt: skip
    return {**metrics, **interval, **known, **values}


def stored(*rows):
    return [
        StoredRow(item, "docs/results/test.json", "jostle benchmark test.toml") for item in rows
    ]


def paper_row(**values):
    known = {"label": "x", "task": "ThreeCubes", "obs": "pixels", "metrics": {"success": (0.5,)}}
    return PaperRow(**{**known, **values})


class Page(HTMLParser):
    """Rows, figures, sections and outside addresses of a page."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.figures, self.sections, self.outside, self.open = [], [], {}, [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        outside = [value for key, value in given.items() if key in ("src", "href") and value]
        self.outside += [value for value in outside if not value.startswith(("data:", "#"))]
        if tag == "section":
            self.sections[given["id"]] = ""
        if tag == "tr":
            self.rows.append((given, []))
        if tag == "figure":
            self.figures.append(0)
        if tag in ("polyline", "polygon", "circle") and self.figures:
            self.figures[-1] += 1
        if tag == "img":
            assert len(given["src"]) > 1000
            self.figures[-1] += 1
        if tag == "td" and self.rows:
            self.rows[-1][1].append("")

    def handle_data(self, data):
        if self.rows and self.rows[-1][1]:
            self.rows[-1][1][-1] += data
        if self.sections:
            self.sections[list(self.sections)[-1]] += data


@pytest.fixture(scope="module")
def page():
    text = paper_page(report.collect_rows(ROOT / "docs/results"), ROOT, "jostle report")
    return text, Page(text)


# The page of the repository


def test_every_table_and_figure_of_the_paper_is_there_in_its_order(page):
    _, _, items = read_paper()
    assert list(page[1].sections) == [item.id for item in items]
    labels = [item.label for item in items]
    for kind, count in (("Figure", 16), ("Table", 11)):
        assert [label for label in labels if label.startswith(kind)] == [
            f"{kind} {number}" for number in range(1, count + 1)
        ]


def test_no_number_lacks_a_source(page):
    numbers = [item for item in page[1].rows if item[0].get("class") != "missing" and item[1]]
    assert len(numbers) > 100
    for given, cells in numbers:
        assert given["data-source"], cells
        if given["class"].startswith("ours"):
            assert given["data-command"].startswith("jostle "), cells
            source = given["data-source"]
            assert source.startswith("zoo card of ") or (ROOT / source).is_file()


def test_no_figure_is_empty_and_no_item_is_blank(page):
    assert len(page[1].figures) > 15
    assert all(page[1].figures)
    _, _, items = read_paper()
    for item in items:
        text = page[1].sections[item.id]
        assert len(text) > len(item.title) + len(item.text)
        if not (item.rows or item.images or item.plot or item.settings):
            assert "missing" in text


def test_the_page_needs_nothing_from_elsewhere(page):
    assert page[1].outside == []
    assert "http" not in re.sub(r"data:[^\"]*", "", page[0])
    assert "prefers-color-scheme: dark" in page[0]
    assert "@media print" in page[0]


def test_rows_show_the_papers_numbers_and_ours(page):
    cells = [cells for given, cells in page[1].rows if given.get("data-source") == "Table 6"]
    star = next(line for line in cells if line[0] == "Star")
    assert star[2:7] == ["0.902 ± 0.002", "0.961 ± 0.002", "0.031 ± 0.005", "0.019 ± 0.001",
                         "-0.167 ± 0.007"]  # fmt: skip


def test_the_papers_numbers_are_consistent():
    _, _, items = read_paper()
    by_id = {item.id: item for item in items}
    training, cubes = by_id["prop_gen_metrics"].rows[0], by_id["gt_reward_metrics"].rows[-1]
    assert training.metrics == cubes.metrics
    in_both = {line.objects: line.metrics["maximum_distance"] for line in by_id["gen"].rows}
    for line in by_id["gen_comp"].rows:
        if line.trained == "three":
            assert line.metrics["maximum_distance"] == in_both[line.objects]
    for item in items:
        for line in item.rows:
            assert line.metrics or line.said, line.label
            assert 0 <= line.metrics.get("success", (0,))[0] <= 1


# Which results belong beside a row


def test_results_are_matched_by_task_objects_colors_variation_and_observation():
    mine = stored(row())
    assert beside(paper_row(), mine)
    assert beside(paper_row(task="NCubes", objects=3), mine)
    for other in (
        {"task": "TwoCubes"}, {"objects": 4, "task": "NCubes"}, {"colors": "random"},
        {"vary": "mass=x20"}, {"obs": "state"}, {"variant": "smorl"}, {"trained": "two"},
    ):  # fmt: skip
        assert not beside(paper_row(**other), mine), other
    assert not beside(paper_row(), stored(row(trained="scripted")))


def test_the_best_comes_first_and_what_is_not_like_for_like_last():
    mine = stored(
        row("a-pixels", success=0.5), row("b-pixels", success=0.7), row("c-state", success=0.9),
        row("adjacent-goals-pixels", success=0.95),
    )  # fmt: skip
    paper = paper_row(also_state=True, aside=("adjacent-goals",))
    assert [line.first.agent for line in beside(paper, mine)] == [
        "b-pixels", "a-pixels", "c-state", "adjacent-goals-pixels",
    ]  # fmt: skip
    assert [line.first.agent for line in like_for_like(paper, mine)] == ["b-pixels", "a-pixels"]
    assert difference(paper, beside(paper, mine)[2]) == "observes state"


def test_agents_that_learned_with_variations_are_not_zero_shot():
    paper = paper_row(vary="mass=x20")
    mine = stored(
        row("a-pixels-varied", success=0.9, vary="mass=x20"),
        row("b-pixels", success=0.5, vary="mass=x20"),
    )
    (best, other) = beside(paper, mine)
    assert (best.first.agent, difference(paper, best)) == ("b-pixels", "")
    assert difference(paper, other) == "trained with variations"
    assert like_for_like(paper, mine) == [best]


def test_seeds_of_a_training_are_one_line_with_an_interval_over_seeds():
    seeds = [row(f"s{n}-pixels", success=0.8 + 0.05 * n, training="t") for n in range(3)]
    (line,) = beside(paper_row(), stored(*seeds))
    assert line.seeds == 3
    assert line.mean("success") == pytest.approx(0.85)
    low, high = line.interval()
    assert low < 0.75
    assert high <= 1
    alike = beside(paper_row(), stored(*(row(f"s{n}-pixels", training="t") for n in range(2))))
    assert alike[0].interval() == pytest.approx((0.85, 0.95))


def test_methods_and_minutes_are_read_from_the_history():
    (item,) = stored(row())
    assert item.minutes == 22
    assert item.method == "td3 (no teacher)"
    (imitator,) = stored(row(trained="`x` (method dagger, seed 0): 10 updates, 3 min"))
    assert imitator.method == "dagger (teacher)"


def test_a_measurement_in_two_files_is_shown_once(tmp_path):
    for name in ("first", "second"):
        (tmp_path / f"{name}.json").write_text(json.dumps({"rows": [row()]}))
    files = [(tmp_path / f"{name}.json", name) for name in ("first", "second")]
    assert [item.source for item in read_stored(files)] == ["first"]
    assert read_stored(files)[0].command == (
        "jostle evaluate three-cubes-pixels-td3 --task ThreeCubes --episodes 400"
    )


# The command


def test_results_of_ones_own_are_laid_beside(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    mine = row("my-pixels-agent", vary="shape=star", success=0.123)
    (tmp_path / "mine.json").write_text(json.dumps({"rows": [mine]}))
    results = str(ROOT / "docs/results")
    report.run(["--results", results, "--add", "mine.json", "--out", "out/page.html"])
    assert "page: out/page.html" in capsys.readouterr().out
    text = (tmp_path / "out/page.html").read_text()
    assert "my-pixels-agent" in text
    assert 'data-source="mine.json"' in text


def test_agents_can_be_added_by_name_with_their_stored_evaluation():
    rows = report.collect_rows(ROOT / "docs/results", ("three-cubes-state-td3-long",))
    assert rows[0].agent == "three-cubes-state-td3-long"
    assert rows[0].obs == "state"
    assert rows[0].minutes == 105
    assert set(METRICS) <= set(rows[0].row)


def test_results_of_another_version_are_refused_and_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.json").write_text('{"rows": [{"agent": "x", "score": 1}]}')
    for words, reason in (
        (["--add", "old.json"], "holds no results that this version can read"),
        (["--add", "missing.json"], "holds no results"),
        (["--add", "no-such-run"], "no agent called 'no-such-run'"),
    ):
        with pytest.raises(JostleError, match=reason):
            report.run(["--results", str(ROOT / "docs/results"), *words])
    with pytest.raises(JostleError, match="no stored results in nowhere"):
        report.run(["--results", "nowhere"])
    assert [path.name for path in tmp_path.iterdir()] == ["old.json"]


# Plots


def test_plots_hold_every_point_within_their_frame():
    text = line_plot({"a": {1: -0.1, 2: -0.3}, "b": {1: -0.2}}, "x", "y")
    points = re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)"', text)
    assert len(points) == 3
    assert all(0 < float(x) <= 560 and 0 < float(y) < 300 for x, y in points)
    assert histogram_plot({"a": [1, 2, 3]}, "x", 3.0).count("<polygon") == 1
    assert dot_plot([("a", 0.5, 0.6, (0.5, 0.7)), ("b", 0.5, None, None)]).count("<circle") == 1
    assert line_plot({}, "x", "y") == histogram_plot({"a": [0]}, "x", 1.0) == ""

"""Tuning: tried on some episodes, decided on others, and nothing is lost when it does not help."""

import shutil

import pytest

torch = pytest.importorskip("torch")

from jostle.core.checkpoint import load, save  # noqa: E402
from jostle.core.errors import BadValueError, UnknownNameError  # noqa: E402
from jostle.core.rundir import RunDir  # noqa: E402
from jostle.evaluation.scores import digest, read_scores  # noqa: E402
from jostle.training.recall import recall  # noqa: E402
from jostle.zoo import tuning  # noqa: E402
from jostle.zoo.keeping import weights_of  # noqa: E402
from jostle.zoo.shelf import amend_card, find, shelf  # noqa: E402

NAME = "one-cube-state"


@pytest.fixture
def zoo(tmp_path):
    for suffix in (".safetensors", ".md"):
        shutil.copyfile(shelf()[NAME].weights.with_suffix(suffix), tmp_path / f"{NAME}{suffix}")
    return tmp_path


def test_noise_that_only_harms_is_not_taken_and_the_weights_stay(zoo):
    before, card = digest(find(NAME, zoo).weights), find(NAME, zoo).card.read_text()
    said: list[str] = []
    assert tuning.tune(NAME, (0.0, 0.9), said.append, zoo, trials=8, episodes=8) == 0.0
    assert "stays as it is" in said[-1]
    assert (digest(find(NAME, zoo).weights), find(NAME, zoo).card.read_text()) == (before, card)


def test_an_agent_that_is_too_restless_is_calmed_and_its_card_says_so(zoo):
    entry = find(NAME, zoo)
    tensors, meta = load(entry.weights)
    meta["experiment"]["explore"]["restless"] = 0.9  # nobody succeeds like that
    save(entry.weights, tensors, meta)
    said: list[str] = []
    assert tuning.tune(NAME, (0.02,), said.append, zoo, trials=4, episodes=12) == 0.02
    experiment, agent = recall(entry.weights)
    assert experiment.explore.restless == agent.restless == 0.02
    after, _ = load(entry.weights)
    assert all(torch.equal(after[name], tensors[name]) for name in tensors)
    assert "| restless | 0.02, chosen by 4 other episodes" in entry.card.read_text()
    (scores,) = read_scores(entry.weights.with_suffix(".json")).values()
    assert scores["weights"] == digest(entry.weights)
    assert f"| success | {scores['success']:.3f} [" in entry.card.read_text()


def test_a_card_is_amended_in_its_rows_and_below_them(zoo):
    entry = find(NAME, zoo)
    before = entry.card.read_text().splitlines()
    amend_card(entry, {"lane": "another", "mood": "calm"})
    after = entry.card.read_text().splitlines()
    assert [line for line in after if line not in before] == [
        "| lane | another |",
        "| mood | calm |",
    ]
    assert len(after) == len(before) + 1
    assert after[after.index("| mood | calm |") - 1].startswith("| ")


def test_impossible_levels_and_unknown_names_are_refused(zoo):
    with pytest.raises(BadValueError, match="at least one level"):
        tuning.tune(NAME, (), print, zoo)
    with pytest.raises(BadValueError, match="negative"):
        tuning.tune(NAME, (-0.1,), print, zoo)
    with pytest.raises(UnknownNameError, match="one-cube-state"):
        tuning.tune("one-cube-stat", (0.1,), print, zoo)


def test_weights_can_be_added_with_noise_of_their_own(tmp_path):
    run = RunDir(tmp_path / "run")
    run.best.parent.mkdir(parents=True)
    shutil.copyfile(shelf()[NAME].weights, run.best)
    before = digest(run.best)
    noisy = weights_of(run, restless=0.03)
    assert digest(run.best) == before
    assert recall(noisy)[1].restless == 0.03
    plain, copied = load(run.best)[0], load(noisy)[0]
    assert all(torch.equal(copied[name], plain[name]) for name in plain)
    assert weights_of(run) == run.best
    with pytest.raises(BadValueError, match="has not come to its end"):
        weights_of(run, final=True)

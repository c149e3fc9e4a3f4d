"""Tuning of evaluation noise: chosen on some episodes, confirmed on others, never for the worse."""

import re
import shutil

import mujoco
import pytest

torch = pytest.importorskip("torch")

from jostle.core.checkpoint import load, save  # noqa: E402
from jostle.core.errors import BadValueError, UnknownNameError  # noqa: E402
from jostle.evaluation.scores import digest, read_scores  # noqa: E402
from jostle.runs.run_dir import RunDir  # noqa: E402
from jostle.training.load import load_agent  # noqa: E402
from jostle.zoo import tuning  # noqa: E402
from jostle.zoo.promote import rescore_agent, run_weights  # noqa: E402
from jostle.zoo.registry import find_entry, registry, update_card  # noqa: E402

NAME = "one-cube-state-dagger"


@pytest.fixture
def zoo(tmp_path):
    for suffix in (".safetensors", ".md"):
        shutil.copyfile(registry()[NAME].weights.with_suffix(suffix), tmp_path / f"{NAME}{suffix}")
    return tmp_path


def test_harmful_noise_is_not_registered(zoo):
    before, card = digest(find_entry(NAME, zoo).weights), find_entry(NAME, zoo).card.read_text()
    messages: list[str] = []
    assert tuning.tune(NAME, (0.0, 0.9), messages.append, zoo, trials=8, episodes=8) == 0.0
    assert "unchanged" in messages[-1]
    assert (digest(find_entry(NAME, zoo).weights), find_entry(NAME, zoo).card.read_text()) == (
        before,
        card,
    )


def test_too_much_noise_is_reduced_in_weights_and_card(zoo):
    entry = find_entry(NAME, zoo)
    tensors, meta = load(entry.weights)
    meta["experiment"]["explore"]["eval_noise_std"] = 0.9  # no agent succeeds with that
    save(entry.weights, tensors, meta)
    messages: list[str] = []
    assert tuning.tune(NAME, (0.02,), messages.append, zoo, trials=4, episodes=12) == 0.02
    experiment, agent = load_agent(entry.weights)
    assert experiment.explore.eval_noise_std == agent.eval_noise_std == 0.02
    after, _ = load(entry.weights)
    assert all(torch.equal(after[name], tensors[name]) for name in tensors)
    assert "| evaluation noise | 0.02, chosen on 4 other episodes" in entry.card.read_text()
    assert "| success without noise | " in entry.card.read_text()
    (scores,) = read_scores(entry.weights.with_suffix(".json")).values()
    assert scores["weights"] == digest(entry.weights)
    assert f"| success | {scores['success']:.3f} [" in entry.card.read_text()


def test_no_reported_episode_chooses_or_confirms_the_noise(zoo, monkeypatch):
    entry = find_entry(NAME, zoo)
    tensors, meta = load(entry.weights)
    meta["experiment"]["explore"]["eval_noise_std"] = 0.9
    save(entry.weights, tensors, meta)
    used: list[tuple[float, range]] = []
    real = tuning.evaluate_agent

    def record(*args, seed, eval_noise, **options):
        used.append((eval_noise, range(seed, seed + args[2])))
        return real(*args, seed=seed, eval_noise=eval_noise, **options)

    monkeypatch.setattr(tuning, "evaluate_agent", record)
    tuning.tune(NAME, (0.02,), print, zoo, trials=4, episodes=12)
    *deciding, reported, without_noise = used
    assert [std for std, _ in deciding] == [0.02, 0.02, 0.9]
    assert (reported, without_noise) == ((0.02, range(12)), (0.0, range(12)))
    chosen, confirmed, _ = (set(seeds) for _, seeds in deciding)
    assert not chosen & confirmed
    assert not (chosen | confirmed) & set(range(12))


def test_rescoring_writes_card_and_scores_and_leaves_the_weights(zoo):
    entry = find_entry(NAME, zoo)
    before = digest(entry.weights)
    score = rescore_agent(NAME, print, zoo, episodes=6)
    card = entry.card.read_text()
    assert digest(entry.weights) == before
    assert f"| episodes | 6, set {score.digest}, MuJoCo {mujoco.__version__} |" in card
    assert re.findall(r"--episodes (\d+)`", card) == ["6"]
    assert f"| maximum distance | {score.mean('maximum_distance'):.4f} |" in card
    assert f"| average return | {score.mean('average_return'):.3f} |" in card
    (scores,) = read_scores(entry.weights.with_suffix(".json")).values()
    assert (scores["weights"], scores["episodes"]) == (before, 6)
    assert scores["mujoco"] == mujoco.__version__


def test_updating_a_card_replaces_and_appends_rows(zoo):
    entry = find_entry(NAME, zoo)
    before = entry.card.read_text().splitlines()
    update_card(entry, {"method": "another", "color": "blue"})
    after = entry.card.read_text().splitlines()
    assert [line for line in after if line not in before] == [
        "| method | another |",
        "| color | blue |",
    ]
    assert len(after) == len(before) + 1
    assert after[after.index("| color | blue |") - 1].startswith("| ")


def test_invalid_levels_and_unknown_names_are_rejected(zoo):
    with pytest.raises(BadValueError, match="at least one noise level"):
        tuning.tune(NAME, (), print, zoo)
    with pytest.raises(BadValueError, match="negative"):
        tuning.tune(NAME, (-0.1,), print, zoo)
    with pytest.raises(UnknownNameError, match="one-cube-state"):
        tuning.tune("one-cube-state-dager", (0.1,), print, zoo)


def test_a_run_can_be_added_with_another_evaluation_noise(tmp_path):
    run = RunDir(tmp_path / "run")
    run.best.parent.mkdir(parents=True)
    shutil.copyfile(registry()[NAME].weights, run.best)
    before = digest(run.best)
    noisy = run_weights(run, eval_noise=0.03)
    assert digest(run.best) == before
    assert load_agent(noisy)[1].eval_noise_std == 0.03
    plain, copied = load(run.best)[0], load(noisy)[0]
    assert all(torch.equal(copied[name], plain[name]) for name in plain)
    assert run_weights(run) == run.best
    with pytest.raises(BadValueError, match="not finished"):
        run_weights(run, final=True)

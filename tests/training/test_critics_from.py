"""Privileged critics that start as those of an agent of true state."""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from experiments import quiet, tiny, tiny_pixels  # noqa: E402
from jostle.core.errors import BadValueError, JostleError  # noqa: E402
from jostle.presets.words import parse_words  # noqa: E402
from jostle.runs.run_dir import RunDir, critics_file  # noqa: E402
from jostle.training.start import start_run  # noqa: E402


@pytest.fixture(scope="module")
def state_agent(tmp_path_factory):
    """A trained agent of true state, and its file."""
    folder = tmp_path_factory.mktemp("critics")
    trainer = start_run(tiny(), folder / "run", quiet)
    trainer.run()
    return trainer.components.agent, folder / "run/checkpoints/final.safetensors"


def privileged(folder, **net):
    experiment = tiny_pixels(folder, method="td3-privileged", values="per-entity")
    return replace(experiment, seed=5, net=replace(experiment.net, **net))


def test_critics_and_their_normalizer_are_carried_and_the_actor_stays(state_agent, tmp_path):
    source, file = state_agent
    experiment = privileged(tmp_path)
    fresh = start_run(experiment, tmp_path / "fresh", quiet).components.agent
    trainer = start_run(experiment, tmp_path / "run", quiet, None, file)
    agent = trainer.components.agent
    torch.testing.assert_close(agent.critics.state_dict(), source.critics.state_dict())
    targets = source.target_critics.state_dict()
    torch.testing.assert_close(agent.target_critics.state_dict(), targets)
    normalizer = source.normalizer.state_dict()
    torch.testing.assert_close(agent.critic_normalizer.state_dict(), normalizer)
    for net in ("actor", "target_actor", "normalizer"):
        own = getattr(fresh, net).state_dict()
        torch.testing.assert_close(getattr(agent, net).state_dict(), own)
    history = RunDir(tmp_path / "run").read_history()
    assert [entry["part"] for entry in history] == ["critics"]
    trainer.run()
    assert agent.updates > 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"values": "pooled"}, "values = per-entity, this training has pooled"),
        ({"gamma": 0.9}, "gamma = 0.95, this training has 0.9"),
        ({"potential_baseline": False}, "potential_baseline = True"),
    ],
)
def test_critics_whose_values_mean_something_else_are_refused(
    change, message, state_agent, tmp_path
):
    experiment = privileged(tmp_path)
    part = "net" if "values" in change else "td3"
    experiment = replace(experiment, **{part: replace(getattr(experiment, part), **change)})
    with pytest.raises(BadValueError, match=message):
        start_run(experiment, tmp_path / "run", quiet, None, state_agent[1])
    assert not (tmp_path / "run").exists()


def test_only_privileged_critics_are_carried_and_only_from_true_state(state_agent, tmp_path):
    with pytest.raises(BadValueError, match="td3-privileged"):
        start_run(tiny(), tmp_path / "run", quiet, None, state_agent[1])
    experiment = privileged(tmp_path)
    start_run(experiment, tmp_path / "pixels", quiet).run()
    with pytest.raises(BadValueError, match="agent of images"):
        start_run(experiment, tmp_path / "run", quiet, None, tmp_path / "pixels")
    alone = tmp_path / "alone.safetensors"
    alone.write_bytes(state_agent[1].read_bytes())
    assert not critics_file(alone).exists()
    with pytest.raises(JostleError, match="no critics beside it"):
        start_run(experiment, tmp_path / "run", quiet, None, alone)
    assert not (tmp_path / "run").exists()


def test_critics_come_from_one_agent_only():
    words = "three-cubes --obs pixels --method td3-privileged --carry all --critics-from a"
    with pytest.raises(SystemExit):
        parse_words(words.split())

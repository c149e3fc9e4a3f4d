"""Offline runs: data through observers of online agents, exact resumes, refusals, fine-tuning."""

import json
import shutil
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from experiments import (  # noqa: E402
    assert_same_tensors,
    metric_rows,
    quiet,
    small_encoder,
    stop_at,
    tiny,
)
from jostle.cli.main import COMMANDS  # noqa: E402
from jostle.core.checkpoint import load  # noqa: E402
from jostle.core.entities import POSITION  # noqa: E402
from jostle.core.errors import BadValueError, FramesError  # noqa: E402
from jostle.encoders.saving import save_encoder  # noqa: E402
from jostle.presets.axes import Axes  # noqa: E402
from jostle.presets.experiments import make_experiment  # noqa: E402
from jostle.presets.words import parse_words  # noqa: E402
from jostle.recordings.reader import RecordedEpisodes  # noqa: E402
from jostle.runs.config import ConfigMismatchError  # noqa: E402
from jostle.runs.run_dir import RunDir  # noqa: E402
from jostle.runs.trainer import StopRequested  # noqa: E402
from jostle.training.load import load_agent  # noqa: E402
from jostle.training.start import resume_run, start_run  # noqa: E402
from recorded import record  # noqa: E402

PIXELS = {"obs_type": "both", "cameras": ("front", "side"), "image_size": 128}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    record(folder, 6, task="OneCube", steps=6)
    return folder


@pytest.fixture(scope="module")
def pixel_data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pixels")
    record(folder, 2, task="OneCube", env_kwargs=PIXELS, frames=True, steps=3, num_envs=2)
    return folder


def offline(folder, method="iql", task="one-cube", **fields):
    """A training of four iterations of two updates."""
    axes = Axes(method=method, **fields)
    experiment = tiny(task, axes, num_envs=4, eval_every=4, eval_episodes=2, save_every=1)
    settings = replace(experiment.offline, data=str(folder), updates=8, iteration_updates=2)
    return replace(experiment, offline=settings)


@pytest.mark.parametrize("method", ["iql", "bc"])
def test_a_stopped_run_resumes_bit_for_bit(method, data, tmp_path):
    experiment = offline(data, method)
    start_run(experiment, tmp_path / "whole", quiet).run()
    with pytest.raises(StopRequested):
        start_run(experiment, tmp_path / "parts", stop_at(2)).run()
    resume_run(tmp_path / "parts", quiet).run()
    assert metric_rows(tmp_path / "whole") == metric_rows(tmp_path / "parts")
    for name in ("last", "best"):
        file = f"checkpoints/{name}.safetensors"
        assert_same_tensors(tmp_path / "whole" / file, tmp_path / "parts" / file)
    last = metric_rows(tmp_path / "whole")[-1]
    assert (last["updates"], last["env_steps"]) == (8, 0)
    assert "success" in last
    agent = load_agent(tmp_path / "whole")[1]
    assert agent.updates == 0


def test_states_are_what_the_recording_holds(data, tmp_path):
    trainer = start_run(offline(data), tmp_path / "run", quiet)
    episodes, recorded = trainer.components.buffer.view(), RecordedEpisodes(data)
    assert len(episodes) == len(recorded)
    columns = trainer.components.collector.observer.layout[POSITION]
    assert (
        episodes.actor.states.values[:, :, 0, :, columns] == recorded.read("observation")[..., :2]
    ).all()
    assert (episodes.achieved == recorded.read("achieved_goal")).all()
    assert (episodes.desired == recorded.read("desired_goal")).all()
    assert (episodes.actions == recorded.read("action")).all()


def test_the_first_episodes_alone_can_be_asked_for(data, tmp_path):
    experiment = offline(data)
    experiment = replace(experiment, offline=replace(experiment.offline, data_episodes=3))
    assert len(start_run(experiment, tmp_path, quiet).components.buffer.view()) == 3


def test_a_run_does_not_resume_with_other_data(data, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(data, copy)
    with pytest.raises(StopRequested):
        start_run(offline(copy), tmp_path / "run", stop_at(1)).run()
    record(copy, 8, task="OneCube", steps=6)
    with pytest.raises(ConfigMismatchError, match="has changed"):
        resume_run(tmp_path / "run", quiet)
    shutil.rmtree(copy)
    with pytest.raises(FramesError, match="no such folder"):
        resume_run(tmp_path / "run", quiet)


def test_data_of_other_spaces_is_refused_and_nothing_is_written(data, tmp_path):
    for experiment, words in (
        (offline(data, task="two-cubes"), "2 rows of x, y, z; TwoCubes has 3 rows"),
        (offline(data, task="push-t"), "sin, cos"),
        (offline("", "bc"), "--data"),
        (replace(tiny(), offline=offline(data).offline), "collects its own episodes"),
    ):
        with pytest.raises(BadValueError, match=words):
            start_run(experiment, tmp_path / "run", quiet)
    assert not (tmp_path / "run").exists()


def test_damaged_data_is_refused(data, tmp_path):
    shutil.copytree(data, tmp_path / "data")
    (tmp_path / "data" / "00000-reward.npy").unlink()
    with pytest.raises(FramesError, match=r"00000-reward\.npy is missing"):
        start_run(offline(tmp_path / "data"), tmp_path / "run", quiet)


def test_environment_steps_are_no_total_of_an_offline_run(data, tmp_path):
    start_run(offline(data, "bc"), tmp_path, quiet).run()
    with pytest.raises(BadValueError, match="takes no environment steps"):
        resume_run(tmp_path, quiet, env_steps=1000)


def test_online_training_goes_on_with_actor_and_critics(data, tmp_path):
    start_run(offline(data), tmp_path / "offline", quiet).run()
    experiment = tiny(env_steps=4 * 30, random_episodes=0)
    online = start_run(experiment, tmp_path / "online", quiet, tmp_path / "offline", "all")
    agent = online.components.agent
    files = [RunDir(tmp_path / "offline").best]
    files.append(files[0].with_stem("best-critics"))
    for file in files:
        for name, tensor in load(file)[0].items():
            net, _, rest = name.partition(".")
            if net != "value":
                assert torch.equal(getattr(agent, net).state_dict()[rest], tensor), name
    online.run()
    history = load(RunDir(tmp_path / "online").last)[1]["history"]
    assert [stage["method"] for stage in history] == ["iql", "td3 fine-tuning"]


@pytest.mark.parametrize("method", ["bc", "iql", "iql-privileged"])
def test_particles_are_encoded_once_and_learned_from(method, pixel_data, tmp_path):
    save_encoder(tmp_path / "encoder.safetensors", small_encoder(), {})
    experiment = offline(
        pixel_data, method, obs="pixels", encoder=str(tmp_path / "encoder.safetensors")
    )
    experiment = replace(experiment, training=replace(experiment.training, num_envs=2))
    trainer = start_run(experiment, tmp_path / "run", quiet)
    states = trainer.components.buffer.view().actor.states
    assert states.values.shape[:4] == (2, 4, 2, 4)  # episodes, steps, views, particles
    per_entity = experiment.net.values == "per-entity"
    assert per_entity == (method == "iql-privileged")
    trainer.run()
    assert load_agent(tmp_path / "run")[1].sensor is not None


def test_state_data_has_no_images_for_a_pixel_agent(data, tmp_path):
    save_encoder(tmp_path / "encoder.safetensors", small_encoder(), {})
    experiment = offline(data, "bc", obs="pixels", encoder=str(tmp_path / "encoder.safetensors"))
    with pytest.raises(BadValueError, match="Record with --obs pixels"):
        start_run(experiment, tmp_path / "run", quiet)


def test_words_of_the_command_line_give_goal_mixes_and_values_per_entity():
    config = parse_words(["three-cubes", "--method", "iql", "--data", "x", "--updates", "7"])
    experiment = config.experiment
    assert (experiment.offline.data, experiment.offline.updates) == ("x", 7)
    assert experiment.net.values == "per-entity"
    hindsight = experiment.hindsight
    assert 0 < hindsight.her_ratio < 1  # the rest keeps the episode's own goal
    assert hindsight.other_episode_fraction > 0
    assert hindsight.stay_fraction > 0
    assert experiment.iql.bc_by_advantage
    with pytest.raises(BadValueError, match="--arch eit"):
        make_experiment("three-cubes", Axes(method="iql", arch="mlp"))
    with pytest.raises(BadValueError, match="iql-privileged is for --obs pixels"):
        Axes(method="iql-privileged")


def test_the_command_line_records_and_learns(tmp_path, monkeypatch, capsys):
    from jostle.cli.record import run as record_command
    from jostle.cli.train import run as train_command

    assert "record" in COMMANDS
    monkeypatch.chdir(tmp_path)
    record_command(
        ["oracle", "--task", "OneCube", "--episodes", "4", "--num-envs", "4", "--steps", "5",
         "--out", "data", "--threads", "1"]
    )  # fmt: skip
    words = (
        "one-cube --method iql --data data --updates 4 --iteration-updates 2 --batch-size 8 "
        "--eval-episodes 2 --eval-every 2 --threads 1"
    )
    assert train_command(words.split()) == 0
    assert "updates 4/4" in capsys.readouterr().out
    stored = json.loads((tmp_path / "runs/one-cube-state-iql-0/experiment.json").read_text())
    assert stored["offline"]["data"] == "data"

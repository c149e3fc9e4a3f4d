"""The user's own zoo: models are added to it, found and removed; the package's never changes."""

import io
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import jostle  # noqa: E402
from experiments import DAGGER, quiet, small_encoder, tiny, tiny_pixels  # noqa: E402
from jostle.cli import evaluate as evaluate_command  # noqa: E402
from jostle.cli import zoo as command  # noqa: E402
from jostle.core.checkpoint import CheckpointError  # noqa: E402
from jostle.core.checksums import file_checksum, read_checksums  # noqa: E402
from jostle.core.errors import BadValueError, UnknownNameError  # noqa: E402
from jostle.encoders.saving import save_encoder  # noqa: E402
from jostle.training.start import start_run  # noqa: E402
from jostle.zoo import folders  # noqa: E402
from jostle.zoo.agents import find_weights, load_teacher  # noqa: E402
from jostle.zoo.encoders import find_encoder_file, load_encoder  # noqa: E402
from jostle.zoo.folders import WEIGHTS_DIR, user_zoo  # noqa: E402
from jostle.zoo.queue import Job, TrainingQueue  # noqa: E402
from jostle.zoo.registry import agents, encoders, registry  # noqa: E402
from jostle.zoo.tuning import tune  # noqa: E402


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """A finished training."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    start_run(tiny(axes=DAGGER), folder, quiet).run()
    return folder


@pytest.fixture
def zoo(tmp_path, monkeypatch) -> Path:
    """The user's zoo, which does not exist yet; the package's must not change."""
    before = package_files()
    monkeypatch.setenv("JOSTLE_ZOO", str(tmp_path / "my" / "zoo"))
    yield tmp_path / "my" / "zoo"
    assert package_files() == before


def package_files() -> dict[str, int]:
    return {file.name: file.stat().st_mtime_ns for file in WEIGHTS_DIR.iterdir()}


def add(name: str, run: Path) -> None:
    command.run(["add", name, str(run), "--episodes", "4"])


def remove(name: str, *flags: str) -> None:
    command.run(["remove", name, *flags])


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {}, "HOME/.local/share/jostle/zoo"),
        ("linux", {"XDG_DATA_HOME": "/data"}, "/data/jostle/zoo"),
        ("linux", {"XDG_DATA_HOME": "data"}, "HOME/.local/share/jostle/zoo"),
        ("darwin", {"XDG_DATA_HOME": "/data"}, "HOME/Library/Application Support/jostle/zoo"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/jostle/zoo"),
        ("win32", {}, "HOME/AppData/Local/jostle/zoo"),
        ("linux", {"JOSTLE_ZOO": "/mine", "XDG_DATA_HOME": "/data"}, "/mine"),
        ("linux", {"JOSTLE_ZOO": "~/mine"}, "HOME/mine"),
        ("linux", {"JOSTLE_ZOO": ""}, "HOME/.local/share/jostle/zoo"),
    ],
)
def test_the_folder_is_that_of_the_platform(platform, variables, expected, monkeypatch, tmp_path):
    for name in ("JOSTLE_ZOO", "XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(folders.sys, "platform", platform)
    assert str(user_zoo()) == expected.replace("HOME", str(tmp_path))


def test_an_added_agent_is_found_by_every_command(run, zoo, capsys):
    add("mine", run)
    assert f"zoo: {zoo}" in capsys.readouterr().out
    assert find_weights("mine") == zoo / "mine.safetensors"
    assert {"mine", "three-cubes-state-dagger"} <= set(agents())
    # Python interface and evaluation
    assert jostle.load_agent("mine").task == "OneCube"
    assert len(jostle.evaluate("mine", episodes=2, num_envs=2).rows) == 2
    evaluate_command.run(["mine", "--episodes", "2", "--num-envs", "2"])
    assert "| OneCube | 1 | mine |" in capsys.readouterr().out
    # Start of a training, and its teacher
    start_run(tiny(axes=DAGGER), zoo.parent / "next", quiet, find_weights("mine"))
    taught = tiny(axes=DAGGER, teacher="mine")
    start_run(taught, zoo.parent / "taught", quiet, load_teacher=load_teacher)
    with pytest.raises(UnknownNameError, match="Did you mean 'mine'"):
        find_weights("mime")


def test_a_model_carries_card_scores_and_checksum(run, zoo):
    add("mine", run)
    names = {file.name for file in zoo.iterdir()}
    assert {"mine.safetensors", "mine.md", "mine.json", "checksums.json"} <= names
    weights = zoo / "mine.safetensors"
    assert read_checksums(zoo) == {weights.name: file_checksum(weights)}
    content = bytearray(weights.read_bytes())
    content[-5] ^= 16
    weights.write_bytes(content)
    with pytest.raises(CheckpointError, match=r"mine.safetensors is damaged"):
        jostle.load_agent("mine")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a/b", "is no name"),
        ("../evil", "is no name"),
        ("..", "is no name"),
        (".hidden", "is no name"),
        ("a b", "is no name"),
        ("a:b", "is no name"),
        ("a" * 65, "is no name"),
        ("mine-critics", "belong to the agent beside them"),
        ("oracle", "scripted policy"),
        ("three-cubes-state-dagger", "package has a model"),
        ("three-cubes-state", "package has a model"),
        ("dlp-6cubes", "package has a model"),
    ],
)
def test_names_that_lead_elsewhere_or_clash_are_refused(name, message, run, zoo):
    with pytest.raises(BadValueError, match=message):
        add(name, run)
    assert not zoo.exists()


def test_maintainers_name_the_folder_to_write_to(run, zoo, tmp_path, monkeypatch):
    monkeypatch.setattr("jostle.zoo.registry.is_package_zoo", lambda folder: True)
    other = tmp_path / "package"
    words = ["three-cubes-state-dagger", str(run), "--zoo", str(other), "--episodes", "4"]
    command.run(["add", *words])
    assert list(registry(other)) == ["three-cubes-state-dagger"]
    assert not zoo.exists()


def test_the_list_says_where_each_model_is(run, zoo, capsys):
    add("mine", run)
    (zoo / "dlp-pusht.safetensors").write_bytes(b"")  # put there by hand
    capsys.readouterr()
    command.run([])
    lines = capsys.readouterr().out.splitlines()
    (own,) = [line for line in lines if line.startswith("mine ")]
    assert "user" in own
    assert "mine: OneCube from true state" in own
    first, second = [line for line in lines if line.startswith("dlp-pusht ")]
    assert "package" in first
    assert "hidden by the package's model" in second
    assert find_encoder_file("dlp-pusht").parent == WEIGHTS_DIR
    command.run(["show", "mine"])
    assert str(zoo / "mine.safetensors") in capsys.readouterr().out


def test_a_model_is_removed_with_all_its_files(run, zoo):
    add("mine", run)
    remove("mine", "--yes")
    assert read_checksums(zoo) == {}
    assert [file.name for file in zoo.iterdir()] == ["checksums.json"]
    with pytest.raises(UnknownNameError, match="has no models"):
        remove("mine", "--yes")


def test_removing_asks_first(run, zoo, monkeypatch):
    add("mine", run)
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    with pytest.raises(BadValueError, match="--yes"):
        remove("mine")
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr("builtins.input", lambda text: "n")
    with pytest.raises(BadValueError, match="Nothing was removed"):
        remove("mine")
    assert (zoo / "mine.safetensors").is_file()
    monkeypatch.setattr("builtins.input", lambda text: "y")
    remove("mine")
    assert not (zoo / "mine.safetensors").exists()


def test_models_of_the_package_are_not_changed(zoo):
    for flags in ((), ("--zoo", str(WEIGHTS_DIR))):
        with pytest.raises(BadValueError, match="comes with the package"):
            remove("one-cube-state-dagger", "--yes", *flags)
    with pytest.raises(BadValueError, match="comes with the package"):
        tune("one-cube-state-dagger", (0.1,), print)
    with pytest.raises(BadValueError, match="comes with the package"):
        command.run(["rescore", "one-cube-state-dagger"])


def test_an_encoder_that_an_agent_needs_is_not_removed(zoo, tmp_path):
    zoo.mkdir(parents=True)
    save_encoder(zoo / "my-dlp.safetensors", small_encoder(), {})
    assert "my-dlp" in encoders()
    with pytest.raises(UnknownNameError, match="Did you mean 'my-dlp'"):
        find_encoder_file("my-dpl")
    experiment = replace(tiny_pixels(tmp_path), encoder="my-dlp")
    start_run(experiment, tmp_path / "run", quiet, load_encoder=load_encoder).run()
    add("my-agent", tmp_path / "run")
    assert not (zoo / "my-agent-encoder.safetensors").exists()
    jostle.load_agent("my-agent")
    with pytest.raises(BadValueError, match="'my-dlp' is needed by my-agent"):
        remove("my-dlp", "--yes")
    remove("my-agent", "--yes")
    remove("my-dlp", "--yes")
    assert list(registry(zoo)) == []


def test_an_agent_with_a_copy_of_its_encoder_does_not_need_it(zoo, tmp_path):
    experiment = tiny_pixels(tmp_path)
    start_run(experiment, tmp_path / "run", quiet).run()
    add("my-agent", tmp_path / "run")
    copy = zoo / "my-agent-encoder.safetensors"
    assert read_checksums(zoo)[copy.name] == file_checksum(copy)
    save_encoder(zoo / "my-dlp.safetensors", small_encoder(), {})
    remove("my-dlp", "--yes")
    jostle.load_agent("my-agent")
    remove("my-agent", "--yes")
    assert not copy.exists()


def test_a_queue_registers_in_the_users_zoo_and_checks_its_names_first(zoo, tmp_path):
    job = Job(name="three-cubes-state-dagger", train="one-cube", minutes=1, target=2.0)
    with pytest.raises(BadValueError, match="package has a model"):
        TrainingQueue([job], tmp_path / "runs", print)
    words = (
        "one-cube --method dagger --num-envs 4 --env-steps 240 --eval-every 1 --eval-episodes 2 "
        "--threads 1"
    )
    job = replace(job, name="queued", train=f"{words} --batch-size 8 --from one-cube-state")
    TrainingQueue([job], tmp_path / "runs", print, episodes=4).run_slice(job, minutes=0.0)
    assert list(registry(zoo)) == ["queued"]


def test_critics_are_added_on_request_and_trainings_start_from_them(run, zoo, tmp_path):
    command.run(["add", "mine", str(run), "--episodes", "4", "--critics"])
    assert list(agents(zoo)) == ["mine"]
    assert set(read_checksums(zoo)) == {"mine.safetensors", "mine-critics.safetensors"}
    started = start_run(tiny(axes=DAGGER), tmp_path / "new", quiet, find_weights("mine"), "all")
    assert started.components.agent.updates == 0
    remove("mine", "--yes")
    assert not list(zoo.glob("*.safetensors"))


def test_missing_critics_are_named(run, zoo, tmp_path):
    shutil.copytree(run, tmp_path / "actor-only")
    (tmp_path / "actor-only/checkpoints/best-critics.safetensors").unlink()
    with pytest.raises(BadValueError, match="no critics beside"):
        command.run(["add", "mine", str(tmp_path / "actor-only"), "--episodes", "4", "--critics"])
    assert not zoo.exists()

"""npz files of OGBench and HECRL: out, in again, and what is refused."""

import errno
import sys
import zipfile

import numpy as np
import pytest

from jostle.cli.main import main
from jostle.core.errors import BadValueError
from jostle.exporting.npz_export import export_npz
from jostle.exporting.npz_files import NpzWriter
from jostle.exporting.npz_import import import_npz
from jostle.exporting.options import ImportOptions, NpzOptions
from jostle.recordings.reader import RecordedEpisodes


@pytest.mark.parametrize(
    ("recording", "layout"), [("states", "ogbench"), ("pixels", "ogbench"), ("pixels", "hecrl")]
)
def test_what_is_exported_comes_back(recording, layout, request, tmp_path):
    recorded = request.getfixturevalue(recording)
    (file,) = export_npz(recorded, tmp_path, NpzOptions(layout=layout))
    count = import_npz(file, tmp_path / "back", ImportOptions(task=recorded.task))
    back = RecordedEpisodes(tmp_path / "back")
    back.verify()
    assert count == len(back) == len(recorded)
    images = {"frames", "goal_frames"} if layout == "ogbench" else set()
    assert set(back.streams) == set(recorded.streams) - images
    for stream in back.streams:
        np.testing.assert_array_equal(back.read(stream), recorded.read(stream), err_msg=stream)
    for column in ("seed", "success", "average_distance", "average_return"):
        np.testing.assert_allclose(back.table[column], recorded.table[column], rtol=1e-5)


def test_transitions_are_where_ogbench_expects_them(states, tmp_path):
    (file,) = export_npz(states, tmp_path, NpzOptions())
    data = np.load(file)
    assert data["observations"].shape == (6 * 8, 9)
    # A row is followed by its successor unless it is the last of an episode
    starts = np.flatnonzero(data["terminals"] == 0)
    episode, step = starts // 8, starts % 8
    observation = states.read("observation").reshape(6, 8, -1)
    np.testing.assert_array_equal(data["observations"][starts], observation[episode, step])
    np.testing.assert_array_equal(data["observations"][starts + 1], observation[episode, step + 1])
    np.testing.assert_array_equal(data["actions"][starts], states.read("action")[episode, step])
    assert len(starts) == 6 * 7


def test_images_are_where_hecrl_expects_them(pixels, tmp_path):
    (file,) = export_npz(pixels, tmp_path, NpzOptions(layout="hecrl"))
    data = np.load(file)
    assert (data["observations"].shape, data["observations"].dtype) == ((18, 2, 32, 32, 3), "uint8")
    assert (data["state_observations"].shape, data["terminals"].dtype) == ((18, 6), "bool")
    assert int(np.nonzero(data["terminals"])[0][0]) + 1 == 6  # rows of an episode
    assert data["goal_images"].shape == (3, 2, 32, 32, 3)  # once per episode


def test_the_last_episodes_are_for_validation(states, tmp_path):
    train, val = export_npz(states, tmp_path, NpzOptions(val_fraction=1 / 3, name="cubes"))
    assert (train.name, val.name) == ("cubes.npz", "cubes-val.npz")
    np.testing.assert_array_equal(np.load(train)["seeds"], states.table["seed"][:4])
    np.testing.assert_array_equal(np.load(val)["seeds"], states.table["seed"][4:])


def test_images_are_needed_for_hecrl(states, tmp_path):
    with pytest.raises(BadValueError, match="has no images"):
        export_npz(states, tmp_path, NpzOptions(layout="hecrl"))


def arrays(**changes):
    """A file of two episodes of three steps of one cube, as another program would write it."""
    rng = np.random.default_rng(0)
    content = {
        "observations": rng.uniform(-0.1, 0.1, (8, 6)).astype(np.float32),
        "actions": rng.uniform(-1, 1, (8, 3)).astype(np.float32),
        "terminals": np.tile([0.0, 0.0, 0.0, 1.0], 2),
    }
    content |= changes
    return {name: value for name, value in content.items() if value is not None}


def test_without_goals_an_episode_reaches_its_own_end(tmp_path):
    np.savez(tmp_path / "file.npz", **arrays(qpos=np.zeros((8, 20))))
    assert import_npz(tmp_path / "file.npz", tmp_path / "out", ImportOptions(task="OneCube")) == 2
    recorded = RecordedEpisodes(tmp_path / "out")
    for index, episode in enumerate(recorded):
        rows = arrays()["observations"][4 * index : 4 * index + 4].reshape(4, 2, 3)
        np.testing.assert_array_equal(episode.observation, rows)
        np.testing.assert_array_equal(episode.desired_goal, rows[-1, 1:, :2])
        assert episode.success[-1]
        assert episode.metrics["success"] == 1
        assert episode.reward[-1] == 0
        assert episode.seed == -1
    assert recorded.agents == ("import of file.npz",)


def test_views_without_goal_images_end_with_the_goal(tmp_path):
    frames = np.random.default_rng(0).integers(0, 255, (8, 1, 16, 16, 3)).astype(np.uint8)
    content = arrays()
    content |= {"state_observations": content["observations"], "observations": frames}
    np.savez_compressed(tmp_path / "file.npz", **content)
    options = ImportOptions(task="OneCube", cameras=("front",))
    import_npz(tmp_path / "file.npz", tmp_path / "out", options)
    episode = RecordedEpisodes(tmp_path / "out")[1]
    np.testing.assert_array_equal(episode.frames["front"], frames[4:, 0])
    np.testing.assert_array_equal(episode.goal_frames["front"], frames[-1, 0])


PUZZLE = {"observations": np.zeros((8, 28), np.float32), "actions": np.zeros((8, 5), np.float32)}


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (arrays(**PUZZLE), "of another environment: its 'actions' have 5 numbers, and those of"),
        (arrays(observations=np.zeros((8, 9))), "'observations' have 9 numbers"),
        (arrays(observations=np.full((8, 6), 3.0)), "'observations' exceed the limits of"),
        (arrays(actions=np.full((8, 3), np.nan)), "'actions' exceed the limits of"),
        (arrays(actions=np.zeros((7, 3))), r"'actions' of .* has the shape \(7, 3\)"),
        (arrays(terminals=np.eye(8)[7] + np.eye(8)[2]), "episodes of 2 to 4 steps"),
        (arrays(terminals=np.zeros(8)), "does not end with an episode"),
        (arrays(terminals=np.ones(8)), "episodes without any step"),
        (arrays(terminals=None), "has no 'terminals', which files of OGBench and HECRL have"),
        (arrays(observations=np.zeros((8, 2, 9, 9, 3))), "no 'state_observations'"),
        (
            arrays(observations=np.zeros((8, 3, 9, 9, 3)), state_observations=np.zeros((8, 6))),
            r"have the shape \(3, 9, 9, 3\) instead of \(2, side, side, 3\)",
        ),
        (arrays(desired_goals=np.zeros((8, 2))), "has 8 rows for 2 episodes: one each"),
        (arrays(actions=np.array([{}] * 8, object)), "is no npz file that can be read"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_by_one_sentence(content, sentence, tmp_path):
    np.savez(tmp_path / "file.npz", **content)
    with pytest.raises(BadValueError, match=sentence):
        import_npz(tmp_path / "file.npz", tmp_path / "out", ImportOptions(task="OneCube"))
    assert [path.name for path in tmp_path.iterdir()] == ["file.npz"]


def test_a_damaged_file_leaves_nothing(tmp_path):
    np.savez(tmp_path / "file.npz", **arrays())
    with zipfile.ZipFile(tmp_path / "cut.npz", "w") as cut:
        whole = zipfile.ZipFile(tmp_path / "file.npz")
        for name in whole.namelist():
            data = whole.read(name)
            cut.writestr(name, data[:-20] if name == "actions.npy" else data)
    (tmp_path / "text.npz").write_text("text")
    for name, sentence in (("cut", "cut off"), ("text", "is no npz file"), ("no", "is no npz")):
        with pytest.raises(BadValueError, match=sentence):
            import_npz(tmp_path / f"{name}.npz", tmp_path / "out", ImportOptions(task="OneCube"))
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / ".out.part").exists()


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), None])
def test_a_full_disk_or_an_interruption_leaves_nothing(
    error, states, tmp_path, monkeypatch, capsys
):
    write = NpzWriter.write

    def fail(self, name, rows, parts):
        write(self, name, rows, parts)
        if name == "actions":
            raise error or KeyboardInterrupt

    monkeypatch.setattr(NpzWriter, "write", fail)
    words = ["export", "npz", str(states.folder), "--out", str(tmp_path / "deep" / "out")]
    monkeypatch.setattr(sys, "argv", ["jostle", *words])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == (1 if error else 130)
    assert ("No space left" if error else "stopped") in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_the_commands_print_where_the_episodes_are(states, tmp_path, monkeypatch, capsys):
    def jostle(*words):
        monkeypatch.setattr(sys, "argv", ["jostle", *map(str, words)])
        with pytest.raises(SystemExit) as stopped:
            main()
        captured = capsys.readouterr()
        return stopped.value.code, captured.out + captured.err

    out, back = tmp_path / "npz", tmp_path / "back"
    code, text = jostle("export", "npz", states.folder, "--out", out)
    assert (code, text) == (0, f"6 episodes of TwoCubes in {out}: recording.npz\n")
    file = out / "recording.npz"
    code, text = jostle("import", file, "--task", "two-cubes", "--out", back)
    assert (code, text) == (0, f"6 episodes of two-cubes in {back}\n")
    code, text = jostle("import", file, "--task", "two-cubes", "--out", back)
    assert code == 2
    assert "exists already" in text
    code, text = jostle("import", file, "--task", "tow-cubes", "--out", tmp_path / "new")
    assert code == 2
    assert "TwoCubes" in text

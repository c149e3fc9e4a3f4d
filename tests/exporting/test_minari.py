"""A Minari dataset holds what was recorded, and knows the environment."""

import os
from importlib import import_module

import numpy as np
import pytest

minari = pytest.importorskip("minari")
pytest.importorskip("h5py")

from jostle.core.errors import BadValueError  # noqa: E402
from jostle.exporting.minari_export import export_minari  # noqa: E402
from jostle.exporting.options import MinariOptions  # noqa: E402


@pytest.mark.parametrize("recording", ["states", "pixels"])
def test_a_dataset_holds_what_was_recorded(recording, request, tmp_path, monkeypatch):
    recorded = request.getfixturevalue(recording)
    folder = export_minari(recorded, tmp_path, MinariOptions())
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    (name,) = minari.list_local_datasets()
    assert folder == tmp_path / name
    dataset = minari.load_dataset(name)
    assert dataset.total_episodes == len(recorded)
    assert dataset.total_steps == len(recorded) * recorded.steps
    for expected, episode in zip(recorded, dataset, strict=True):
        seen = episode.observations
        assert set(seen) == {"observation", "achieved_goal", "desired_goal", *recorded.cameras}
        np.testing.assert_array_equal(seen["observation"], expected.observation)
        np.testing.assert_array_equal(seen["achieved_goal"], expected.achieved_goal)
        assert (seen["desired_goal"] == expected.desired_goal).all()
        np.testing.assert_array_equal(episode.actions, expected.action)
        np.testing.assert_array_equal(episode.rewards, expected.reward)
        assert not episode.terminations.any()
        np.testing.assert_array_equal(episode.truncations, np.eye(recorded.steps)[-1])
        for camera in recorded.cameras:
            np.testing.assert_array_equal(seen[camera], expected.frames[camera])
            goal = episode.infos[f"goal_{camera}"]
            np.testing.assert_array_equal(goal, expected.goal_frames[camera][None])


def test_the_environment_is_recovered_and_starts_the_same_episodes(pixels, tmp_path, monkeypatch):
    name = "jostle/cube/images-v3"
    export_minari(pixels, tmp_path, MinariOptions(id=name))
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    dataset = minari.load_dataset(name)
    env = dataset.recover_environment()
    assert env.spec.id == "jostle/OneCube-v0"
    (metadata,) = dataset.storage.get_episode_metadata([1])
    observation, _ = env.reset(seed=metadata["seed"])
    for key, values in dataset[1].observations.items():
        np.testing.assert_array_equal(observation[key], values[0])
    env.close()


def test_images_by_jpeg_are_smaller_and_almost_the_same(pixels, tmp_path, monkeypatch):
    sizes = []
    for jpeg in (False, True):
        folder = export_minari(pixels, tmp_path, MinariOptions(id=f"cube{jpeg}-v0", jpeg=jpeg))
        sizes.append((folder / "data" / "main_data.hdf5").stat().st_size)
    assert sizes[1] < sizes[0]
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    frames = minari.load_dataset("cubeTrue-v0")[0].observations["front"]
    assert np.abs(frames.astype(float) - pixels[0].frames["front"]).mean() < 8


def test_a_dataset_is_never_replaced(states, tmp_path):
    folder = export_minari(states, tmp_path, MinariOptions(id="cubes-v0"))
    before = (folder / "data" / "main_data.hdf5").read_bytes()
    with pytest.raises(BadValueError, match="exists already"):
        export_minari(states, tmp_path, MinariOptions(id="cubes-v0"))
    assert (folder / "data" / "main_data.hdf5").read_bytes() == before
    export_minari(states, tmp_path, MinariOptions(id="cubes-v1"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cubes-v0", "cubes-v1"]


@pytest.mark.parametrize("name", ["../evil-v0", "no version", "/absolute-v0", "cubes"])
def test_a_name_that_minari_does_not_take_is_refused(name, states, tmp_path):
    with pytest.raises(BadValueError, match="is no name of a Minari dataset"):
        export_minari(states, tmp_path, MinariOptions(id=name))


def test_an_interruption_leaves_nothing(states, tmp_path, monkeypatch):
    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.delenv("MINARI_DATASETS_PATH", raising=False)
    storage = import_module("minari.dataset.minari_storage").MinariStorage
    monkeypatch.setattr(storage, "update_metadata", interrupt)
    with pytest.raises(KeyboardInterrupt):
        export_minari(states, tmp_path / "root", MinariOptions())
    assert list(tmp_path.iterdir()) == []
    assert "MINARI_DATASETS_PATH" not in os.environ

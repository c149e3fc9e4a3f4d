"""Recordings: what is written is what happened, once, completely, and in any number of parts."""

import errno
import json

import numpy as np
import pytest

from jostle.core.errors import BadValueError, FramesError, UnknownNameError
from jostle.envs.vector import TabletopVectorEnv
from jostle.frames.array_files import ArrayFile
from jostle.recordings.reader import RecordedEpisodes
from jostle.rollout.policy_mix import assign_episodes
from recorded import record


def arrays(folder):
    return {path.name: path.read_bytes() for path in folder.glob("*.npy")}


def test_an_episode_is_played_again_by_its_seed_and_actions(tmp_path):
    record(tmp_path, 6)
    recorded = RecordedEpisodes(tmp_path)
    env = TabletopVectorEnv(1, recorded.task, autoreset_mode="Disabled", threads=1)
    for episode in (recorded[0], recorded[5]):
        observation, infos = env.reset(seed=episode.seed)
        assert (observation["desired_goal"][0] == episode.desired_goal).all()
        for step, action in enumerate(episode.action):
            assert (observation["observation"][0] == episode.observation[step]).all()
            assert infos["is_success"][0] == episode.success[step]
            observation, rewards, _, _, infos = env.step(action[None])
            assert rewards[0] == episode.reward[step]
            assert (observation["achieved_goal"][0] == episode.achieved_goal[step + 1]).all()
        for name, value in episode.metrics.items():
            assert np.float32(infos[name][0]) == np.float32(value)
    env.close()


def test_parts_and_the_whole_are_the_same_bytes(tmp_path):
    record(tmp_path / "whole", 10)
    record(tmp_path / "parts", 3)
    record(tmp_path / "parts", 10)
    whole, parts = (RecordedEpisodes(tmp_path / name) for name in ("whole", "parts"))
    assert len(whole) == len(parts) == 10
    assert (whole.table == parts.table).all()
    for stream in whole.streams:
        assert (whole.read(stream) == parts.read(stream)).all()


def test_a_killed_recording_goes_on_with_the_same_bytes(tmp_path):
    class KilledError(Exception):
        pass

    recorded = []

    def kill(episodes):
        recorded.append(episodes)
        if sum(recorded) > 4:
            raise KilledError

    record(tmp_path / "whole", 10)
    with pytest.raises(KilledError):
        record(tmp_path / "killed", 10, report=kill)
    assert len(RecordedEpisodes(tmp_path / "killed")) == 4
    assert not list((tmp_path / "killed").glob(".*.part"))
    (tmp_path / "killed" / "00001-action.npy").write_bytes(b"left by a power failure")
    record(tmp_path / "killed", 10)
    assert arrays(tmp_path / "killed") == arrays(tmp_path / "whole")
    digests = [RecordedEpisodes(tmp_path / name).digest for name in ("whole", "killed")]
    assert digests[0] == digests[1]


def test_a_full_disk_leaves_complete_shards_and_a_sentence(tmp_path, monkeypatch):
    record(tmp_path, 4)
    before = arrays(tmp_path)
    write, written = ArrayFile.write, [0]

    def write_until_full(self, data):
        written[0] += len(data)
        if written[0] > 2000:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(self, data)

    with monkeypatch.context() as patch:
        patch.setattr(ArrayFile, "write", write_until_full)
        with pytest.raises(FramesError, match="The disk is full"):
            record(tmp_path, 10)
    assert arrays(tmp_path) == before
    assert not list(tmp_path.glob(".*.part"))
    assert record(tmp_path, 10) == 10


def test_a_recording_that_does_not_fit_the_disk_does_not_start(tmp_path):
    with pytest.raises(FramesError, match="needs"):
        record(tmp_path / "out", 10**12)
    assert not (tmp_path / "out" / "manifest.json").exists()


def test_damaged_files_are_refused(tmp_path):
    record(tmp_path, 4)
    path = tmp_path / "00000-action.npy"
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(FramesError, match="damaged"):
        RecordedEpisodes(tmp_path).verify()
    path.write_bytes(content[:-1])
    with pytest.raises(FramesError, match="bytes instead of"):
        RecordedEpisodes(tmp_path)
    path.unlink()
    with pytest.raises(FramesError, match="missing"):
        RecordedEpisodes(tmp_path)


def test_folders_without_a_recording_are_named(tmp_path):
    with pytest.raises(FramesError, match="no such folder"):
        RecordedEpisodes(tmp_path / "nowhere")
    (tmp_path / "manifest.json").write_text(json.dumps({"format": 1, "layout": {}}))
    with pytest.raises(FramesError, match="jostle collect"):
        RecordedEpisodes(tmp_path)
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(FramesError, match="not the manifest of a recording"):
        RecordedEpisodes(tmp_path)


@pytest.mark.parametrize(
    ("field", "value"), [("epsilon", 0.5), ("seed", 7), ("steps", 6), ("num_envs", 2)]
)
def test_another_recording_is_not_added_to_a_folder(tmp_path, field, value):
    record(tmp_path, 4)
    with pytest.raises(BadValueError, match=field):
        record(tmp_path, 8, **{field: value})


@pytest.mark.parametrize("shares", [(1.0,), (1.0, 1.0), (1.0, 2.0), (0.1, 0.6, 0.3)])
def test_shares_hold_at_every_length(shares):
    weights = np.array(shares) / sum(shares)
    assigned = assign_episodes(shares, 200)
    for length in range(1, 201):
        counts = np.bincount(assigned[:length], minlength=len(shares))
        assert (np.abs(counts - weights * length) <= 1).all()


def test_an_unknown_stream_is_named(tmp_path):
    record(tmp_path, 4)
    with pytest.raises(UnknownNameError, match="Did you mean 'action'"):
        RecordedEpisodes(tmp_path).read("actions")


def test_frames_are_stored_with_goal_images_once(tmp_path):
    options = {"obs_type": "both", "cameras": ("front",), "image_size": 16}
    record(tmp_path, 2, env_kwargs=options, frames=True, num_envs=2, steps=2)
    recorded = RecordedEpisodes(tmp_path)
    episode = recorded[1]
    assert recorded.cameras == ("front",)
    assert episode.frames["front"].shape == (3, 16, 16, 3)
    assert episode.goal_frames["front"].shape == (16, 16, 3)
    env = TabletopVectorEnv(
        1, recorded.task, autoreset_mode="Disabled", threads=1, **recorded.env_kwargs
    )
    observation, _ = env.reset(seed=episode.seed)
    env.close()
    assert (observation["front"][0] == episode.frames["front"][0]).all()
    assert (observation["goal_front"][0] == episode.goal_frames["front"]).all()


def test_torch_datasets_show_episodes_and_transitions(tmp_path):
    pytest.importorskip("torch")
    from torch.utils.data import DataLoader

    from jostle.recordings.torch_datasets import EpisodeDataset, TransitionDataset

    record(tmp_path, 5)
    recorded = RecordedEpisodes(tmp_path)
    episodes, transitions = EpisodeDataset(recorded), TransitionDataset(recorded)
    assert len(episodes) == 5
    assert len(transitions) == 25
    assert episodes[3]["observation"].shape == (6, 3, 3)
    one = transitions[3 * 5 + 2]
    assert (one["observation"] == episodes[3]["observation"][2]).all()
    assert (one["next_observation"] == episodes[3]["observation"][3]).all()
    assert (one["action"] == episodes[3]["action"][2]).all()
    assert (one["desired_goal"] == episodes[3]["desired_goal"]).all()
    batch = next(iter(DataLoader(transitions, batch_size=8)))
    assert batch["next_achieved_goal"].shape == (8, 2, 2)
    with pytest.raises(IndexError):
        transitions[25]

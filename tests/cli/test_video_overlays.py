"""Videos of pixel agents, and their overlays."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")
imageio = pytest.importorskip("imageio.v2")

from jostle.agents.td3 import PixelSensor  # noqa: E402
from jostle.agents.weights import net_tensors  # noqa: E402
from jostle.cli.video import OVERLAYS, VideoConfig, make_video  # noqa: E402
from jostle.core.checkpoint import save  # noqa: E402
from jostle.core.errors import BadValueError, UnknownNameError  # noqa: E402
from jostle.encoders.catalog import EncoderModel  # noqa: E402
from jostle.encoders.dlp import DLP  # noqa: E402
from jostle.encoders.dlp_config import LITE_DLP  # noqa: E402
from jostle.encoders.saving import encoder_reference, save_encoder  # noqa: E402
from jostle.encoders.slot_config import LITE_SLOTS  # noqa: E402
from jostle.encoders.slots import SlotModel  # noqa: E402
from jostle.encoders.vae import VAE  # noqa: E402
from jostle.encoders.vae_config import LITE_VAE  # noqa: E402
from jostle.nets.config import MLP_NET  # noqa: E402
from jostle.presets.axes import Axes  # noqa: E402
from jostle.presets.experiments import make_experiment  # noqa: E402
from jostle.rollout.recording import VideoRenderer, record  # noqa: E402
from jostle.runs.run_dir import encoder_file  # noqa: E402
from jostle.training.components import make_agent, make_env  # noqa: E402
from jostle.training.observers import make_observer  # noqa: E402
from jostle.zoo.agents import load_policy, required_env_kwargs  # noqa: E402

PIXEL_OVERLAYS = [name for name in OVERLAYS if name != "none"]


def untrained(path, encoder: EncoderModel, **changes) -> str:
    """Write an untrained agent and its encoder beside it."""
    base = make_experiment("one-cube", Axes(obs="pixels", method="dagger"))
    small = replace(base.training, num_envs=1, threads=1)
    net = base.net
    if not isinstance(encoder, DLP):  # only particles have positions
        net = replace(net, table_xy=False, relative_positions=0)
    experiment = replace(base, **{"training": small, "net": net} | changes)
    sensor = PixelSensor(encoder.requires_grad_(False).eval(), experiment.cameras)
    env = make_env(experiment, 1, encoder)
    agent = make_agent(experiment, make_observer(experiment.net, env, None, sensor), None, sensor)
    env.close()
    reference = encoder_reference(path.stem, encoder)
    save(path, net_tensors(agent), {"experiment": experiment.to_dict(), "encoder": reference})
    save_encoder(encoder_file(path), encoder, {})
    return str(path)


def small_encoder() -> DLP:
    torch.manual_seed(0)
    return DLP(replace(LITE_DLP, num_particles=6, num_proposals=6))


@pytest.fixture(scope="module")
def agent(tmp_path_factory) -> str:
    return untrained(tmp_path_factory.mktemp("agent") / "agent.safetensors", small_encoder())


def record_video(agent: str, out, overlay: str = "none", **options):
    """A short video, its frames and its recording."""
    options = {"size": 48, "steps": 2, "format": "gif", **options}
    video, sheet, (recording,) = make_video(
        VideoConfig(task="TwoCubes", agent=(agent,), out=out, overlay=overlay, **options)
    )
    assert sheet.stat().st_size > 1000
    return video, imageio.mimread(video), recording


def test_every_overlay_gives_a_different_video(agent, tmp_path):
    plain, frames, first = record_video(agent, tmp_path)
    assert len(frames) == 3
    videos = {plain: np.stack(frames)}
    for overlay in PIXEL_OVERLAYS:
        video, frames, recording = record_video(agent, tmp_path, overlay)
        assert len(frames) == 3
        assert (recording.distances == first.distances).all(), "overlays do not change the episode"
        others = [other for other in videos.values() if other.shape == np.shape(frames)]
        assert all((other != frames).any() for other in others), overlay
        videos[video] = np.stack(frames)
    assert len(videos) == len(OVERLAYS)


def test_overlays_work_as_mp4_in_any_size(agent, tmp_path):
    video, _, _ = record_video(agent, tmp_path, "attention", format="mp4", size=63, steps=1)
    assert sum(1 for _ in imageio.get_reader(video)) == 2


def test_the_frames_of_the_agent_do_not_depend_on_those_of_the_video(agent, make_env):
    def run(size: int, cameras: tuple[str, ...], ghosts: bool):
        env = make_env(1, "TwoCubes", autoreset_mode="Disabled", **required_env_kwargs(agent))
        renderer, steps = VideoRenderer(env, size, cameras, ghosts), []
        recording = record(env, load_policy(agent, env), 2, 0, renderer, steps.append)[0]
        renderer.close()
        return recording, [step.observation for step in steps]

    small, small_steps = run(40, ("hero",), ghosts=True)
    large, large_steps = run(96, ("front", "side"), ghosts=False)
    assert small.views["hero"].shape == (3, 40, 40, 3)
    assert large.goals["front"].shape == (96, 96, 3)
    for left, right in zip(small_steps, large_steps, strict=True):
        assert left["front"].shape == (1, 128, 128, 3)
        assert all((left[name] == right[name]).all() for name in left)


def test_slots_can_be_drawn_but_vectors_have_no_positions(tmp_path):
    torch.manual_seed(0)
    slots = untrained(tmp_path / "slots.safetensors", SlotModel(LITE_SLOTS))
    _, frames, _ = record_video(slots, tmp_path, "attention", steps=1)
    assert len(frames) == 2
    vector = untrained(tmp_path / "vector.safetensors", VAE(LITE_VAE))
    assert len(record_video(vector, tmp_path, steps=1)[1]) == 2
    with pytest.raises(BadValueError, match="one vector per image"):
        record_video(vector, tmp_path, "particles")


@pytest.mark.parametrize("overlay", PIXEL_OVERLAYS)
@pytest.mark.parametrize("state_agent", ["oracle", "one-cube-state"])
def test_overlays_need_a_pixel_agent(state_agent, overlay, tmp_path):
    with pytest.raises(BadValueError, match=f"'{state_agent}' observes true state"):
        record_video(state_agent, tmp_path, overlay)
    assert not list(tmp_path.iterdir())


def test_attention_needs_a_network_with_pooling(tmp_path):
    flat = untrained(tmp_path / "flat.safetensors", small_encoder(), net=MLP_NET)
    with pytest.raises(BadValueError, match="does not pool"):
        record_video(flat, tmp_path, "attention")
    assert len(record_video(flat, tmp_path, "particles", steps=1)[1]) == 2


def test_an_unknown_overlay_is_answered_with_a_suggestion(agent, tmp_path):
    with pytest.raises(UnknownNameError, match="Did you mean 'attention'"):
        record_video(agent, tmp_path, "atention")

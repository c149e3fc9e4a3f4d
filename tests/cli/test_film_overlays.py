"""Films of agents that see, and what can be drawn over them."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")
imageio = pytest.importorskip("imageio.v2")

from jostle.agents.saving import weights  # noqa: E402
from jostle.cli.film import OVERLAYS, FilmConfig, make_film  # noqa: E402
from jostle.core.checkpoint import save  # noqa: E402
from jostle.core.errors import BadValueError, UnknownNameError  # noqa: E402
from jostle.nets.config import MLP_NET  # noqa: E402
from jostle.particles.catalog import Model  # noqa: E402
from jostle.particles.config import LITE_DLP  # noqa: E402
from jostle.particles.dlp import DLP  # noqa: E402
from jostle.particles.saving import describe, tensors_of  # noqa: E402
from jostle.particles.slots import LITE_SLOTS, SlotModel  # noqa: E402
from jostle.particles.vae import LITE_VAE, VAE  # noqa: E402
from jostle.presets.catalog import PRESETS  # noqa: E402
from jostle.rollout.footage import FilmCamera, shoot  # noqa: E402
from jostle.training.workshop import open_workshop  # noqa: E402
from jostle.zoo.agents import agent_for, what_it_reads  # noqa: E402

SEEING = [name for name in OVERLAYS if name != "none"]


def untrained(path, eyes: Model, **changes) -> str:
    """Write an agent with `eyes` that has learned nothing, as a run would."""
    preset = PRESETS["one-cube-pixels-distill"]
    small = replace(preset.training, copies=1, threads=1)
    net = replace(preset.net, ground=isinstance(eyes, DLP))  # only particles have places
    experiment = replace(preset, **{"training": small, "net": net} | changes)
    agent = open_workshop(experiment, eyes.requires_grad_(False).eval()).agent
    meta = {"experiment": experiment.to_dict(), "eyes": describe(eyes)}
    save(path, weights(agent) | tensors_of(eyes), meta)
    return str(path)


def small_eyes() -> DLP:
    torch.manual_seed(0)
    return DLP(replace(LITE_DLP, particles=6, proposals=6))


@pytest.fixture(scope="module")
def agent(tmp_path_factory) -> str:
    return untrained(tmp_path_factory.mktemp("agent") / "sees.safetensors", small_eyes())


def filmed(agent: str, out, overlay: str = "none", **options):
    """Every frame of a short film."""
    told = {"size": 48, "steps": 2, "kind": "gif", **options}
    film, contact, footage = make_film(
        FilmConfig(task="TwoCubes", agent=agent, out=out, overlay=overlay, **told)
    )
    assert contact.stat().st_size > 1000
    return film, imageio.mimread(film), footage


def test_every_overlay_makes_a_film_of_its_own(agent, tmp_path):
    plain, frames, first = filmed(agent, tmp_path)
    assert len(frames) == 3
    seen = {plain: np.stack(frames)}
    for overlay in SEEING:
        film, frames, footage = filmed(agent, tmp_path, overlay)
        assert len(frames) == 3
        assert (footage.distances == first.distances).all(), "drawing changes nothing"
        others = [one for one in seen.values() if one.shape == np.shape(frames)]
        assert all((one != frames).any() for one in others), overlay
        seen[film] = np.stack(frames)
    assert len(seen) == len(OVERLAYS)


def test_overlays_can_be_filmed_as_mp4_in_any_size(agent, tmp_path):
    film, _, _ = filmed(agent, tmp_path, "attention", kind="mp4", size=63, steps=1)
    assert sum(1 for _ in imageio.get_reader(film)) == 2


def test_an_agent_is_shown_the_frames_it_was_trained_on_whatever_viewers_see(agent, make_env):
    def shot(size: int, shadows: bool):
        env = make_env(1, "TwoCubes", autoreset_mode="Disabled", **what_it_reads(agent))
        camera, steps = FilmCamera(env, size, shadows), []
        footage = shoot(env, agent_for(agent, env), 2, 0, camera, steps.append)[0]
        camera.close()
        return footage, [step.observation for step in steps]

    small, one = shot(40, shadows=False)
    large, two = shot(96, shadows=True)
    assert small.views["side"].shape == (3, 40, 40, 3)
    assert large.goals["front"].shape == (96, 96, 3)
    for left, right in zip(one, two, strict=True):
        assert left["front"].shape == (1, 128, 128, 3)
        assert all((left[name] == right[name]).all() for name in left)
    same, three = shot(128, shadows=False)
    for name in ("front", "side"):
        assert (same.goals[name] == three[0][f"goal_{name}"][0]).all()
        assert all((same.views[name][at] == seen[name][0]).all() for at, seen in enumerate(three))


def test_slots_are_drawn_too_and_vectors_have_no_place(tmp_path):
    torch.manual_seed(0)
    slots = untrained(tmp_path / "slots.safetensors", SlotModel(LITE_SLOTS))
    _, frames, _ = filmed(slots, tmp_path, "attention", steps=1)
    assert len(frames) == 2
    vector = untrained(tmp_path / "vector.safetensors", VAE(LITE_VAE))
    assert len(filmed(vector, tmp_path, steps=1)[1]) == 2
    with pytest.raises(BadValueError, match="one vector an image"):
        filmed(vector, tmp_path, "particles")


@pytest.mark.parametrize("overlay", SEEING)
@pytest.mark.parametrize("blind", ["oracle", "one-cube-state"])
def test_overlays_need_an_agent_that_sees(blind, overlay, tmp_path):
    with pytest.raises(BadValueError, match=f"'{blind}' reads true state"):
        filmed(blind, tmp_path, overlay)
    assert not list(tmp_path.iterdir())


def test_attention_needs_a_network_that_pools(tmp_path):
    flat = untrained(tmp_path / "flat.safetensors", small_eyes(), net=MLP_NET)
    with pytest.raises(BadValueError, match="does not pool"):
        filmed(flat, tmp_path, "attention")
    assert len(filmed(flat, tmp_path, "particles", steps=1)[1]) == 2


def test_a_word_that_is_no_overlay_is_answered_with_the_nearest(agent, tmp_path):
    with pytest.raises(UnknownNameError, match="Did you mean 'attention'"):
        filmed(agent, tmp_path, "atention")

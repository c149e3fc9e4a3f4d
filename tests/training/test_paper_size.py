"""`--size paper`: what the original's networks get to see."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from experiments import quiet, small_encoder, tiny, tiny_pixels  # noqa: E402
from jostle.core.entities import OPACITY, Entities  # noqa: E402
from jostle.core.errors import BadValueError  # noqa: E402
from jostle.encoders.catalog import show_all_particles  # noqa: E402
from jostle.encoders.saving import save_encoder  # noqa: E402
from jostle.presets.axes import Axes  # noqa: E402
from jostle.presets.experiments import make_experiment  # noqa: E402
from jostle.training.load import load_agent  # noqa: E402
from jostle.training.start import resume_run, start_run  # noqa: E402

PAPER = Axes(method="td3", size="paper")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A tiny training from pixels, and its folder."""
    folder = tmp_path_factory.mktemp("paper")
    experiment = tiny_pixels(folder, method="td3", size="paper")
    encoder = small_encoder()  # opacities of an untrained encoder are all the same
    torch.nn.init.normal_(encoder.encoder.attributes.glimpse_encoder.head.weight)
    save_encoder(folder / "encoder.safetensors", encoder, {})
    trainer = start_run(experiment, folder / "run", quiet)
    trainer.run()
    return trainer, folder / "run"


def seen(trainer) -> Entities:
    """Everything that the normalizer was shown: all steps but the last, as a batch of sets."""
    states = trainer.components.buffer.view().actor.states
    return states.map(lambda x: x[:, :-1].reshape(-1, *x.shape[2:])).to_torch()


def test_all_particles_are_encoded_whatever_their_opacity():
    encoder = small_encoder(32)
    frames = torch.randint(0, 255, (3, 2, 32, 32, 3), dtype=torch.uint8)
    particles, entities = encoder.particles(frames), show_all_particles(encoder).encode(frames)
    assert entities.visible.all()
    assert torch.equal(entities.values, particles.values)
    assert encoder.layout.width == entities.values.shape[-1] - 1, "the original is left alone"


def test_the_normalizer_counts_all_particles(trained):
    trainer, _ = trained
    rows = seen(trainer).values.flatten(0, 2).double()
    normalizer = trainer.components.agent.normalizer
    assert float(normalizer.count) == pytest.approx(len(rows))
    torch.testing.assert_close(normalizer.mean, rows.mean(0), rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(
        normalizer.variance, rows.var(0, unbiased=False), rtol=1e-5, atol=1e-6
    )


def test_particles_below_the_mean_opacity_are_hidden_and_opacity_is_no_feature(trained):
    trainer, _ = trained
    agent, states = trainer.components.agent, seen(trainer)
    opacity = states.values[..., agent.spec.layout[OPACITY].start]
    normalized = agent.normalizer(states)
    assert torch.equal(normalized.visible, opacity >= agent.normalizer.mean[-1].float())
    assert 0 < normalized.visible.float().mean() < 1
    assert normalized.values.shape[-1] == states.values.shape[-1] - 1 == 9
    assert agent.actor.trunk.embed_state.weight.shape[-1] == 9


def test_hidden_particles_change_neither_actions_nor_values(trained):
    agent, states = trained[0].components.agent, seen(trained[0])
    hidden = ~agent.normalizer(states).visible

    def outputs(state: Entities, goal: Entities) -> tuple[torch.Tensor, ...]:
        state, goal = agent.normalizer(state), agent.normalizer(goal)
        with torch.no_grad():
            actions = agent.actor(state, goal)
            return actions, agent.critics(state, goal, torch.zeros_like(actions))

    def changed(where: torch.Tensor) -> Entities:
        other = torch.randn(states.values.shape, generator=torch.Generator().manual_seed(0))
        other[..., -1] = states.values[..., -1]  # the opacity stays
        return Entities(torch.where(where[..., None], other, states.values), states.visible)

    expected = outputs(states, states)
    for result, same in zip(outputs(changed(hidden), changed(hidden)), expected, strict=True):
        assert torch.equal(result, same)
    for result, same in zip(outputs(changed(~hidden), states), expected, strict=True):
        assert not torch.allclose(result, same)


def test_such_an_agent_is_loaded_and_resumed_with_the_same_particles(trained):
    trainer, folder = trained
    agent, states = trainer.components.agent, seen(trainer)
    expected = agent.act(states, states)
    _, loaded = load_agent(folder / "checkpoints/final.safetensors")
    resumed = resume_run(folder, quiet).components.agent
    for other in (loaded, resumed):
        assert other.sensor.encoder.layout == agent.sensor.encoder.layout
        np.testing.assert_array_equal(other.act(states, states), expected)


def test_attention_of_hidden_particles_is_zero(trained):
    agent, states = trained[0].components.agent, seen(trained[0])
    weights = agent.attention(states, states)
    assert (weights[~agent.normalizer(states).visible.numpy()] == 0).all()


@pytest.mark.parametrize("task", ["one-cube", "push-2t"])
@pytest.mark.parametrize("arch", ["eit", "mlp", "smorl"])
def test_the_papers_state_is_trained_on_with_every_architecture(task, arch, tmp_path):
    experiment = tiny(
        task, replace(PAPER, arch=arch), horizon=30, env_steps=4 * 30 * 3, eval_every=3
    )
    trainer = start_run(experiment, tmp_path / "run", quiet)
    trainer.run()
    spec = trainer.components.agent.spec
    assert spec.goal[1] == (1 if arch == "smorl" else spec.state[1])
    _, loaded = load_agent(tmp_path / "run/checkpoints/final.safetensors")
    assert loaded.spec == spec


def test_only_the_papers_size_has_the_papers_inputs():
    for axes in (Axes(method="td3"), Axes(), Axes(method="td3", arch="mlp")):
        assert make_experiment("two-cubes", axes).state_features == "full"
        pixels = make_experiment("two-cubes", replace(axes, obs="pixels"))
        assert not pixels.net.mean_opacity_mask
    assert make_experiment("two-cubes", PAPER).state_features == "paper"
    assert make_experiment("two-cubes", replace(PAPER, arch="mlp")).state_features == "flat"
    paper = make_experiment("two-cubes", replace(PAPER, obs="pixels"))
    assert paper.net.mean_opacity_mask
    with pytest.raises(BadValueError, match="--no-mean-opacity-mask"):
        replace(paper, drop_attributes=("mask",))


def test_encoders_without_particles_are_left_as_they_are():
    other = object()
    assert show_all_particles(other) is other

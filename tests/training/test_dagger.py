"""DAgger: who can teach, and what is imitated."""

import pytest

torch = pytest.importorskip("torch")

from experiments import DAGGER, quiet, tiny  # noqa: E402
from jostle.core.checkpoint import load  # noqa: E402
from jostle.core.errors import UnknownNameError  # noqa: E402
from jostle.training.dagger import imitation_errors  # noqa: E402
from jostle.training.start import start_run  # noqa: E402
from jostle.zoo.agents import load_policy  # noqa: E402


def test_a_trained_agent_can_teach_and_be_the_start(tmp_path):
    start_run(tiny(), tmp_path / "teacher", quiet).run()
    experiment = tiny(axes=DAGGER, teacher=str(tmp_path / "teacher"))
    trainer = start_run(
        experiment, tmp_path / "student", quiet, tmp_path / "teacher", load_teacher=load_policy
    )
    best, _ = load(tmp_path / "teacher/checkpoints/best.safetensors")
    agent = trainer.components.agent
    for name, tensor in agent.actor.state_dict().items():
        assert torch.equal(tensor, best[f"actor.{name}"])
        assert torch.equal(agent.reference_actor.state_dict()[name], tensor)
    trainer.iterate()
    assert trainer.counters["episodes"] == 4


def test_an_unknown_teacher_is_refused_before_anything_is_written(tmp_path):
    experiment = tiny(axes=DAGGER, teacher="orakle")
    with pytest.raises(UnknownNameError, match="oracle"):
        start_run(experiment, tmp_path / "run", quiet, load_teacher=load_policy)
    assert not (tmp_path / "run").exists()


def test_of_two_possible_labels_one_is_imitated_and_not_their_mean():
    labels = torch.tensor([[1.0, 0.0, 0.0]] * 3 + [[-1.0, 0.0, 0.0]] * 2)
    candidates = torch.linspace(-1, 1, 81)

    def best(loss) -> float:
        losses = [loss(torch.tensor([x, 0.0, 0.0]).expand_as(labels)) for x in candidates]
        return float(candidates[int(torch.stack(losses).argmin())])

    assert best(lambda actions: imitation_errors(actions, labels).mean()) > 0.9
    assert abs(best(lambda actions: (actions - labels).square().mean())) < 0.3
    assert (imitation_errors(labels, labels) == 0).all()

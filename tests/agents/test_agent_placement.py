"""Agents learn on any device: batches move there, and no tensor is left behind on the CPU.

There need not be a GPU: under `FakeTensorMode` on the device `meta`, an operation that mixes
devices raises an error.
"""

import re
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from jostle.agents.config import TD3Config  # noqa: E402
from jostle.agents.networks import ObservationSpec  # noqa: E402
from jostle.agents.td3 import TD3Agent  # noqa: E402
from jostle.core.entities import Entities, EntityLayout  # noqa: E402
from jostle.nets import attention, eit, layers, trunk  # noqa: E402
from jostle.nets.config import FAST_NET, MLP_NET, PAPER_NET, SMORL_NET  # noqa: E402
from jostle.replay.batch import Batch, GoalTransition, Potential  # noqa: E402
from jostle.training.dagger import ImitationBatch, imitation_errors  # noqa: E402

META, BATCH = torch.device("meta"), 6
KERNELS = (
    (attention, "attend"), (layers, "fused_mlp"), (eit, "in_buckets"), (trunk, "in_buckets"),
)  # fmt: skip
"""Where networks call kernels for CPUs."""
STATE = EntityLayout((("position", 2), ("height", 1), ("gripper", 1), ("object_id", 12)))
PARTICLES = EntityLayout((("position", 2), ("scale", 2), ("features", 4), ("table_xy", 2)))
EVERYTHING = TD3Config(
    bc_weight=1.0, self_imitation_weight=2.0, potential_baseline=True, max_grad_norm=1.0,
    target_update="actor-step", policy_delay=1,
)  # fmt: skip


def spec(layout, views, count, goals):
    width = layout.width
    return ObservationSpec(state=(views, count, width), goal=(views, goals, width), layout=layout)


STATE_SPEC, PIXEL_SPEC = spec(STATE, 1, 4, 3), spec(PARTICLES, 2, 24, 24)
CASES = {
    "td3, paper": (PAPER_NET, TD3Config(), STATE_SPEC),
    "td3, fast, every loss": (FAST_NET, EVERYTHING, STATE_SPEC),
    "td3, values per entity": (replace(FAST_NET, values="per-entity"), EVERYTHING, STATE_SPEC),
    "td3, unstructured critics": (replace(FAST_NET, critic_arch="mlp"), EVERYTHING, STATE_SPEC),
    "td3, mlp": (MLP_NET, EVERYTHING, STATE_SPEC),
    "td3, smorl": (SMORL_NET, EVERYTHING, spec(STATE, 1, 4, 1)),
    "td3 from pixels": (replace(FAST_NET, table_xy=True), EVERYTHING, PIXEL_SPEC),
    "td3 from pixels, values per goal particle": (
        replace(FAST_NET, table_xy=True, values="per-entity"), EVERYTHING, PIXEL_SPEC,
    ),
    "td3-privileged": (
        replace(FAST_NET, table_xy=True), EVERYTHING, replace(PIXEL_SPEC, critic=STATE_SPEC),
    ),
    "td3-privileged, values per entity": (
        replace(FAST_NET, table_xy=True, values="per-entity"), EVERYTHING,
        replace(PIXEL_SPEC, critic=STATE_SPEC),
    ),
}  # fmt: skip


def entities(shape):
    values = torch.zeros(BATCH, *shape)
    return Entities(values, torch.ones(BATCH, *shape[:2], dtype=torch.bool))


def transition(seen):
    return GoalTransition(entities(seen.state), entities(seen.goal), entities(seen.state))


def make_agent(net, config, seen):
    """An agent on the device; fake modules cannot be moved, so it is built there."""
    with META:
        return TD3Agent(net, config, seen, seed=0, device=META)


def make_batch(seen, per_object=False):
    """A batch on the CPU, as the sampler makes it."""
    actor = transition(seen)
    critic = actor if seen.critic is None else transition(seen.critic)
    views, objects, _ = (seen.critic or seen).goal
    objects *= views
    numbers = torch.zeros(BATCH, objects) if per_object else torch.zeros(BATCH)
    present = torch.ones(BATCH, objects, dtype=torch.bool) if per_object else None
    potential = Potential(numbers, numbers)
    discount = torch.zeros(BATCH)
    return Batch(actor, critic, torch.zeros(BATCH, 3), numbers, discount, potential, present)


def refuse_to_run(*args, **kwargs):
    raise AssertionError("A kernel for CPUs was called.")


@pytest.fixture(autouse=True)
def copies_share_the_fake_mode(monkeypatch):
    """Target networks are deep copies; a copied mode would not mix with the original."""
    monkeypatch.setattr(FakeTensorMode, "__deepcopy__", lambda self, memo: self, raising=False)


class Operations(TorchDispatchMode):
    """Records the names of all operations."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(func.name())
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("case", CASES)
def test_updates_run_wholly_on_the_agents_device_without_kernels_for_cpus(case, monkeypatch):
    net, config, seen = CASES[case]
    for module, name in KERNELS:
        monkeypatch.setattr(module, name, refuse_to_run)
    with FakeTensorMode(), Operations() as operations:
        agent = make_agent(net, config, seen)
        for _ in range(2):
            log = agent.update(make_batch(seen, net.values == "per-entity"))
        agent.end_iteration()
        assert {value.device for value in log.values()} == {META}
        assert {p.device for p in agent.target_critics.parameters()} == {META}
    assert len(operations.names) > 100
    assert [name for name in operations.names if re.search("mkldnn|onednn|_cpu", name)] == []


def test_a_tensor_left_on_the_cpu_would_be_noticed():
    with FakeTensorMode():
        agent = make_agent(FAST_NET, EVERYTHING, STATE_SPEC)
        agent.normalizer.mean = agent.normalizer.mean.to("cpu")
        with pytest.raises(RuntimeError, match="device"):
            agent.update(make_batch(STATE_SPEC))


def test_on_the_cpu_the_same_update_runs_into_the_kernels(monkeypatch):
    for module, name in KERNELS:
        monkeypatch.setattr(module, name, refuse_to_run)
    agent = TD3Agent(FAST_NET, EVERYTHING, STATE_SPEC, seed=0)
    with pytest.raises(AssertionError, match="for CPUs"):
        agent.update(make_batch(STATE_SPEC))


def test_a_batch_moves_by_one_copy():
    with FakeTensorMode(), Operations() as operations:
        make_batch(STATE_SPEC, per_object=True).to(META)
    assert operations.names.count("aten::_to_copy") == 1


def test_an_imitation_batch_moves_by_one_copy_and_the_student_learns_there():
    net = replace(FAST_NET, aux_targets=12)
    with FakeTensorMode():
        agent = make_agent(net, TD3Config(), STATE_SPEC)
        seen = transition(STATE_SPEC)
        batch = ImitationBatch(seen.state, seen.goal, torch.zeros(BATCH, 3), torch.zeros(BATCH, 12))
        with Operations() as operations:
            batch = batch.to(META)
        assert operations.names.count("aten::_to_copy") == 1
        actions, aux = agent.predict(batch.state, batch.goal)
        loss = imitation_errors(actions, batch.labels).mean() + (aux - batch.aux_targets).mean()
        agent.step_actor(loss)
        assert {p.device for p in agent.actor.parameters()} == {META}


@pytest.mark.slow
def test_compiled_networks_learn_the_same_up_to_rounding():
    logs = []
    for compiled in ("off", "default"):
        torch.manual_seed(0)
        agent = TD3Agent(FAST_NET, replace(EVERYTHING, compile=compiled), STATE_SPEC, seed=0)
        batch = make_batch(STATE_SPEC)
        logs.append([{k: float(v) for k, v in agent.update(batch).items()} for _ in range(2)])
    for plain, compiled in zip(*logs, strict=True):
        assert compiled == pytest.approx(plain, rel=1e-3, abs=1e-5)

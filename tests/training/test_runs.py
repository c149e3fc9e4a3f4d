"""Runs: every lane trains, stops, and goes on bit by bit, even after being killed."""

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from jostle.agents.saving import load_weights  # noqa: E402
from jostle.core.checkpoint import CheckpointError, load  # noqa: E402
from jostle.core.clock import SPENT, shares  # noqa: E402
from jostle.core.errors import BadValueError, UnknownNameError  # noqa: E402
from jostle.core.rundir import RunDir  # noqa: E402
from jostle.presets.catalog import PRESETS  # noqa: E402
from jostle.rollout.approach import approach, spared  # noqa: E402
from jostle.training.distill import imitation_errors  # noqa: E402
from jostle.training.experiment import differences, read_experiment  # noqa: E402
from jostle.training.recall import recall  # noqa: E402
from jostle.training.start import AnotherExperimentError, begin, go_on  # noqa: E402
from jostle.training.workshop import make_env, policy_for  # noqa: E402
from jostle.zoo.agents import agent_for  # noqa: E402
from jostle.zoo.shelf import shelf  # noqa: E402


def tiny(name: str = "one-cube-state", **training):
    """A preset cut down to seconds."""
    preset = PRESETS[name]
    return replace(
        preset,
        td3=replace(preset.td3, batch=16),
        training=replace(
            preset.training, copies=4, env_steps=4 * 30 * 6, warmup_episodes=8, memory=2000,
            updates_per_step=0.1, examine_every=3, examine_episodes=4, save_every=2, threads=1,
            **training,
        ),
    )  # fmt: skip


def rows(folder: Path) -> list[dict]:
    """What a run told, but for the clock."""
    found = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert all(row.pop("seconds") > 0 for row in found)
    return [{key: row[key] for key in row if not key.startswith(SPENT)} for row in found]


def quiet(row) -> None:
    del row


def test_the_time_of_the_parts_is_that_of_the_rounds(tmp_path):
    begin(tiny(lane="scratch"), tmp_path / "run", quiet).run()
    told = RunDir(tmp_path / "run").rows()
    spent = sum(value for row in told for key, value in row.items() if key.startswith(SPENT))
    assert spent == pytest.approx(told[-1]["seconds"], rel=0.05)
    parts = shares(told)
    assert {"physics", "acting", "sampling", "updating", "the rest"} <= set(parts)
    assert sum(parts.values()) == pytest.approx(1.0)


@pytest.mark.parametrize("lane", ["scratch", "demos", "distill"])
def test_every_lane_trains_and_writes_a_run(lane, tmp_path):
    begin(tiny(lane=lane), tmp_path / "run", quiet).run()
    found = rows(tmp_path / "run")
    assert [row["round"] for row in found] == [1, 2, 3, 4, 5, 6]
    assert "success" in found[2]
    assert found[-1]["updates"] > 0
    assert (tmp_path / "run/checkpoints/best.safetensors").is_file()
    assert load(tmp_path / "run/checkpoints/final.safetensors")[1]["history"][0]["env_steps"] == 720
    told = json.loads((tmp_path / "run/provenance.json").read_text())
    assert told["packages"]["torch"] == torch.__version__


@pytest.mark.parametrize(
    "training", [{"lane": "scratch"}, {"lane": "distill"}, {"lane": "distill", "rehearse": 0.5}]
)
def test_a_stopped_run_goes_on_bit_by_bit(training, tmp_path):
    begin(tiny(**training), tmp_path / "whole", quiet).run()

    def stop(row) -> None:
        if row["round"] == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        begin(tiny(**training), tmp_path / "parts", stop).run()
    go_on(tmp_path / "parts", quiet).run()
    assert rows(tmp_path / "parts") == rows(tmp_path / "whole")
    (one, _), (two, _) = (
        load(tmp_path / name / "checkpoints/last.safetensors") for name in ("whole", "parts")
    )
    assert one.keys() == two.keys()
    for name in one:
        assert torch.equal(one[name], two[name]), name


def test_a_killed_run_goes_on_bit_by_bit(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from pathlib import Path\n"
        "from test_runs import tiny, quiet\n"
        "from jostle.training.start import begin, go_on\n"
        "folder = Path(sys.argv[2])\n"
        "make = go_on(folder, quiet) if folder.exists() else begin(tiny(), folder, quiet)\n"
        "make.run()\n"
    )
    here = str(Path(__file__).parent)
    command = [sys.executable, str(script), here, str(tmp_path / "killed")]
    for patience in (0.3, 0.9):  # once before, once after a checkpoint exists, or nearly so
        process = subprocess.Popen(command)
        deadline = time.monotonic() + 60
        while not (tmp_path / "killed/metrics.jsonl").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(patience)
        process.send_signal(signal.SIGKILL)
        process.wait()
    subprocess.run(command, check=True)
    subprocess.run([*command[:-1], str(tmp_path / "whole")], check=True)
    assert rows(tmp_path / "killed") == rows(tmp_path / "whole")


def test_a_changing_number_of_objects_is_learnt_from_with_masks(tmp_path):
    rounds = begin(tiny("cubes-state-distill", horizon=10), tmp_path / "run", quiet)
    for _ in range(3):
        rounds.round()
    held = rounds.shop.ring.view()
    counts = held.goals_visible.sum((1, 2))
    assert set(counts.tolist()) == {1, 2, 3}
    np.testing.assert_array_equal(held.visible[:, 0].sum((1, 2)), counts + 1)
    assert (held.goals[~held.goals_visible] == 0).all()


def test_a_curriculum_adds_an_object_whenever_the_present_ones_are_mastered(tmp_path):
    experiment = tiny("cubes-state-distill", horizon=10, curriculum=True, solved_at=0.5)
    rounds = begin(experiment, tmp_path / "run", quiet)
    rounds.round()
    assert rounds.shop.ring.view().goals_visible.sum((1, 2)).max() == 1
    rounds._rise(0.4)
    assert rounds.counters["objects"] == 1
    rounds._rise(0.6)
    assert rounds.counters["objects"] == 2
    for _ in range(3):
        rounds.round()
    assert rounds.shop.ring.view().goals_visible.sum((1, 2)).max() == 2
    rounds.save()
    again = go_on(tmp_path / "run", quiet)
    assert again.shop.env.recipe.limit == 2
    again._rise(1.0)
    again._rise(1.0)
    assert again.counters["objects"] == 3
    with pytest.raises(BadValueError, match="range of objects"):
        tiny("three-cubes-state-distill", curriculum=True)


def test_step_sizes_rise_and_fall(tmp_path):
    experiment = tiny("one-cube-state", warmup_updates=10, decay=0.5)
    rounds = begin(experiment, tmp_path / "run", quiet)
    agent, total = rounds.shop.agent, experiment.training.env_steps

    def pace(updates: int, steps: float) -> float:
        agent.updates, rounds.counters["env_steps"] = updates, int(steps)
        rounds.pace()
        (one,), (two,) = agent.actor_optimizer.param_groups, agent.critic_optimizer.param_groups
        assert one["lr"] == two["lr"]
        return one["lr"] / experiment.td3.lr

    assert pace(0, 0) == pytest.approx(0.1)
    assert pace(100, total * 0.5) == pytest.approx(1.0)
    assert pace(100, total * 0.75) == pytest.approx(0.5)
    assert pace(100, total) == pytest.approx(0.05)


def test_a_learned_agent_can_teach_and_be_the_start(tmp_path):
    begin(tiny(), tmp_path / "teacher", quiet).run()
    experiment = tiny(lane="distill", teacher=str(tmp_path / "teacher"))
    rounds = begin(experiment, tmp_path / "student", quiet, tmp_path / "teacher", agent_for)
    best, _ = load(tmp_path / "teacher/checkpoints/best.safetensors")
    for name, tensor in rounds.shop.agent.actor.state_dict().items():
        assert torch.equal(tensor, best[f"actor.{name}"])
        assert torch.equal(rounds.shop.agent.anchor.state_dict()[name], tensor)
    rounds.round()
    assert rounds.counters["episodes"] == 4
    with pytest.raises(UnknownNameError, match="oracle"):
        begin(tiny(lane="distill", teacher="orakle"), tmp_path / "no", quiet, find=agent_for)
    assert not (tmp_path / "no").exists()


def test_smorl_trains_on_one_object_at_a_time_and_goes_on_bit_by_bit(tmp_path):
    experiment = tiny("two-cubes-state-smorl")
    begin(experiment, tmp_path / "whole", quiet).run()

    def stop(row) -> None:
        if row["round"] == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        begin(experiment, tmp_path / "parts", stop).run()
    rounds = go_on(tmp_path / "parts", quiet)
    rounds.run()
    assert rows(tmp_path / "parts") == rows(tmp_path / "whole")
    held = rounds.shop.ring.view()
    assert held.achieved.shape[2] == held.desired.shape[1] == held.goals.shape[2] == 1
    # The first object of a state is the one the goal is about: same place, same name.
    np.testing.assert_array_equal(held.states[:, :, 0, 1, :2], held.achieved[:, :, 0])
    np.testing.assert_array_equal(held.states[:, 0, 0, 1, 4:], held.goals[:, 0, 0, 4:])
    assert len(np.unique(held.states[:, 0, 0, 2, 4:], axis=0)) > 2


def test_the_meta_policy_turns_to_objects_that_are_not_home(tmp_path):
    rounds = begin(tiny("three-cubes-state-smorl"), tmp_path / "run", quiet)
    env = make_env(rounds.experiment, 2)
    policy = policy_for(rounds.shop.agent, env)
    observation, _ = env.reset(seed=0)
    observation["achieved_goal"][0, 1] = observation["desired_goal"][0, 1]  # the second is home
    for _ in range(16):
        policy.act(observation)
    assert policy._observer.chosen.tolist() == [2, 1]
    policy.restart()
    assert policy._observer.chosen.tolist() == [0, 0]


def test_a_run_is_never_written_over(tmp_path):
    begin(tiny(), tmp_path / "run", quiet)
    with pytest.raises(BadValueError, match="--resume"):
        begin(tiny(), tmp_path / "run", quiet)


def test_resuming_as_something_else_names_the_fields(tmp_path):
    begin(tiny(), tmp_path / "run", quiet)
    other = replace(tiny(), seed=3, td3=replace(tiny().td3, gamma=0.5))
    with pytest.raises(AnotherExperimentError, match="seed: 0 there, 3 here") as caught:
        go_on(tmp_path / "run", quiet, other)
    assert "td3.gamma" in str(caught.value)


def test_experiments_survive_json():
    for preset in PRESETS.values():
        again = read_experiment(json.loads(json.dumps(preset.to_dict())))
        assert differences(preset, again) == []
    with pytest.raises(KeyError, match="Did you mean 'gamma'"):
        read_experiment({**tiny().to_dict(), "td3": {"gama": 0.9}})


def test_an_anchor_needs_weights_to_begin_with(tmp_path):
    plain = tiny("one-cube-state-finetune")
    with pytest.raises(BadValueError, match="--from"):
        begin(plain, tmp_path / "run", quiet)
    assert not (tmp_path / "run").exists()
    zoo = shelf()["one-cube-state"].weights
    rounds = begin(plain, tmp_path / "run", quiet, weights=zoo)
    rounds.run()
    agent = rounds.shop.agent
    assert agent.restless == plain.explore.restless > 0
    history = load(tmp_path / "run/checkpoints/final.safetensors")[1]["history"]
    assert [chapter["lane"] for chapter in history] == ["distill", "fine-tuning"]
    told = recall(zoo)[1].actor.state_dict()
    for name, tensor in agent.actor.state_dict().items():  # it rests longer than this run lasts
        assert torch.equal(tensor, told[name]), name


def test_a_deeper_network_begins_where_a_shallower_one_ended(tmp_path):
    plain = tiny("one-cube-state-distill")
    first = begin(plain, tmp_path / "one", quiet)
    first.run()
    deeper = replace(plain, net=replace(plain.net, rounds=2))
    best = tmp_path / "one/checkpoints/best.safetensors"
    rounds = begin(deeper, tmp_path / "two", quiet, weights=best)
    agent, batch = rounds.shop.agent, first.shop.sampler.sample(32)
    state, goal = agent.normalizer(batch.state), agent.normalizer(batch.goal)
    before = recall(best)[1].actor(state, goal)
    torch.testing.assert_close(agent.actor(state, goal), before)
    rounds.run()
    after = recall(tmp_path / "two/checkpoints/best.safetensors")[1]
    assert after.net.rounds == 2
    assert (after.actor(state, goal) - before).abs().max() > 1e-3
    with pytest.raises(CheckpointError, match="lack"):  # only a beginning may add blocks
        load_weights(agent, load(best)[0])
    with pytest.raises(CheckpointError, match="hold more than fits"):
        begin(plain, tmp_path / "three", quiet, tmp_path / "two/checkpoints/best.safetensors")


def test_weights_carry_over_to_another_number_of_objects(tmp_path):
    begin(tiny(), tmp_path / "one", quiet).run()
    best = tmp_path / "one/checkpoints/best.safetensors"
    three = replace(tiny("three-cubes-state-distill"), task="TwoCubes")
    rounds = begin(three, tmp_path / "two", quiet, weights=best)
    given = load(best)[0]
    for name, weight in rounds.shop.agent.actor.state_dict().items():
        assert torch.equal(weight, given[f"actor.{name}"])
    rounds.round()


def test_an_approach_reaches_the_object_and_pushes_it(tmp_path):
    rounds = begin(tiny("three-cubes-state"), tmp_path / "run", quiet)
    env = rounds.shop.env
    observation, _ = env.reset(seed=3)
    before = observation["achieved_goal"].copy()
    chosen = np.array([0, 1, 2, 0])
    for _ in range(12):
        actions = approach(observation["observation"], chosen)
        assert np.abs(actions).max() <= 1
        observation, *_ = env.step(actions)
    moved = np.linalg.norm(observation["achieved_goal"] - before, axis=-1)
    assert (moved[np.arange(4), chosen] > 0.02).all()


def test_objects_about_to_be_pushed_over_the_edge_are_spared():
    rows = np.zeros((1, 4, 3), np.float32)
    rows[0, 1:, 0] = 0.1, 0.2, -0.2  # the gripper in the middle, heading outward
    edge = np.array([0.25, 0.3], np.float32)
    assert spared(rows, edge).tolist() == [[True, False, False]]
    rows[0, 0, 0] = 0.4  # from beyond the edge, two of them would be pushed inward
    assert spared(rows, edge).tolist() == [[True, True, False]]


def test_the_teachers_either_or_is_imitated_as_one_of_the_two():
    labels = torch.tensor([[1.0, 0.0, 0.0]] * 3 + [[-1.0, 0.0, 0.0]] * 2)
    tries = torch.linspace(-1, 1, 81)

    def best(loss) -> float:
        losses = [loss(torch.tensor([x, 0.0, 0.0]).expand_as(labels)) for x in tries]
        return float(tries[int(torch.stack(losses).argmin())])

    assert best(lambda a: imitation_errors(a, labels).mean()) > 0.9
    assert abs(best(lambda a: (a - labels).square().mean())) < 0.3
    assert (imitation_errors(labels, labels) == 0).all()

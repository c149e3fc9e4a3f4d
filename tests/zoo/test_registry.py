"""Every model of the zoo has a card, is small, loads, and performs as its card says."""

import re

import pytest

torch = pytest.importorskip("torch")

from model_cards import check_encoder_card  # noqa: E402

from jostle.envs.vector import TabletopVectorEnv  # noqa: E402
from jostle.evaluation.evaluate import evaluate  # noqa: E402
from jostle.evaluation.scores import digest, read_scores  # noqa: E402
from jostle.tasks.vary import parse_vary  # noqa: E402
from jostle.training.components import make_env, make_policy  # noqa: E402
from jostle.zoo.agents import load_zoo_agent  # noqa: E402
from jostle.zoo.registry import (  # noqa: E402
    agents,
    encoders,
    learned_alone,
    read_meta,
    registry,
)


def load_with_env(name: str, num_envs: int):
    """An agent, and environments of its own task."""
    experiment, agent = load_zoo_agent(name)
    encoder = None if agent.sensor is None else agent.sensor.encoder
    return agent, make_env(experiment, num_envs, encoder)


@pytest.mark.parametrize("name", registry())
def test_models_are_small_and_have_a_card(name):
    entry = registry()[name]
    assert entry.headline().startswith(name)
    assert entry.size() < 15 * 2**20


@pytest.mark.parametrize("name", encoders())
def test_encoders_perform_as_their_cards_say(name, tmp_path):
    check_encoder_card(registry()[name], tmp_path)


@pytest.mark.parametrize("name", agents())
def test_agents_load_and_act(name):
    agent, env = load_with_env(name, 2)
    observation, _ = env.reset(seed=0)
    assert make_policy(agent, env).act(observation).shape == (2, 3)


QUICK = ("cubes-pixels-dagger-colors-long",)
"""Pixel agents whose cards are checked at every run; those of the others are by 'make slow'."""


@pytest.mark.parametrize(
    "name",
    [
        name if "state" in name or name in QUICK else pytest.param(name, marks=pytest.mark.slow)
        for name in agents()
    ],
)
def test_agents_perform_as_their_cards_say(name):
    episodes = 40 if "state" in name else 20  # images take long
    agent, env = load_with_env(name, episodes)
    stated = re.search(r"\| success \| ([0-9.]+) \[", registry()[name].card.read_text())
    assert stated is not None
    success = evaluate(env, make_policy(agent, env), name, episodes).mean("success")
    assert success > float(stated.group(1)) - 0.2


@pytest.mark.parametrize("name", agents())
def test_score_files_match_weights_and_card(name):
    entry = registry()[name]
    scores = read_scores(entry.weights.with_suffix(".json"))
    for row in scores.values():  # the oldest agents have none
        assert (row["agent"], row["weights"]) == (name, digest(entry.weights))
        assert f"| success | {row['success']:.3f} [" in entry.card.read_text()


def test_cards_evaluate_in_the_scenes_that_an_agent_learned_in():
    varied = {}
    for name, entry in agents().items():
        if vary := read_meta(entry.weights)["experiment"].get("vary"):
            varied[name] = str(parse_vary(vary))
            command = f" --vary {varied[name]} --episodes"
            assert command in entry.card.read_text()
            scores = read_scores(entry.weights.with_suffix(".json"))
            assert {row["vary"] for row in scores.values()} == {varied[name]}
    assert "three-cubes-state-td3-varied" in varied


@pytest.mark.parametrize("name", agents())
def test_teachers_are_named_without_a_path(name):
    assert "/" not in read_meta(agents()[name].weights)["experiment"]["training"]["teacher"]


def test_an_agent_of_three_cubes_generalizes_to_one():
    _, agent = load_zoo_agent("three-cubes-state-dagger")
    env = TabletopVectorEnv(40, "OneCube", autoreset_mode="Disabled")
    assert (
        evaluate(env, make_policy(agent, env), "three-cubes-state-dagger", 40).mean("success") > 0.8
    )


def test_cards_say_on_top_who_learned_without_a_teacher():
    alone = {name for name, entry in agents().items() if learned_alone(history_of(entry))}
    assert {"three-cubes-state-td3", "one-cube-state-td3"} <= alone
    for name, entry in agents().items():
        first = entry.card.read_text().split("|---|---|\n")[1].splitlines()[0]
        assert (first == "| teacher | none at any stage |") == (name in alone)


def history_of(entry) -> list[dict]:
    """The trainings of an agent's weights."""
    return read_meta(entry.weights).get("history", [])

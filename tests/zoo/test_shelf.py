"""Every set of weights on the shelf has a card, is small, loads, and does what its card says."""

import re

import pytest

torch = pytest.importorskip("torch")

from promises import hold_encoder_to_card  # noqa: E402

from jostle.envs.vector import TabletopVectorEnv  # noqa: E402
from jostle.evaluation.examine import examine  # noqa: E402
from jostle.evaluation.scores import digest, read_scores  # noqa: E402
from jostle.training.recall import recall  # noqa: E402
from jostle.training.workshop import make_env, policy_for  # noqa: E402
from jostle.zoo.shelf import agents, encoders, shelf  # noqa: E402


@pytest.mark.parametrize("name", shelf())
def test_weights_are_small_and_have_a_card(name):
    entry = shelf()[name]
    assert entry.headline().startswith(name)
    assert entry.size() < 15 * 2**20


@pytest.mark.parametrize("name", encoders())
def test_encoders_see_as_well_as_their_card_says(name, tmp_path):
    hold_encoder_to_card(shelf()[name], tmp_path)


@pytest.mark.parametrize("name", agents())
def test_agents_load_and_act(name):
    entry = shelf()[name]
    experiment, agent = recall(entry.weights)
    env = make_env(experiment, 2)
    observation, _ = env.reset(seed=0)
    assert policy_for(agent, env).act(observation).shape == (2, 3)


@pytest.mark.parametrize("name", agents())
def test_agents_do_what_their_card_says(name):
    weights = shelf()[name].weights
    experiment, agent = recall(weights)
    told = re.search(r"\| success \| ([0-9.]+) \[", shelf()[name].card.read_text())
    assert told is not None
    env = make_env(experiment, 40)
    success = examine(env, policy_for(agent, env), name, 40).mean("success")
    assert success > float(told.group(1)) - 0.2


@pytest.mark.parametrize("name", agents())
def test_scores_beside_weights_are_of_these_weights_and_those_of_the_card(name):
    entry = shelf()[name]
    scores = read_scores(entry.weights.with_suffix(".json"))
    for row in scores.values():  # agents of older cards have none
        assert (row["agent"], row["weights"]) == (name, digest(entry.weights))
        assert f"| success | {row['success']:.3f} [" in entry.card.read_text()


def test_what_was_learnt_with_three_cubes_carries_over_to_one():
    _, agent = recall(shelf()["three-cubes-state"].weights)
    env = TabletopVectorEnv(40, "OneCube", autoreset_mode="Disabled")
    assert examine(env, policy_for(agent, env), "three-cubes-state", 40).mean("success") > 0.8

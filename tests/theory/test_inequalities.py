"""Searches for violations of every inequality of the paper's theory, and of those we add.

`target` leads the search towards instances in which the error comes close to the bound. Attention
spans nine orders of magnitude, values the whole range that a statement allows.
"""

import numpy as np
import pytest

pytest.importorskip("hypothesis")

from hypothesis import HealthCheck, given, settings, target
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from jostle.theory import bounds
from jostle.theory.models import (
    AttentionQ,
    DeepSetsQ,
    all_sets,
    delta,
    delta_everywhere,
    epsilon,
    largest_error,
    object_epsilon,
    separation,
    total_variation,
)

search = settings(
    max_examples=100,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
SLACK = 1e-9
"""For rounding."""
TOP = bounds.top_value(0.9)
logs = st.floats(-10, 10, width=32)
SIZES = [(2, 3), (3, 4), (3, 5), (4, 7), (2, 5), (3, 7)]
"""M and N; the last two are beyond the range M < N < 2M of the paper."""
FROM_THREE = [pair for pair in SIZES if pair[0] >= 3]


@st.composite
def pairs(draw, sizes=SIZES, separated=False, learned_values=None):
    """M, N and two Q-functions of Assumption 1 over N states, close to each other or not."""
    trained, used = draw(st.sampled_from(sizes))
    start = draw(arrays(float, (used, used), elements=logs))
    change = draw(arrays(float, (used, used), elements=logs)) * draw(
        st.sampled_from([1.0, 0.1, 1e-3])
    )
    v = draw(arrays(float, used, elements=st.floats(0, TOP)))
    if separated:
        v = np.sort(v) / 4 + np.arange(used) * draw(st.sampled_from([0.05, 0.5]))
    elements = st.floats(-1, 1) if learned_values is None else learned_values
    shift = draw(arrays(float, used, elements=elements)) * draw(st.sampled_from([1.0, 1e-2, 0.0]))
    learned = v + shift if learned_values is not None else np.clip(v + shift, 0, TOP)
    return (
        trained,
        used,
        AttentionQ(np.exp(start + change), learned),
        AttentionQ(np.exp(start), v),
    )


def close(ratio):
    """Lead the search to ratios near one, and refuse those above."""
    target(float(ratio))
    assert ratio <= 1 + 1e-6


def ratio(error, bound):
    return (error - SLACK) / max(bound, SLACK)


@search
@given(pairs(FROM_THREE))
def test_theorem_1_holds_from_three_objects_on_by_another_proof(pair):
    trained, used, learned, optimal = pair
    single, dlt = largest_error(learned, optimal, 1), delta(learned, optimal, trained)
    bound = bounds.own_bound(single, dlt, trained, used, TOP)
    close(ratio(largest_error(learned, optimal, used), bound))
    if used < 2 * trained:
        eps = epsilon(learned, optimal, trained)
        assert bound <= bounds.paper_bound(eps, dlt, used, TOP) + SLACK


@search
@given(pairs(learned_values=st.floats(-30, 30)))
def test_weights_that_are_close_everywhere_give_a_smaller_bound_for_all_numbers_of_objects(pair):
    trained, used, learned, optimal = pair
    error = largest_error(learned, optimal, used)
    single, dlt = largest_error(learned, optimal, 1), delta_everywhere(learned, optimal, trained)
    bound = bounds.sharper_bound(single, dlt, trained, used, TOP)
    close(ratio(error, bound))
    assert bound <= bounds.paper_bound(single, dlt, used, TOP) + SLACK


@search
@given(pairs())
def test_the_lemma_on_weights_holds_and_a_sharper_one_for_every_number_of_objects(pair):
    trained, used, learned, optimal = pair
    sets = all_sets(used, used)
    difference = np.abs(learned.weights(sets) - optimal.weights(sets)).max()
    dlt = delta_everywhere(learned, optimal, trained)
    close(ratio(difference, bounds.weight_bound(dlt, trained, used)))
    if used < 2 * trained:
        assert bounds.weight_bound(dlt, trained, used) <= bounds.paper_weight_bound(dlt) + SLACK


@search
@given(pairs())
def test_total_variation_grows_at_most_linearly_if_weights_are_close_everywhere(pair):
    trained, used, learned, optimal = pair
    dlt = delta_everywhere(learned, optimal, trained)
    variation = total_variation(learned, optimal, used)
    close(ratio(variation, bounds.variation_bound(dlt, trained, used)))


@search
@given(pairs(FROM_THREE))
def test_total_variation_grows_at_most_quadratically_if_they_are_close_in_own_sets(pair):
    trained, used, learned, optimal = pair
    dlt = delta(learned, optimal, trained)
    variation = total_variation(learned, optimal, used)
    close(ratio(variation, bounds.own_variation_bound(dlt, trained, used)))


numbers = st.floats(0, 10)


@search
@given(numbers, numbers, numbers, numbers)
def test_the_lemma_on_products_holds_with_at_most_instead_of_less(alpha, beta, v, u):
    bound = bounds.product_bound(alpha + beta, v + u, abs(v - u), abs(alpha - beta))
    close(ratio(abs(alpha * v - beta * u), bound))


@search
@given(pairs())
def test_the_lemma_on_averages_holds_with_half_of_its_second_term(pair):
    _, used, learned, optimal = pair
    sets = all_sets(used, used)
    dlt = np.abs(learned.weights(sets) - optimal.weights(sets)).max()
    eps = largest_error(learned, optimal, 1)
    error = np.abs(learned.object_values(sets) - optimal.object_values(sets)).max()
    close(ratio(error, bounds.average_bound(eps, dlt, used, TOP)))
    assert bounds.average_bound(eps, dlt, used, TOP) <= bounds.paper_average_bound(
        eps, dlt, used, TOP
    )


@search
@given(pairs(separated=True))
def test_the_lemma_on_attention_holds_for_the_error_of_objects(pair):
    trained, _, learned, optimal = pair
    eps = object_epsilon(learned, optimal, trained)
    bound = bounds.paper_attention_bound(eps, separation(optimal.v))
    close(ratio(delta(learned, optimal, trained), bound))


@search
@given(pairs(FROM_THREE, separated=True))
def test_the_extension_holds_from_three_objects_on_for_the_error_of_objects(pair):
    trained, used, learned, optimal = pair
    eps = object_epsilon(learned, optimal, trained)
    bound = bounds.paper_extension_bound(eps, separation(optimal.v), used, TOP)
    close(ratio(largest_error(learned, optimal, used), bound))


@search
@given(pairs(FROM_THREE, learned_values=st.floats(-30, 30)))
def test_the_error_of_objects_alone_bounds_that_with_more_objects(pair):
    trained, used, learned, optimal = pair
    eps = object_epsilon(learned, optimal, trained)
    sets = all_sets(used, used)
    error = np.abs(learned.object_values(sets) - optimal.object_values(sets)).max()
    close(ratio(error, bounds.object_bound(eps, trained, used)))
    assert largest_error(learned, optimal, used) <= error + SLACK


@search
@given(arrays(float, 6, elements=st.floats(-50, 50)), arrays(float, 6, elements=st.floats(-50, 50)))
def test_deep_sets_generalize_to_every_number_of_objects(v, other):
    first, second = DeepSetsQ(v), DeepSetsQ(other)
    error = max(largest_error(first, second, size) for size in range(2, 7))
    close(ratio(error, bounds.deep_sets_bound(largest_error(first, second, 1))))

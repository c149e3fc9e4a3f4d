"""The numbers of `jostle theory` that need no simulator, ready for JSON."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np

from jostle.theory import bounds
from jostle.theory.instances import Instance, extension_instances, weak_self_attention
from jostle.theory.models import (
    AttentionQ,
    TruncatedQ,
    delta,
    delta_everywhere,
    epsilon,
    largest_error,
)
from jostle.theory.search import heavy_and_light, worst_weights

_DELTA = 0.01
"""Difference of attention weights in the study of growth."""


def growth(trained: int = 3, used: int = 8, random_pairs: int = 200) -> list[dict[str, Any]]:
    """Errors and bounds over the number of objects, at about equal δ, relative to the range.

    `worst` is one heavy state and many light ones, `typical` the median over random Q-functions.
    """
    learned, optimal = heavy_and_light(used, trained, _DELTA)
    eps, dlt = epsilon(learned, optimal, trained), delta(learned, optimal, trained)
    rng = np.random.default_rng(0)
    pairs = [_random_pair(used, trained, rng) for _ in range(random_pairs)]
    rows = []
    for count in range(1, used + 1):
        row = {
            "objects": count,
            "worst": largest_error(learned, optimal, count),
            "typical": float(np.median([largest_error(*pair, count) for pair in pairs])),
        }
        if count >= trained:
            row |= {
                "paper": bounds.paper_bound(eps, dlt, count, 1.0),
                "own": bounds.own_bound(0.0, dlt, trained, count, 1.0),
                "sharper": bounds.sharper_bound(0.0, dlt, trained, count, 1.0),
            }
        rows.append(row)
    return rows


def tightness(sizes: tuple[int, ...] = (2, 3, 4, 5), restarts: int = 2) -> list[dict[str, Any]]:
    """The largest error that a search finds with 2M - 1 objects, and the bounds, per δ."""
    rows = []
    for trained in sizes:
        used = 2 * trained - 1
        runs = [worst_weights(trained, used, np.random.default_rng(s)) for s in range(restarts)]
        heavy = largest_error(*heavy_and_light(used, trained, 1e-5), used) / 1e-5
        own = bounds.own_bound(0, 1, trained, used, 1) if trained >= 3 else None
        rows.append(
            {
                "trained": trained,
                "objects": used,
                "found": max(heavy, *(ratio for ratio, _, _ in runs)),
                "sharper": bounds.sharper_bound(0, 1, trained, used, 1),
                "own": own,
                "paper": bounds.paper_bound(0, 1, used, 1),
            }
        )
    return rows


def broken() -> dict[str, Any]:
    """What happens without an assumption, or in spite of all of them."""
    own_attention = []
    for own in np.logspace(0, -6, 13):
        instance = weak_self_attention(float(own))
        bound = bounds.paper_bound(instance.epsilon, instance.delta, 3, 1.0)
        own_attention.append({"own": float(own), "error": instance.error, "paper": bound})
    return {
        "theorem_1": own_attention,
        "theorem_1_instance": _described(weak_self_attention()),
        "extension": [_described(instance) for instance in extension_instances()],
        "truncated": _truncated(),
        "negative": _negative(),
    }


def toy(progress: Callable[[str], None], updates: int, sets: int = 4000) -> list[dict[str, Any]]:
    """Critics of the exact form, trained on the turntable; bounds from their own ε and δ."""
    from jostle.theory.turntable import Turntable, measure_critic, train_critic

    mdp, rows = Turntable(), []
    for trained in (2, 3):
        for per_object in (False, True):
            progress(f"toy critic, M = {trained}, {'objects' if per_object else 'mean'}")
            critic = train_critic(mdp, trained, per_object, updates=updates)
            errors = measure_critic(mdp, critic, trained, per_object, 9, sets)
            rows.append({**asdict(errors), "top": mdp.top, "updates": updates})
    return rows


def _described(instance: Instance) -> dict[str, Any]:
    """An instance with its numbers."""
    used, top = instance.trained + 1, 1.0
    learned, optimal = instance.learned, instance.optimal
    return {
        "trained": instance.trained,
        "v": optimal.v.tolist(),
        "learned": learned.alpha.tolist(),
        "optimal": optimal.alpha.tolist(),
        "epsilon": instance.epsilon,
        "delta": instance.delta,
        "delta_everywhere": delta_everywhere(learned, optimal, instance.trained),
        "separation": float(instance.separation),
        "error": instance.error,
        "theorem_1": bounds.paper_bound(instance.epsilon, instance.delta, used, top),
        "extension": (
            bounds.paper_extension_bound(instance.epsilon, instance.separation, used, top)
            if instance.separation > 0
            else None
        ),
    }


def _random_pair(
    states: int, trained: int, rng: np.random.Generator
) -> tuple[AttentionQ, AttentionQ]:
    """Two random Q-functions of equal values in [0, 1] whose attention differs by about δ."""
    logs, change = rng.normal(size=(2, states, states))
    v = rng.random(states)
    optimal = AttentionQ(np.exp(logs), v)
    scale = 0.02
    for _ in range(3):  # δ is nearly linear in small changes
        learned = AttentionQ(np.exp(logs + scale * change), v)
        scale *= _DELTA / delta(learned, optimal, trained)
    return learned, optimal


def _truncated(states: int = 8) -> list[dict[str, float]]:
    """The paper's counter-example: keeps two objects, fits up to two."""
    attention = AttentionQ(np.ones((states, states)), np.linspace(0.1, 1, states))
    q = TruncatedQ(attention)
    return [{"objects": n, "error": largest_error(q, attention, n)} for n in range(1, states + 1)]


def _negative() -> list[dict[str, float]]:
    """Attention that may be negative: three weights 1, 1 and -c sum to 2 - c, which can vanish.

    In pairs all sums stay away from zero; both Q-functions differ by a hundredth in one weight.
    """
    rows = []
    for c in (0.5, 1.5, 1.9, 1.96, 1.98):
        v, weights = np.array([1.0, 0.0, 0.0]), np.array([1.0, 1.0, -c])
        other = weights + np.array([0.01, 0.0, 0.0])
        sets = [[0], [1], [2], [0, 1], [0, 2], [1, 2], [0, 1, 2]]
        errors = [
            abs(other[s] @ v[s] / other[s].sum() - weights[s] @ v[s] / weights[s].sum())
            for s in sets
        ]
        rows.append(
            {"sum": 2 - c, "up_to_two": float(max(errors[:-1])), "three": float(errors[-1])}
        )
    return rows

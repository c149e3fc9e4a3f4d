"""Random sets of particles, and a slow Chamfer reward that shares no code with ours."""

import numpy as np

from jostle.rewards.particle_sets import ParticleSet


def random_set(rng: np.random.Generator, count: int, shape=(5, 2), kept=0.7) -> ParticleSet:
    """Particles (B, V, count), of which at least the first of each view is kept."""
    mask = rng.random((*shape, count)) < kept
    mask[..., :1] = True
    return ParticleSet(
        rng.uniform(-1, 1, (*shape, count, 2)), 1.5 * rng.normal(size=(*shape, count, 4)), mask
    )


def slow_chamfer(state: ParticleSet, goal: ParticleSet, variant: str, threshold: float) -> float:
    """Reward of one sample, particle by particle; scale 2."""
    views = []
    for view in range(len(state.kept)):
        sides = []
        for particles in (state, goal):
            rows = np.flatnonzero(particles.kept[view])
            sides.append(
                [(particles.positions[view, k], particles.features[view, k]) for k in rows]
            )
        if not sides[0] or not sides[1]:
            views.append(-1.0)
        else:
            there = _slow_direction(sides[0], sides[1], variant, threshold)
            views.append((there + _slow_direction(sides[1], sides[0], variant, threshold)) / 2)
    return 2 * sum(views) / len(views)


def _slow_direction(source: list, target: list, variant: str, threshold: float) -> float:
    groups: dict[int, list[float]] = {}
    unmatched = 0
    for position, features in source:
        gaps = [float(((features - other) ** 2).sum()) for _, other in target]
        best = gaps.index(min(gaps))
        if gaps[best] > threshold:
            unmatched += 1
        else:
            distance = float(np.abs(position - target[best][0]).sum())
            groups.setdefault(best, []).append(distance)
    if variant == "plain":
        matched = sum(sum(group) for group in groups.values())
        return -(matched + unmatched) / len(source)
    total = sum(sum(group) / (len(group) + 1e-6) for group in groups.values())
    penalty = 1 if unmatched else 0
    if variant == "gdac-code":
        return -(total + penalty) / (len(groups) + penalty)
    return -(total / len(groups) if groups else 0.0) - penalty

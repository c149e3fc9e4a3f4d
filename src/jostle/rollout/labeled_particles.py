"""Particles beside what the segmentation of their images shows there: the truth that judges.

Shapes: E episodes, T steps, V views, K particles.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jostle.core.entities import Entities
from jostle.core.particles import pixel_positions
from jostle.core.protocols import Observation, Policy
from jostle.envs.vector import TabletopVectorEnv
from jostle.pixels.labels import ARM, FIRST_OBJECT
from jostle.pixels.render_pool import RenderPool
from jostle.rollout.collector import stack_steps
from jostle.rollout.pixel_observer import PixelObserver
from jostle.rollout.rollout import Step, rollout
from jostle.scene.build import compile_scene

_RANDOM_FRACTION = 0.3
"""Fraction of random actions of the policy that judged episodes are played by."""


@dataclass(frozen=True)
class LabeledParticles:
    """Particles of episodes, and the label of the pixel under each."""

    particles: Entities
    """As an observer sees them, (E, T+1, V, K, D)."""
    labels: NDArray[np.uint8]
    """Labels of `jostle.pixels.labels`, (E, T+1, V, K)."""

    @property
    def judged(self) -> NDArray[np.bool_]:
        """Visible particles whose center lies on an object or on the arm, (E, T+1, V, K)."""
        judged: NDArray[np.bool_] = self.particles.visible & (self.labels >= ARM)
        return judged

    @property
    def on_object(self) -> NDArray[np.bool_]:
        """Particles whose center lies on an object, (E, T+1, V, K)."""
        on_object: NDArray[np.bool_] = self.labels >= FIRST_OBJECT
        return on_object


class RandomlyDisturbed:
    """A policy of which some actions are replaced by random ones."""

    def __init__(self, policy: Policy, seed: int) -> None:
        """Disturb `policy`."""
        self._policy, self._rng = policy, np.random.default_rng(seed)

    def act(self, observation: Observation) -> NDArray[np.float32]:
        """Choose actions, (B, A)."""
        actions = self._policy.act(observation)
        uniform = self._rng.uniform(-1, 1, actions.shape).astype(np.float32)
        random = self._rng.random((len(actions), 1)) < _RANDOM_FRACTION
        return np.where(random, uniform, actions).astype(np.float32)


def watch_labeled(
    env: TabletopVectorEnv,
    observer: PixelObserver,
    policy: Policy,
    steps: int,
    seed: int,
    on_step: Callable[[Step], None] | None = None,
) -> LabeledParticles:
    """Play an episode per environment, and look at the segmentation of every image.

    `on_step` is called with every step, as `rollout` calls it.
    """
    size, cameras = env.options.size, len(env.episode_sampler.appearance.cameras)
    pool = RenderPool(compile_scene(env.episode_sampler.scene), cameras, size, 1)
    seen: list[Entities] = []
    labels: list[NDArray[np.uint8]] = []

    def watch(step: Step) -> None:
        seen.append(observer.state(step.observation))
        masks = pool.render_labels(env.render_requests())  # (E, V, H, W)
        labels.append(labels_at(seen[-1], masks))
        if on_step is not None:
            on_step(step)

    try:
        rollout(env, policy, steps, seed=seed, on_step=watch)
    finally:
        pool.close()
    return LabeledParticles(stack_steps(seen), np.stack(labels, 1))


def labels_at(particles: Entities, masks: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Label of the pixel under each particle (B, V, K, D) in masks (B, V, H, W): (B, V, K)."""
    side = masks.shape[-1]
    pixels = np.clip(pixel_positions(particles.values, side).astype(int), 0, side - 1)
    batch, view = np.ogrid[: masks.shape[0], : masks.shape[1]]
    return masks[batch[..., None], view[..., None], pixels[..., 1], pixels[..., 0]]

"""The simulation behind the page, without threads: one episode that is played and edited."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from jostle.core.errors import DivergedWarning, JostleError, require
from jostle.core.protocols import Policy
from jostle.playground import edits
from jostle.playground.footprints import check_place
from jostle.playground.live_env import LiveEnv
from jostle.playground.memory import release_free_memory
from jostle.playground.setup import AgentLoader, PlaySetup, make_env
from jostle.playground.snapshot import Snapshot, rounded, status_of, take_snapshot
from jostle.tasks.catalog import TASKS
from jostle.tasks.episode import EpisodeSpec, PlanarPoses

if TYPE_CHECKING:  # needs the extra 'train'
    from jostle.playground.values import Critics

_LAST_PULLS = 5
"""Actions after which a dragged object is let go at the latest."""
_ARRIVED = 0.004
"""Meters from which on a dragged object has arrived."""


class EpisodeCrashedError(JostleError, RuntimeError):
    """Physics diverged or the agent failed; the text says which."""


class Simulation:
    """One environment, one agent, one episode."""

    def __init__(self, setup: PlaySetup, loader: AgentLoader | None = None) -> None:
        """Start the first episode."""
        self._loader = loader or AgentLoader()
        self._rng = np.random.default_rng(0)
        self._env: LiveEnv | None = None
        self.setup, self.step, self.action = setup, 0, np.zeros(3, np.float32)
        self.driven: NDArray[np.float32] | None = None
        """An action by hand, instead of the agent's."""
        self._pulls: int | None = None
        self._inspection: dict[str, Any] = {}
        self._status: dict[str, Any] = {}
        self.open(setup)

    @property
    def env(self) -> LiveEnv:
        """The environment."""
        assert self._env is not None
        return self._env

    @property
    def episode(self) -> EpisodeSpec:
        """The running episode, as edited."""
        return self.env.episode

    @property
    def present_poses(self) -> PlanarPoses:
        """Where the objects are now, (N, 3)."""
        return edits.planar_poses(self.env.physics.objects[0], self.episode.scene.objects)

    # What is played

    def open(self, setup: PlaySetup) -> None:
        """Play something else; if that is impossible, everything stays as it is."""
        self._build(setup, None)

    def change(self, setup: PlaySetup) -> None:
        """Apply another setup: another agent takes over the running episode."""
        if replace(setup, agent=self.setup.agent) == self.setup:
            self._build(setup, self.episode)
        else:
            self.open(setup)

    def reset(self, seed: int | None = None) -> None:
        """Start the running episode again, or that of a seed."""
        if seed is None:
            self._observe(*self.env.reset(options={"episode": self.episode}))
        else:
            self.setup = replace(self.setup, seed=seed)
            self._observe(*self.env.reset(seed=seed))
        self._restart()

    def close(self) -> None:
        """Free the environment."""
        if self._env is not None:
            self._env.close()

    # Edits

    def move_goal(self, slot: int, x: float, y: float, yaw: float) -> None:
        """Move a goal; the agent pursues it from the next action on."""
        self.env.edit(edits.move_goal(self.episode, slot, x, y, yaw))
        self._observe(*self.env.look())

    def recolor(self, slot: int, color: str) -> None:
        """Give an object another color."""
        self.env.edit(edits.recolor(self.episode, TASKS[self.setup.task], slot, color))
        self._observe(*self.env.look())

    def place(self, slot: int, x: float, y: float, yaw: float | None = None) -> None:
        """Put an object somewhere at once."""
        edits.check_slot(self.episode, slot)
        poses = self.present_poses
        require(not np.isnan(poses[slot, 0]), "This object is only in the goal image.")
        poses[slot] = x, y, poses[slot, 2] if yaw is None else yaw
        check_place(self.episode.scene, self.episode.appearance.colors, poses, slot, "place")
        self.env.place(slot, *poses[slot].tolist())
        self._observe(*self.env.look())

    def drag(self, slot: int, x: float, y: float) -> None:
        """Drag an object towards a point while the simulation runs, until `release`."""
        edits.check_slot(self.episode, slot)
        require(self.episode.scene.objects[slot].present, "This object is only in the goal image.")
        table = self.episode.scene.table
        target = np.clip((x, y), (-table.x / 2, -table.y / 2), (table.x / 2, table.y / 2))
        self.env.physics.drag, self._pulls = (slot, target), None

    def release(self) -> None:
        """Let the dragged object go as soon as it has arrived, or cannot."""
        self._pulls = _LAST_PULLS

    def add_object(self) -> None:
        """Add an object with a goal, at free places."""
        setup = self.setup.with_count(self.setup.count + 1)
        episode = edits.add_object(self.episode, TASKS[setup.task], self.present_poses, self._rng)
        self._build(setup, episode, slots=[*range(self.setup.count), None])

    def remove_object(self, slot: int) -> None:
        """Remove an object and its goal."""
        edits.check_slot(self.episode, slot)
        require(self.setup.count > 1, "One object must stay.")
        setup = self.setup.with_count(self.setup.count - 1)
        episode = edits.remove_object(self.episode, TASKS[setup.task], self.present_poses, slot)
        kept: list[int | None] = [old for old in range(self.setup.count) if old != slot]
        self._build(setup, episode, slots=kept)

    # Time

    def advance(self, frames: int = 1) -> list[Snapshot]:
        """Simulate one action; returns `frames` moments of it, the last one at its end."""
        env, moments = self.env, []
        env.physics.frames = frames
        env.physics.on_frame = lambda: moments.append(self.snapshot())
        try:
            self.action = self._act()
            self._status |= {"action": rounded(self.action, 3), "inspection": self._inspection}
            observation, _, _, _, infos = env.step(self.action[None])
        except DivergedWarning as warning:
            raise EpisodeCrashedError(str(warning)) from warning
        finally:
            env.physics.on_frame = None
        if infos["diverged"][0]:
            raise EpisodeCrashedError("The physics diverged.")
        self.step += 1
        self._let_go()
        self._observe(observation, infos)
        return [*moments[:-1], self.snapshot()]

    def snapshot(self) -> Snapshot:
        """The present moment."""
        return take_snapshot(self.env, self._status)

    # Internals

    def _build(
        self, setup: PlaySetup, episode: EpisodeSpec | None, slots: list[int | None] | None = None
    ) -> None:
        """Build an environment and let the agent play an episode in it, or a new one.

        Of a given episode, the present poses of arm and objects are taken over; `slots` are the
        objects' numbers in the old environment, None for new ones.
        """
        setup = setup.with_count(setup.count)
        env = make_env(setup)
        try:
            policy = self._loader.policy(setup.agent, env)
            if episode is None:
                observation, infos = env.reset(seed=setup.seed)
            else:
                observation, infos = self._transfer(env, episode, slots)
            critics = self._load_critics(setup.agent, policy, env)
            if policy is not None:
                policy.act(observation)  # an agent that does not fit fails here
        except BaseException:
            env.close()
            raise
        self.close()
        self._env, self._policy, self.setup = env, policy, setup
        self._critics = critics
        release_free_memory()
        self._observe(observation, infos)
        if episode is None:
            self._restart()

    def _transfer(
        self, env: LiveEnv, episode: EpisodeSpec, slots: list[int | None] | None
    ) -> tuple[Any, Any]:
        """Go on with an episode in another environment, from the present state."""
        cameras = env.episode_sampler.appearance.cameras
        if [camera.name for camera in cameras] != [
            camera.name for camera in episode.appearance.cameras
        ]:
            episode = replace(episode, appearance=replace(episode.appearance, cameras=cameras))
        env.reset(options={"episode": episode})
        old = self.env.physics.objects[0]
        for new, slot in enumerate(range(len(old)) if slots is None else slots):
            if slot is not None:
                env.physics.place(0, new, old[slot])
        env.physics.arm = self.env.physics.arm
        return env.look()

    def _act(self) -> NDArray[np.float32]:
        """Choose the next action: by hand, by the agent, or none."""
        self._inspection = {}
        if self.driven is not None:
            return self.driven
        if self._policy is None:
            return np.zeros(3, np.float32)
        try:
            return self._decide()
        except Exception as error:
            raise EpisodeCrashedError(f"'{self.setup.agent}' failed: {error}") from error

    def _decide(self) -> NDArray[np.float32]:
        """Let the agent act, and keep what it saw."""
        policy = self._policy
        assert policy is not None
        if not hasattr(policy, "observe"):
            return policy.act(self._observation)[0]
        from jostle.playground.inspection import inspect_decision  # needs the extra 'train'

        actions, inspection = inspect_decision(policy, self._observation, self._critics)  # type: ignore[arg-type]
        self._inspection = inspection.to_json()
        return actions[0]

    def _let_go(self) -> None:
        """End a drag whose pointer was released, when the object has arrived or time is up."""
        physics = self.env.physics
        if physics.drag is None or self._pulls is None:
            return
        slot, target = physics.drag
        self._pulls -= 1
        gap = np.abs(physics.objects[0, slot, :2] - target).max()
        if gap < _ARRIVED or self._pulls <= 0:
            physics.drag = None

    def _load_critics(self, name: str, policy: Policy | None, env: LiveEnv) -> "Critics | None":
        if policy is None or not hasattr(policy, "agent"):
            return None
        from jostle.playground.values import load_critics

        return load_critics(name, policy.agent, env)

    def _restart(self) -> None:
        """Count steps anew, and let the agent start an episode."""
        self.step, self.driven = 0, None
        self.env.physics.drag = None
        if self._policy is not None and hasattr(self._policy, "reset"):
            self._policy.reset()
        self._observe(*self.env.look())

    def _observe(self, observation: Any, infos: Any) -> None:
        """Take in a new observation."""
        self._observation = observation
        self._status = {
            **status_of(self.env, infos),
            "step": self.step,
            "action": rounded(self.action, 3),
            "inspection": self._inspection,
        }

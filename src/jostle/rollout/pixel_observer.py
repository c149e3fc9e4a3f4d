"""Images to entities by a frozen encoder.

Only the cameras' images are read here; task coordinates pass untouched on their way to the reward.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from jostle.core.devices import move_frames, scenes_at_once
from jostle.core.entities import TABLE_XY, Entities, EntityLayout
from jostle.core.errors import BadValueError
from jostle.core.profiler import PROFILER
from jostle.core.protocols import Encoder, GoalSpec, Observation
from jostle.rollout.table_projection import COLUMNS, TableProjection

GOAL = "goal_"
"""Prefix of the keys of goal images."""


class PixelObserver:
    """Encodes the images of all cameras, and the goal's images once per episode.

    A missing camera is an empty view: the agent acts on the others.
    """

    def __init__(
        self,
        encoder: Encoder,
        cameras: Sequence[str],
        table_projection: TableProjection | None = None,
        device: torch.device | None = None,
    ) -> None:
        """Encode images of `cameras`, in the order that the encoder was trained with.

        With `table_projection`, entities also carry their position on the table.
        """
        self._encoder, self._cameras = encoder, tuple(cameras)
        self._projection, self._device = table_projection, device or torch.device("cpu")
        if isinstance(encoder, torch.nn.Module):
            encoder.to(self._device)
        self._goal_frames: NDArray[np.uint8] | None = None
        self._goal_entities: Entities | None = None

    @property
    def layout(self) -> EntityLayout:
        """Which columns of an entity are what."""
        layout = self._encoder.layout
        return layout if self._projection is None else layout.plus(TABLE_XY, COLUMNS)

    @property
    def state_shape(self) -> tuple[int, int, int]:
        """Views, entities and features of a state."""
        return len(self._cameras), self._encoder.shape[0], self.layout.width

    @property
    def goal_shape(self) -> tuple[int, int, int]:
        """Goals are observed as states are."""
        return self.state_shape

    def goal_spec(self) -> GoalSpec:
        """Hindsight takes whole sets: no entity is assigned to an object."""
        every_column = np.ones(self.layout.width, np.float32)
        return GoalSpec(0, every_column, every_column, whole_sets=True)

    def reset(self, envs: NDArray[np.int64]) -> None:
        """Nothing to draw: objects are identified by their looks."""
        del envs

    def state(self, observation: Observation) -> Entities:
        """Entities of the cameras' images."""
        views, frames = self._frames(observation, "")
        return self._all_views(self._encode(frames), views)

    def goal(self, observation: Observation) -> Entities:
        """Entities of the goal's images; only images that changed are encoded again."""
        views, frames = self._frames(observation, GOAL)

        # First images, or another number of environments
        cached = self._goal_frames
        if cached is None or self._goal_entities is None or cached.shape != frames.shape:
            self._goal_frames, self._goal_entities = frames.copy(), self._encode(frames)
            return self._all_views(self._goal_entities, views)

        # Environments with a new goal
        changed = (frames != cached).reshape(len(frames), -1).any(1)  # (B,)
        if changed.any():
            encoded = self._encode(frames[changed])
            values, visible = (array.copy() for array in self._goal_entities)
            values[changed], visible[changed] = encoded
            cached[changed], self._goal_entities = frames[changed], Entities(values, visible)
        return self._all_views(self._goal_entities, views)

    def coordinates(self, goals: NDArray[np.float32]) -> NDArray[np.float32]:
        """Task coordinates (B, N, w) that the reward of training is about: all of them."""
        return goals

    def state_dict(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Nothing to save: the cache of goals is filled again."""
        return {}, {}

    def load_state_dict(self, tensors: dict[str, Tensor], meta: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        del tensors, meta

    def _frames(self, observation: Observation, prefix: str) -> tuple[list[int], NDArray[np.uint8]]:
        """Which views are present, and their frames (B, v, H, W, 3)."""
        keys = [prefix + name for name in self._cameras]
        views = [view for view, key in enumerate(keys) if key in observation]
        if not views:
            raise BadValueError(
                f"This agent uses the cameras {', '.join(self._cameras)}, but the observation has "
                f"no images '{keys[0]}' or of its other cameras. Build the environment with "
                "obs_type='both' and these cameras."
            )
        shown = [key.removeprefix(GOAL) for key in observation if key.startswith(GOAL)]
        unknown = [name for name in shown if name not in self._cameras]
        if unknown and len(views) < len(keys):
            raise BadValueError(
                f"This agent uses the cameras {', '.join(self._cameras)}, but the observation has "
                f"images of {', '.join(shown)}: build the environment with the agent's cameras."
            )
        return views, np.stack([observation[keys[view]] for view in views], axis=1)

    def _all_views(self, entities: Entities, views: list[int]) -> Entities:
        """Entities of all views: empty where a camera is missing."""
        if len(views) < len(self._cameras):
            shape = (len(entities.values), len(self._cameras), *self._encoder.shape)
            values, visible = np.zeros(shape, np.float32), np.zeros(shape[:-1], bool)
            values[:, views], visible[:, views] = entities
            entities = Entities(values, visible)
        return entities if self._projection is None else self._projection(entities)

    def _encode(self, frames: NDArray[np.uint8]) -> Entities:
        chunk = scenes_at_once(self._device, frames.shape[1], frames.shape[2])
        with PROFILER("encoding"):
            chunks = [
                self._encoder.encode(
                    move_frames(torch.from_numpy(frames[start : start + chunk]), self._device)
                )
                for start in range(0, len(frames), chunk)
            ]
            values, visible = Entities.cat(chunks).map(lambda tensor: tensor.cpu().numpy())
        return Entities(values * visible[..., None], visible)

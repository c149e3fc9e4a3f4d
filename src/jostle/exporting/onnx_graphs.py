"""What an ONNX file computes: modules from an environment's arrays to entities and to actions.

Sets have a fixed size and a mask. B environments, V views, K entities of D features, N objects.
"""

from collections.abc import Callable
from copy import deepcopy
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from jostle.agents.base import BaseAgent, PixelSensor
from jostle.core.entities import Entities
from jostle.core.protocols import Observation
from jostle.rollout.observer import StateObserver
from jostle.rollout.smorl import SubgoalObserver
from jostle.rollout.table_projection import HEIGHT, LIMIT, UNIT
from jostle.scene.cameras import orientation, resolve_cameras


class EntityActor(nn.Module):
    """Normalizer and actor: entities of state and goal to an action."""

    def __init__(self, agent: BaseAgent) -> None:
        """Take the networks that the agent acts with."""
        super().__init__()
        self.normalizer, self.actor = deepcopy(agent.acting_networks())

    def forward(
        self, state: Tensor, state_visible: Tensor, goal: Tensor, goal_visible: Tensor
    ) -> Tensor:
        """Sets (B, V, K, D) with masks (B, V, K) to actions (B, A)."""
        sets = Entities(state, state_visible), Entities(goal, goal_visible)
        action: Tensor = self.actor(*(self.normalizer(entities) for entities in sets))
        return action


class StateActor(nn.Module):
    """The same from true state as environments show it, with a mask of the present objects."""

    state_map: Tensor
    state_offset: Tensor
    goal_map: Tensor
    goal_offset: Tensor

    def __init__(self, agent: BaseAgent, observer: StateObserver, columns: tuple[int, int]) -> None:
        """Read rows of `columns` columns, of states and of goals, as the observer does."""
        super().__init__()
        self.entity_actor = EntityActor(agent)
        self.one_goal = isinstance(observer, SubgoalObserver)
        rows = observer.state_shape[1]
        goals = partial(StateObserver.goal, observer)  # of all objects, also for SMORL
        for name, maps in (
            ("state", _linear(observer.state, "observation", rows, columns[0])),
            ("goal", _linear(goals, "desired_goal", rows - 1, columns[1])),
        ):
            for part, array in zip(("map", "offset"), maps, strict=True):
                self.register_buffer(f"{name}_{part}", torch.from_numpy(array))

    def forward(
        self,
        observation: Tensor,
        desired_goal: Tensor,
        present: Tensor,
        chosen: Tensor | None = None,
    ) -> Tensor:
        """Rows (B, 1+N, F), goals (B, N, w) and a mask (B, N) to actions (B, A).

        SMORL works on one object at a time: the one with the number `chosen`, (B,).
        """
        gripper = torch.ones_like(present[:, :1])
        with_gripper = torch.cat((gripper, present), dim=1)  # (B, 1+N)

        # States
        state = observation @ self.state_map + self.state_offset  # (B, 1+N, D)

        # Goals, which may have a gripper too: its row does not depend on the goal
        goal = desired_goal @ self.goal_map  # (B, N, D)
        goal_visible = present
        if len(self.goal_offset) > goal.shape[1]:
            goal = torch.cat((torch.zeros_like(goal[:, :1]), goal), dim=1)
            goal_visible = with_gripper
        goal = goal + self.goal_offset
        if self.one_goal:
            assert chosen is not None
            rows = torch.arange(goal.shape[1]) == chosen[:, None]  # (B, N)
            goal = (goal * rows[..., None]).sum(1, keepdim=True)
            goal_visible = (goal_visible & rows).any(1, keepdim=True)

        state, goal = state * with_gripper[..., None], goal * goal_visible[..., None]
        sets = (state, with_gripper, goal, goal_visible)
        action: Tensor = self.entity_actor(*(array[:, None] for array in sets))
        return action


def _linear(
    read: Callable[[Observation], Entities], key: str, rows: int, columns: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """How entities depend on rows: a map (columns, D) of each row, and an offset (K, D).

    Entities of true state are linear in the rows of an observation, so zeros and unit rows tell.
    """
    probes = np.zeros((1 + columns, rows, columns), np.float32)
    probes[1 + np.arange(columns), :, np.arange(columns)] = 1.0
    entities = np.stack([read({key: probe[None]}).values[0, 0] for probe in probes])  # (., K, D)
    return entities[1:, -1] - entities[0, -1], entities[0]


class FrameEncoder(nn.Module):
    """Encoder of a pixel agent: frames of all views to entities, with positions on the table."""

    encoder: Any
    rays: Tensor
    ray_offset: Tensor
    camera_xyz: Tensor

    def __init__(self, sensor: PixelSensor, table_xy: bool) -> None:
        """Encode frames of the sensor's cameras; `table_xy` appends positions on the table."""
        super().__init__()
        assert isinstance(sensor.encoder, nn.Module)
        self.encoder, self.table_xy = _explicit_cells(deepcopy(sensor.encoder)), table_xy
        if table_xy:
            cameras = resolve_cameras(sensor.cameras)
            maps = [_rays(orientation(camera), camera.fov, self.side) for camera in cameras]
            positions = [camera.position for camera in cameras]
            self.register_buffer("rays", _tensor([linear for linear, _ in maps]))  # (V, 2, 3)
            self.register_buffer("ray_offset", _tensor([offset for _, offset in maps]))  # (V, 3)
            self.register_buffer("camera_xyz", _tensor(positions))  # (V, 3)

    @property
    def side(self) -> int:
        """Height and width of a frame in pixels."""
        return int(self.encoder.config.image_size)

    def forward(self, frames: Tensor) -> tuple[Tensor, Tensor]:
        """Frames (B, V, H, W, 3) uint8 to sets (B, V, K, D) and masks (B, V, K)."""
        entities, visible = self.encoder.encode(frames)
        if self.table_xy:
            # Rays from each camera through its particles, to the height of a cube's center
            rays = entities[..., :2] @ self.rays + self.ray_offset[:, None]  # (B, V, K, 3)
            distance = (HEIGHT - self.camera_xyz[:, None, 2:]) / rays[..., 2:].clamp(max=-0.1)
            table_xy = self.camera_xyz[:, None, :2] + distance * rays[..., :2]
            entities = torch.cat((entities, table_xy.clamp(-LIMIT, LIMIT) / UNIT), dim=-1)
        return entities * visible[..., None], visible


def _rays(
    rotation: NDArray[np.float64], fov: float, side: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Rays in the world of positions (y, x) in an image: a map (2, 3) and an offset (3,)."""
    slope = np.tan(np.radians(fov) / 2) * (side - 1) / side
    return slope * np.stack((-rotation[:, 1], rotation[:, 0])), -rotation[:, 2]


def _tensor(rows: object) -> Tensor:
    return torch.from_numpy(np.array(rows, np.float32))


class _GRUCell(nn.Module):
    """`nn.GRUCell` by its definition: the exporter does not know the cell itself."""

    def __init__(self, cell: nn.GRUCell) -> None:
        super().__init__()
        self.inputs = nn.Linear(cell.input_size, 3 * cell.hidden_size)
        self.hidden = nn.Linear(cell.hidden_size, 3 * cell.hidden_size)
        for linear, weight, bias in (
            (self.inputs, cell.weight_ih, cell.bias_ih),
            (self.hidden, cell.weight_hh, cell.bias_hh),
        ):
            linear.load_state_dict({"weight": weight, "bias": bias})

    def forward(self, x: Tensor, hidden: Tensor) -> Tensor:
        reset_x, update_x, new_x = self.inputs(x).chunk(3, dim=-1)
        reset_h, update_h, new_h = self.hidden(hidden).chunk(3, dim=-1)
        update = (update_x + update_h).sigmoid()
        new = (new_x + (reset_x + reset_h).sigmoid() * new_h).tanh()
        return (1 - update) * new + update * hidden


def _explicit_cells(module: nn.Module) -> nn.Module:
    """Replace the recurrent cells of a module by their definition."""
    for parent in list(module.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, nn.GRUCell):
                setattr(parent, name, _GRUCell(child))
    return module

"""Sets of entities with a visibility mask: true state, particles, slots and vectors alike.

Arrays are numpy on the way to replay and torch on the way to networks; torch is imported only
where tensors are made.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from jostle.core.errors import UnknownNameError, require

if TYPE_CHECKING:
    import torch

Array = Any
"""A numpy array or a torch tensor."""
StateFeatures = Literal["full", "paper", "flat"]
"""True state as entities.

full: x, y, z, a gripper flag and ids of 12 columns, shuffled in each episode; goals have objects
only. paper: x, y and fixed ids of as many columns as there are entities, the gripper's first; goals
also have the gripper, where goal images show it. flat: the same without ids, for unstructured
networks, which know entities by their order."""


class Entities(NamedTuple):
    """A batch of sets: one set per sample and view."""

    values: Array
    """Features, (..., V, K, D)."""
    visible: Array
    """Which entities are present, (..., V, K) bool."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Views, entities per view, features."""
        views, count, width = self.values.shape[-3:]
        return views, count, width

    def map(self, function: Callable[[Array], Array]) -> "Entities":
        """Apply a function to both arrays."""
        return Entities(function(self.values), function(self.visible))

    def to_torch(self, device: "torch.device | None" = None) -> "Entities":
        """Make numpy arrays tensors on a device; on the CPU without a copy."""
        import torch

        tensors = self.map(torch.from_numpy)
        return tensors if device is None or device.type == "cpu" else tensors.to(device)

    def to(self, device: "torch.device") -> "Entities":
        """Move tensors to a device."""
        return self.map(lambda tensor: tensor.to(device))

    @staticmethod
    def all_visible(values: "torch.Tensor") -> "Entities":
        """Wrap sets of which every entity is visible."""
        return Entities(values, values.new_ones(values.shape[:-1]).bool())

    @staticmethod
    def cat(batches: Sequence["Entities"]) -> "Entities":
        """Concatenate batches of sets along the first axis."""
        join: Any = np.concatenate
        if not isinstance(batches[0].values, np.ndarray):
            import torch

            join = torch.cat
        return Entities(*(join(arrays) for arrays in zip(*batches, strict=True)))


@dataclass(frozen=True)
class EntityLayout:
    """Which columns of an entity are what: the only place that knows column numbers."""

    groups: tuple[tuple[str, int], ...]
    """Names of column groups and their widths, in order."""

    @property
    def width(self) -> int:
        """Columns of an entity."""
        return sum(width for _, width in self.groups)

    def __contains__(self, name: object) -> bool:
        """Whether entities have this group of columns."""
        return any(name == group for group, _ in self.groups)

    def __getitem__(self, name: str) -> slice:
        """Columns of a group."""
        start = 0
        for group, width in self.groups:
            if group == name:
                return slice(start, start + width)
            start += width
        known = ", ".join(group for group, _ in self.groups)
        raise UnknownNameError(f"Entities have no columns '{name}'. They have: {known}.")

    def without(self, name: str) -> "EntityLayout":
        """Leave out a group of columns, if there is such."""
        return EntityLayout(tuple(group for group in self.groups if group[0] != name))

    def plus(self, name: str, width: int) -> "EntityLayout":
        """Append a group of columns."""
        require(name not in self, f"Entities have columns '{name}' already.")
        return EntityLayout((*self.groups, (name, width)))


POSITION, HEIGHT, HEADING, GRIPPER = "position", "height", "heading", "gripper"
"""Groups of true state: x and y, z, sine and cosine of the yaw, a flag of the gripper."""
OBJECT_ID = "object_id"
"""One-hot identity of an object; zeros for the gripper."""
SCALE, DEPTH, FEATURES = "scale", "depth", "features"
"""Groups of particles besides their position, which is in the image."""
OPACITY = "opacity"
"""Group of columns with a particle's opacity."""
TABLE_XY = "table_xy"
"""Where on the table a particle projects to by the camera's calibration."""

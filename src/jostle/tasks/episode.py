"""Everything that defines an episode before its first action, as plain data."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.core.errors import BadValueError
from jostle.scene.spec import Appearance, CameraSpec, ObjectSpec, SceneSpec, TableSpec

PlanarPoses = NDArray[np.float64]
"""(slots, 3): x, y, yaw of each object slot; NaN for a slot that is not present."""

_POSE_KEYS = {"start": "start", "goal": "goal", "goal_view": "photo"}
"""Keys of the poses in JSON. These keys, and "look" for the appearance, are part of the stored
format: the digests of published results depend on them."""


@dataclass(frozen=True, eq=False)
class EpisodeSpec:
    """One episode: the scene, where its objects start, their goals, and what goal images show."""

    task: str
    """Name of the task it belongs to."""
    scene: SceneSpec
    """The physical scene."""
    appearance: Appearance
    """Colors, cameras, lights."""
    start: PlanarPoses
    """Start poses of the objects."""
    goal: PlanarPoses
    """Goal poses of the objects."""
    goal_view: PlanarPoses
    """Poses that the goal image shows; they differ from `goal` for sorting and distractors."""

    def to_json(self) -> str:
        """Write as one line of JSON; floats keep all their bits."""
        fields: dict[str, Any] = {
            "task": self.task,
            "scene": asdict(self.scene),
            "look": asdict(self.appearance),
        }
        for name, key in _POSE_KEYS.items():
            poses = getattr(self, name).tolist()
            fields[key] = [None if np.isnan(pose[0]) else pose for pose in poses]
        return json.dumps(fields, sort_keys=True)

    @classmethod
    def from_json(cls, text: str | Mapping[str, Any]) -> "EpisodeSpec":
        """Read what `to_json` wrote."""
        try:
            fields = json.loads(text) if isinstance(text, str) else dict(text)
            return cls(
                task=fields["task"],
                scene=_scene(fields["scene"]),
                appearance=_appearance(fields["look"]),
                **{
                    name: np.array([pose or [np.nan] * 3 for pose in fields[key]], dtype=float)
                    for name, key in _POSE_KEYS.items()
                },
            )
        except (KeyError, TypeError, json.JSONDecodeError) as error:
            raise BadValueError(
                f"This is not a stored episode ({type(error).__name__}: {error}). "
                "Episodes are written by EpisodeSpec.to_json()."
            ) from error

    @property
    def digest(self) -> str:
        """Short content hash: equal episodes have equal digests."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:12]


def _scene(fields: Mapping[str, Any]) -> SceneSpec:
    return SceneSpec(
        objects=tuple(
            ObjectSpec(**{**obj, "scale": tuple(obj["scale"])}) for obj in fields["objects"]
        ),
        table=TableSpec(**fields["table"]),
        corridor=fields["corridor"],
        parts=fields["parts"],
    )


def _appearance(fields: Mapping[str, Any]) -> Appearance:
    return Appearance(
        colors=tuple(tuple(color) for color in fields["colors"]),
        cameras=tuple(_camera(camera) for camera in fields["cameras"]),
        brightness=fields["brightness"],
        light_angle=fields["light_angle"],
        shadows=fields["shadows"],
    )


def _camera(fields: Mapping[str, Any]) -> CameraSpec:
    return CameraSpec(
        name=fields["name"],
        position=tuple(fields["position"]),
        target=tuple(fields["target"]),
        fov=fields["fov"],
    )

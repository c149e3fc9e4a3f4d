"""Everything that fixes an episode before its first action, as plain data."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.core.errors import BadValueError
from jostle.scene.spec import CameraSpec, Look, ObjectSpec, SceneSpec, TableSpec

Planar = NDArray[np.float64]
"""(slots, 3): x, y, yaw of each object slot; NaN for a slot that is not there."""


@dataclass(frozen=True, eq=False)
class EpisodeSpec:
    """One episode: who stands where, who shall go where, and what the goal picture shows."""

    task: str
    """Name of the task it belongs to."""
    scene: SceneSpec
    """The physical scene."""
    look: Look
    """Colors, cameras, lights."""
    start: Planar
    """Where the objects start."""
    goal: Planar
    """Where each object shall go."""
    photo: Planar
    """What the goal picture shows; differs from `goal` for sorting and distractors."""

    def to_json(self) -> str:
        """Write as one line of JSON; floats keep all their bits."""
        fields: dict[str, Any] = {
            "task": self.task,
            "scene": asdict(self.scene),
            "look": asdict(self.look),
        }
        for name in ("start", "goal", "photo"):
            rows = getattr(self, name).tolist()
            fields[name] = [None if np.isnan(row[0]) else row for row in rows]
        return json.dumps(fields, sort_keys=True)

    @classmethod
    def from_json(cls, text: str | Mapping[str, Any]) -> "EpisodeSpec":
        """Read what `to_json` wrote."""
        try:
            fields = json.loads(text) if isinstance(text, str) else dict(text)
            planar = {
                name: np.array([row or [np.nan] * 3 for row in fields[name]], dtype=float)
                for name in ("start", "goal", "photo")
            }
            scene, look = fields["scene"], fields["look"]
            return cls(
                task=fields["task"],
                scene=SceneSpec(
                    objects=tuple(
                        ObjectSpec(**{**one, "scale": tuple(one["scale"])})
                        for one in scene["objects"]
                    ),
                    table=TableSpec(**scene["table"]),
                    corridor=scene["corridor"],
                    parts=scene["parts"],
                ),
                look=Look(
                    colors=tuple(tuple(color) for color in look["colors"]),
                    cameras=tuple(_camera(camera) for camera in look["cameras"]),
                    brightness=look["brightness"],
                    light_angle=look["light_angle"],
                    shadows=look["shadows"],
                ),
                **planar,
            )
        except (KeyError, TypeError, json.JSONDecodeError) as error:
            raise BadValueError(
                f"This is no stored episode ({type(error).__name__}: {error}). "
                "Episodes are written by EpisodeSpec.to_json()."
            ) from error

    @property
    def digest(self) -> str:
        """Short content hash: equal episodes have equal digests."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:12]


def _camera(fields: Mapping[str, Any]) -> CameraSpec:
    return CameraSpec(
        name=fields["name"],
        position=tuple(fields["position"]),
        target=tuple(fields["target"]),
        fov=fields["fov"],
    )

"""What `evaluate --through` does: examine state agents on places that are read off frames."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jostle.cli.examining import Sitting, play_with_bar
from jostle.core.errors import BadValueError
from jostle.evaluation.audit import Audit
from jostle.evaluation.examine import Examination
from jostle.probing.reading import Errors, calibrate
from jostle.rollout.reading import ReadingPolicy
from jostle.scene.spec import CameraSpec
from jostle.zoo.agents import agent_for, what_it_reads
from jostle.zoo.encoders import look


class Through:
    """Examines as `examine_with_bar` does, but lets the agent know only what an encoder finds."""

    def __init__(
        self,
        encoder: str,
        folder: Path | None,
        agents: Sequence[str],
        restless: float | None = None,
    ) -> None:
        """Calibrate an encoder, by the word a user types, on a folder of frames with truth."""
        for agent in agents:
            if what_it_reads(agent):
                raise BadValueError(
                    f"'{agent}' sees with its own eyes already. --through is for agents that read "
                    "true state."
                )
        if folder is None:
            raise BadValueError(
                "Reading places must be calibrated: name frames with truth by --calibrate, such "
                "as a folder that 'jostle collect NCubes --objects 3 --frames 5400 --seed 1000 "
                "--out frames/probe/3-rgb' makes."
            )
        self._name, self._restless = encoder, restless
        self._reader, errors = calibrate(look(encoder), folder)
        self.notes = [
            f"Read through {encoder}, in scenes of {folder} kept apart: {errors.read:.1%} of "
            f"visible objects, {_say(errors)}.\n"
        ]
        """What to tell beside the table: how well places were read; medians."""

    def __call__(self, sitting: Sitting) -> Examination:
        """Examine an agent on what is read."""
        agent, env = sitting.agent, sitting.stage(**self._frames())
        audit = Audit(ReadingPolicy(agent_for(agent, env, self._restless), self._reader, env))
        name = f"{agent} through {self._name}"
        found = play_with_bar(env, audit, name, sitting.episodes, sitting.seed)
        places, goals = Errors.of(*audit.objects), Errors.of(*audit.goals)
        self.notes.append(
            f"{sitting.task}, {agent}: objects {_say(places)}, {1 - audit.found:.1%} of "
            f"them not found and told from memory; goals {_say(goals)}.\n"
        )
        return found

    def _frames(self) -> dict[str, Any]:
        """Options of an environment that shows what the reader was calibrated with."""
        layout = self._reader.layout
        return {
            "obs_type": "both",
            "cameras": tuple(_camera(**camera) for camera in layout.cameras),
            "image_size": layout.size,
            "shadows": layout.shadows,
        }


def _camera(name: str, position: list[float], target: list[float], fov: float) -> CameraSpec:
    """Build a camera of what JSON kept of it."""
    at, to = ((x, y, z) for x, y, z in (position, target))
    return CameraSpec(name=name, position=at, target=to, fov=fov)


def _say(errors: Errors) -> str:
    return f"off by {errors.median_cm:.2f} cm (95 %: {errors.most_cm:.2f} cm)"

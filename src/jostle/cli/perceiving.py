"""What `evaluate --through` does: examine state agents on places that are read off frames."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jostle.cli.examining import play_with_bar
from jostle.core.errors import BadValueError
from jostle.envs.vector import TabletopVectorEnv
from jostle.evaluation.audit import Audit
from jostle.evaluation.examine import Examination
from jostle.probing.reading import Errors, calibrate
from jostle.rollout.reading import ReadingPolicy
from jostle.scene.spec import CameraSpec
from jostle.tasks.catalog import TASKS
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

    def __call__(
        self,
        agent: str,
        task: str,
        objects: int | None,
        episodes: int,
        seed: int,
        copies: int,
        colors: str = "fixed",
    ) -> Examination:
        """Examine an agent, by the word a user types, on fixed episodes of a task."""
        env = TabletopVectorEnv(
            min(copies, max(episodes, 1)),
            TASKS[task].name,
            objects=objects,
            colors=colors,
            autoreset_mode="Disabled",
            **self._frames(),
        )
        audit = Audit(ReadingPolicy(agent_for(agent, env, self._restless), self._reader, env))
        found = play_with_bar(env, audit, f"{agent} through {self._name}", episodes, seed)
        self.notes.append(
            f"{task}, {agent}: objects {_say(Errors.of(*audit.objects))}, {1 - audit.found:.1%} of "
            f"them not found and told from memory; goals {_say(Errors.of(*audit.goals))}.\n"
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

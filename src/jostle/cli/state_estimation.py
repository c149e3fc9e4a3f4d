"""`jostle evaluate --state-estimator`: state agents on positions estimated from frames."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from jostle.cli.eval_jobs import EvalJob, evaluate_policy
from jostle.core.errors import BadValueError
from jostle.evaluation.estimation_log import EstimationLog
from jostle.evaluation.evaluate import Evaluation
from jostle.probing.state_estimator import EstimationErrors, fit_state_estimator
from jostle.rollout.state_estimation import EstimatedStatePolicy
from jostle.scene.spec import CameraSpec
from jostle.zoo.agents import load_policy, required_env_kwargs
from jostle.zoo.encoders import load_encoder


class EstimatedStateEvaluator:
    """Evaluates as `evaluate_with_bar` does, but on estimated instead of true positions."""

    def __init__(
        self,
        encoder: str,
        folder: Path | None,
        agents: Sequence[str],
        eval_noise: float | None = None,
    ) -> None:
        """Fit a state estimator with an encoder, by name, on frames with ground truth."""
        for agent in agents:
            if required_env_kwargs(agent):
                raise BadValueError(
                    f"'{agent}' is a pixel agent. --state-estimator is for agents that observe "
                    "true state."
                )
        if folder is None:
            raise BadValueError(
                "A state estimator must be fitted: name frames with ground truth with "
                "--estimator-frames, such as a folder that 'jostle collect NCubes --objects 3 "
                "--frames 5400 --seed 1000 --out frames/probe/3-rgb' makes."
            )
        self._name, self._eval_noise = encoder, eval_noise
        self._estimator, errors = fit_state_estimator(load_encoder(encoder), folder)
        self.notes = [
            f"State estimator {encoder}, on held-out scenes of {folder}: {errors.detected:.1%} of "
            f"visible objects detected, {_describe(errors)}.\n"
        ]
        """Lines below the results table: how accurate the estimates were."""

    def __call__(self, job: EvalJob) -> Evaluation:
        """Evaluate an agent on estimated state."""
        env = job.make_env(**self._env_options())
        policy = load_policy(job.agent, env, self._eval_noise, job.device)
        log = EstimationLog(EstimatedStatePolicy(policy, self._estimator, env))
        label = f"{job.agent}, state from {self._name}"
        result = evaluate_policy(env, log, label, job.episodes, job.seed)
        objects, goals = EstimationErrors.of(*log.objects), EstimationErrors.of(*log.goals)
        self.notes.append(
            f"{job.task}, {job.agent}: objects {_describe(objects)}, {1 - log.detection_rate:.1%} "
            f"of them undetected and kept at their last position; goals {_describe(goals)}.\n"
        )
        return replace(result, vary=str(job.vary))

    def _env_options(self) -> dict[str, Any]:
        """Environment options for frames like those that the estimator was fitted on."""
        layout = self._estimator.layout
        return {
            "obs_type": "both",
            "cameras": tuple(_camera(**camera) for camera in layout.cameras),
            "image_size": layout.size,
            "shadows": layout.shadows,
        }


def _camera(name: str, position: list[float], target: list[float], fov: float) -> CameraSpec:
    """Build a camera from its JSON form."""
    x, y, z = position
    target_x, target_y, target_z = target
    return CameraSpec(name=name, position=(x, y, z), target=(target_x, target_y, target_z), fov=fov)


def _describe(errors: EstimationErrors) -> str:
    return f"median error {errors.median_cm:.2f} cm (95th percentile {errors.p95_cm:.2f} cm)"

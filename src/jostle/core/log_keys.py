"""What every logged key means: rows of metrics.jsonl, and rows of results.

docs/reference has these texts, and tests check that no key is logged without one. Agents of your
own may log other keys.
"""

from collections.abc import Mapping
from typing import Any

from jostle.core.found_objects import IMAGE_METRICS
from jostle.core.goal_metric import METRICS

COUNTERS = {
    "iteration": "iterations so far; one is an episode in every environment, and the updates after",
    "episodes": "episodes collected so far",
    "env_steps": "environment steps so far, those of all environments: the x axis of curves",
    "seconds": "time spent in iterations so far; evaluations do not count",
    "updates": "gradient steps so far",
    "best": "best evaluation so far: the success of agents, the validation loss of encoders",
    "solved": "true if training ended early because of `stop_at_success`",
    "stage": "number of the curriculum's stage; only in reports of progress, not in the file",
    "warning": "a sentence about metrics that look wrong, in a row of its own",
}
"""Counters of a training, in every row."""

AGENT_KEYS = {
    **{
        f"train_{name}": f"{text}: mean of this iteration's episodes, exploration included"
        for name, text in METRICS.items()
        if name != "maximum_distance"
    },
    **{
        f"train_{name}": f"{text}: mean of this iteration's episodes, exploration included"
        for name, text in IMAGE_METRICS.items()
    },
    "train_staleness": "iterations that the weights of workers were behind; mean of the episodes",
    "train_worker_restarts": "workers that died and were replaced since the training was started",
    "critic_loss": "squared error of the critics' values, summed over critics; mean of the updates",
    "q_mean": "mean value of the batch's actions; with a potential baseline, mean gain",
    "actor_loss": "minus the mean value of the actor's actions, plus penalties and imitation terms",
    "action_abs": "mean absolute component of the actor's actions; near 1 the actor is saturated",
    "critic_attention_entropy": "mean entropy of the critics' attention, over layers, heads and "
    "queries, as a fraction of that of attention to all visible entities alike, on 64 samples; "
    "near 0 the attention has collapsed onto single entities",
    "imitation_error": "mean length of student's minus teacher's action while collecting (dagger)",
    "imitation_loss": "mean smoothed length of that difference on the batches (dagger)",
    "aux_loss": "loss of the auxiliary predictions, such as headings (dagger)",
    "bc_loss": "mean squared distance to the recorded actions that are cloned (bc, iql)",
    "value_loss": "expectile loss of the state values (iql)",
    "value_mean": "mean state value of the batch; with a potential baseline, mean gain (iql)",
}
"""Keys of a training of an agent, per iteration."""

EVALUATION_KEYS = {
    name: f"{text}: mean of the evaluation episodes, without exploration"
    for name, text in METRICS.items()
    if name != "maximum_distance"
} | {
    name: f"{text}: mean of the evaluation episodes, without exploration"
    for name, text in IMAGE_METRICS.items()
}
"""Keys of a row with an evaluation, every `eval_every` iterations."""

ENCODER_KEYS = {
    "step": "gradient steps so far: the x axis of curves",
    "images": "images learned from so far, each camera's frame counted",
    "loss": "what training minimizes",
    "reconstruction": "error of the reconstructed images, or glimpses in the warm-up",
    "offset": "KL divergence of the particles' offsets from their proposals (dlp)",
    "scale": "KL divergence of the particles' sizes (dlp)",
    "depth": "KL divergence of the particles' depths (dlp)",
    "features": "KL divergence of the particles' appearance features (dlp)",
    "opacity": "KL divergence of the particles' opacities (dlp)",
    "background": "KL divergence of the background's latent (dlp, if it is encoded)",
    "centering": "distance of particles from the center of what they draw (dlp)",
    "chamfer": "Chamfer distance of particles and proposals (dlp, if it has a weight)",
    "heatmap": "error of the heatmap that proposes particles (dlp, if there is one)",
    "active_particles": "sum of the particles' opacities per image (dlp)",
    "box_size": "mean side of the particles' boxes, as a fraction of the image's (dlp)",
    "opacity_concentration1": "mean concentration of opacity towards 1 (dlp)",
    "opacity_concentration0": "mean concentration of opacity towards 0 (dlp)",
    "kl": "KL divergence of the latent vector (vae)",
    "lpips": "perceptual distance of the reconstruction (vae, with a file of LPIPS weights)",
    "edges": "difference of image gradients, in place of a perceptual distance (vae)",
    "gradient": "norm of the gradient, before it is clipped",
    "lr": "step size of the last step",
    "images_per_second": "speed since the last row",
}
"""Keys of a training of an encoder: means since the last row. `val_` keys are of validations."""

TIME_KEYS = {
    "time/physics": "simulation",
    "time/rendering": "rendering of frames",
    "time/encoding": "frames to entities",
    "time/objects": "objects found in entities, for training by images",
    "time/acting": "actions of the agent",
    "time/teacher": "actions of the teacher",
    "time/sampling": "batches from the replay buffer",
    "time/updating": "gradient steps of an agent",
    "time/waiting": "waiting for the episodes of workers",
    "time/reading": "frames from disk",
    "time/other": "everything else",
}
"""Seconds by part since the last row, each without the parts measured inside it."""

RESULT_KEYS = {
    "task": "name of the task",
    "agent": "name of the agent",
    "vary": "what differs from the task, as text; missing if nothing does",
    "objects": "number of objects, the largest if it is drawn for each episode",
    "steps": "length of an episode in actions",
    "seed": "seed of the first episode",
    "episodes": "number of episodes",
    "episode_set": "hash of all starts and goals; equal for agents evaluated on the same episodes",
    "mujoco": "version of the simulator",
    **{name: f"{text}; mean over episodes, final step" for name, text in METRICS.items()},
    "average_return": "mean reward per step of the episode; mean over episodes",
    "success_low": "lower end of the 95 % Wilson interval of success, over episodes",
    "success_high": "upper end of it",
    "fallen": "fraction of episodes in which an object left the table",
    "median_distance": "median distance over all objects of all episodes",
    "yaw_error_histogram": "errors of headings in 18 bins of ten degrees (Push-T)",
}
"""Keys of a summary: `jostle.evaluate(...).summary`, `score` in files of weights, results.json."""

STUDY_KEYS = {
    "weights": "hash of the file of weights, or `script NAME`",
    "requested_objects": "number of objects that the study asks for; null for the task's own",
    "colors": "fixed or random",
    "trained": "how the agent was trained, in words",
    "paper": "the paper's result",
    "target": "the result aimed at",
    "training": "name that the seeds of one training share",
    "pending": "true if the agent is not trained yet",
}
"""Keys that results of `jostle benchmark` have besides."""

EPISODE_KEYS = {
    "number": "index of the episode in the evaluation; its seed is `seed` + `number`",
    "digest": "hash of its start and goal",
    **{name: f"{text}, at the final step" for name, text in METRICS.items()},
    "average_return": METRICS["average_return"],
    "fallen": "objects that left the table",
    "distances": "distance of each object to its goal, meters or radians",
    "mujoco": "version of the simulator",
}
"""Keys of one episode: `jostle.evaluate(...).rows`, lines of OUT.jsonl."""

_METRIC_ROWS = COUNTERS | AGENT_KEYS | EVALUATION_KEYS | ENCODER_KEYS | TIME_KEYS


def training_success(row: Mapping[str, Any]) -> float | None:
    """Success in a row with an evaluation: by truth or, in training by images, by images."""
    success: float | None = row.get("success", row.get("image_success"))
    return success


def explain_key(key: str) -> str | None:
    """What a key of metrics.jsonl means; None if nothing explains it."""
    if key.startswith("val_"):
        text = ENCODER_KEYS.get(key.removeprefix("val_"))
        return text and f"{text}; mean over the validation scenes"
    return _METRIC_ROWS.get(key)

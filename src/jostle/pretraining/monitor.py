"""Early signs that a pretraining goes wrong, each reported once in words."""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from jostle.core.errors import NotFiniteError
from jostle.encoders.catalog import EncoderConfig
from jostle.encoders.dlp_config import DLPConfig

_GRACE = 300
"""Steps at the start in which anything may happen."""
_PATIENCE = 500
"""Steps that something must last before it is reported."""
_SATURATED = 1e3
"""Concentration of a Beta distribution beyond which it hardly moves any more."""


class Check(NamedTuple):
    """Something to watch for."""

    failed: Callable[[Mapping[str, float]], bool]
    """Whether a row of metrics shows it."""
    message: str
    """What it means and what may help."""


class TrainingMonitor:
    """Watches the metrics of a run."""

    def __init__(self, config: EncoderConfig) -> None:
        """Know the checks of this kind of encoder."""
        self._checks: dict[str, Check] = {}
        self._from = _GRACE
        if isinstance(config, DLPConfig):
            self._checks = _dlp_checks(config)
            self._from += config.warmup_steps
        self.state: dict[str, Any] = {"since": {}, "reported": []}
        """Since which step each check has failed, and which were reported."""

    def check(self, row: Mapping[str, float]) -> list[str]:
        """Take in a row of metrics; returns messages of checks that have failed for too long."""
        since, reported, messages = self.state["since"], self.state["reported"], []
        for name, check in self._checks.items():
            if row["step"] < self._from or not check.failed(row):
                since.pop(name, None)
                continue
            lasted = row["step"] - since.setdefault(name, row["step"])
            if lasted >= _PATIENCE and name not in reported:
                reported.append(name)
                messages.append(check.message)
        return messages

    def state_dict(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """What was seen so far."""
        return {}, self.state

    def load_state_dict(self, tensors: dict[str, Tensor], meta: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        del tensors
        self.state = meta


def check_finite(loss: Tensor, log: Mapping[str, Tensor], step: int, saved: str) -> None:
    """Stop before a loss that is not finite can spoil the weights."""
    if bool(torch.isfinite(loss)):
        return
    bad = [name for name, value in log.items() if not bool(torch.isfinite(value))]
    terms = [name for name in bad if name != "loss"] or ["loss"]
    _stop(f"The loss is {float(loss.detach())} (first of its terms: {terms[0]})", step, saved)


def check_gradient(norm: Tensor, step: int, saved: str) -> None:
    """Stop before a gradient that is not finite can spoil the weights."""
    if not math.isfinite(float(norm)):
        _stop(f"The gradient's norm is {float(norm)}, though the loss is finite", step, saved)


def _stop(what: str, step: int, saved: str) -> None:
    raise NotFiniteError(
        f"{what} at step {step}. {saved} Look at the last rows of metrics.jsonl for a term that "
        "grows, then start a new run with --from this one and a smaller --lr or "
        "--max-grad-norm 1."
    )


def _dlp_checks(config: DLPConfig) -> dict[str, Check]:
    few, many = 0.2, 0.9 * config.num_particles
    large = min(0.6, 3 * config.box_size_prior)
    return {
        "empty": Check(
            lambda row: row.get("active_particles", math.nan) < few,
            f"hardly any particle is on (fewer than {few} of {config.num_particles}): the "
            "background explains everything. Less --particle-cost, --kl-weight or --beta-prior may "
            "help.",
        ),
        "full": Check(
            lambda row: row.get("active_particles", math.nan) > many,
            f"nearly all of the {config.num_particles} particles are on: they paint the table too. "
            "More --particle-cost may help.",
        ),
        "saturated": Check(
            lambda row: any(
                row.get(key, 0.0) > _SATURATED
                for key in ("opacity_concentration1", "opacity_concentration0")
            ),
            f"a concentration of opacity is beyond {_SATURATED:g}: particles are stuck on or off. "
            "--bounded-beta or a smaller --lr may help.",
        ),
        "oversized": Check(
            lambda row: row.get("box_size", math.nan) > large,
            f"boxes fill more than {large:.2f} of the image's side (the prior says "
            f"{config.box_size_prior:.2f}): particles merge. A smaller --scale-prior-std may help.",
        ),
    }

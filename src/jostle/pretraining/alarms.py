"""Early signs that a pretraining goes wrong, told in words, once each."""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from jostle.core.errors import NotFiniteError
from jostle.particles.catalog import EncoderConfig
from jostle.particles.config import DLPConfig

_GRACE = 300
"""Steps at the start in which anything may happen."""
_STRETCH = 500
"""Steps that something must last before it is told."""
_STIFF = 1e3
"""Concentration of a Beta from which on it hardly moves any more."""


class Sign(NamedTuple):
    """Something to watch for."""

    wrong: Callable[[Mapping[str, float]], bool]
    """Whether a row of metrics shows it."""
    words: str
    """What it means and what may help."""


class Alarms:
    """Watches the rows of a run; `state` is all that it remembers, as plain data."""

    def __init__(self, config: EncoderConfig) -> None:
        """Know the signs of this kind of encoder."""
        self._signs: dict[str, Sign] = {}
        self._from = _GRACE
        if isinstance(config, DLPConfig):
            self._signs = _signs_of_dlp(config)
            self._from += config.warmup_steps
        self.state: dict[str, Any] = {"since": {}, "told": []}

    def hear(self, row: Mapping[str, float]) -> list[str]:
        """Take in a row of metrics, and say what has been wrong for too long."""
        since, told, found = self.state["since"], self.state["told"], []
        for name, sign in self._signs.items():
            if row["step"] < self._from or not sign.wrong(row):
                since.pop(name, None)
            elif row["step"] - since.setdefault(name, row["step"]) >= _STRETCH and name not in told:
                told.append(name)
                found.append(sign.words)
        return found


def check_finite(total: Tensor, log: Mapping[str, Tensor], step: int, kept: str) -> None:
    """Stop before a loss that is no number can spoil the weights."""
    if bool(torch.isfinite(total)):
        return
    guilty = [name for name, value in log.items() if not bool(torch.isfinite(value))]
    parts = [name for name in guilty if name != "loss"] or ["loss"]
    _refuse(f"The loss is {float(total.detach())} (first of its parts: {parts[0]})", step, kept)


def check_gradient(norm: Tensor, step: int, kept: str) -> None:
    """Stop before a gradient that is no number can spoil the weights."""
    if not math.isfinite(float(norm)):
        _refuse(f"The gradient's norm is {float(norm)}, though the loss is a number", step, kept)


def _refuse(what: str, step: int, kept: str) -> None:
    raise NotFiniteError(
        f"{what} at step {step}. {kept} Look at the last rows of metrics.jsonl for a part that "
        "grows, then begin a new run with --from this one and a smaller --lr or --clip 1."
    )


def _signs_of_dlp(config: DLPConfig) -> dict[str, Sign]:
    few, many = 0.2, 0.9 * config.particles
    large = min(0.6, 3 * config.box_prior)
    return {
        "empty": Sign(
            lambda row: row.get("on", math.nan) < few,
            f"hardly any particle is on (fewer than {few} of {config.particles}): the background "
            "explains everything. Less --crowd, --kl or --beta-prior may help.",
        ),
        "full": Sign(
            lambda row: row.get("on", math.nan) > many,
            f"nearly all of the {config.particles} particles are on: they paint the table too. "
            "More --crowd may help.",
        ),
        "stiff": Sign(
            lambda row: any(row.get(key, 0.0) > _STIFF for key in ("beta_on", "beta_off")),
            f"a concentration of transparency is beyond {_STIFF:g}: particles are stuck on or off. "
            "--bounded-beta or a smaller --lr may help.",
        ),
        "swollen": Sign(
            lambda row: row.get("box", math.nan) > large,
            f"boxes fill more than {large:.2f} of the image's side (the prior says "
            f"{config.box_prior:.2f}): particles merge. A smaller --scale-prior may help.",
        ),
    }

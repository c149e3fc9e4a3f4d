"""`jostle pretrain KIND --data DIR`: train an encoder; `jostle pretrain --resume RUN`: resume."""

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Generic

import tyro

from jostle.core.checks import check_minutes
from jostle.core.errors import BadValueError
from jostle.encoders.catalog import ENCODERS
from jostle.pretraining.config import M, Pretraining, preset

if TYPE_CHECKING:  # they need torch, which help does without
    from jostle.cli.progress import ProgressBar
    from jostle.pretraining.trainer import EncoderTrainer

_SHOWN = {
    "loss": "loss", "reconstruction": "rec", "active_particles": "on", "val_loss": "val",
    "images_per_second": "img/s",
}  # fmt: skip
"""Metrics that the bar has room for, and their short names."""


@dataclass(frozen=True, kw_only=True)
class PretrainConfig(Generic[M]):
    """Train an encoder; every field of the loop and of the encoder can be set by a flag."""

    config: tyro.conf.OmitArgPrefixes[Pretraining[M]]
    """What to train."""
    out: Path = Path("runs")
    """Folder for runs."""
    start: Annotated[str | None, tyro.conf.arg(name="from")] = None
    """Start from the weights of a run, a file or a name of the zoo."""
    resume: Path | None = None
    """Resume this run; other fields, if any differ, are named."""
    minutes: float | None = None
    """Stop after so many minutes and save; resume later with --resume."""
    verify: bool = True
    """Whether a new run first compares all frames with their hashes."""

    def __post_init__(self) -> None:
        """Refuse time limits that leave no time."""
        check_minutes(self.minutes)


@dataclass(frozen=True, kw_only=True)
class ResumeConfig:
    """Resume a run bit-for-bit, as if it had never stopped."""

    resume: Path
    """Folder of the run."""
    data: Path | None = None
    """Where its frames are now, if they were moved."""
    steps: int | None = None
    """A new total of gradient steps, also for a run that is finished."""
    minutes: float | None = None
    """Stop after so many minutes and save."""

    def __post_init__(self) -> None:
        """Refuse time limits that leave no time."""
        check_minutes(self.minutes)


def run(argv: list[str]) -> int:
    """Train until done, stopped or out of time; returns the exit code."""
    if argv and argv[0] in ("-h", "--help"):
        print(_overview())
        return 0
    if argv and not argv[0].startswith("-"):
        trainer, bar = _prepare(argv[0], argv[1:])
    elif any(word.split("=")[0] == "--resume" for word in argv):
        trainer, bar = _resume(tyro.cli(ResumeConfig, prog="jostle pretrain", args=argv))
    else:
        raise BadValueError(f"Name an encoder first. Known: {', '.join(ENCODERS)}.")
    if not trainer.components.ranks.main:
        return _train_quietly(trainer)
    return bar.train(trainer, "pretrain")


def _train_quietly(trainer: "EncoderTrainer") -> int:
    """Train in a process of torchrun that is not the main one, which reports and writes."""
    from jostle.runs.trainer import StopRequested

    with contextlib.suppress(StopRequested):
        trainer.run()
    return 0


def _resume(config: ResumeConfig) -> "tuple[EncoderTrainer, ProgressBar]":
    """An old run."""
    from jostle.cli.progress import ProgressBar
    from jostle.pretraining.data_parallel import reports
    from jostle.pretraining.start import resume_run
    from jostle.runs.resume import ignore

    bar, notify = ProgressBar(config.minutes, ("val_loss",), _SHOWN), print if reports() else ignore
    return resume_run(config.resume, bar, None, config.data, config.steps, notify=notify), bar


def _prepare(kind: str, argv: list[str]) -> "tuple[EncoderTrainer, ProgressBar]":
    """A new run, or an old one that must be as the flags say."""
    default = PretrainConfig(config=preset(kind, _size(argv)))
    described: Any = PretrainConfig
    described = described[ENCODERS[kind].config]  # the fields of this kind of encoder
    options = tyro.cli(described, prog=f"jostle pretrain {kind}", default=default, args=argv)

    from jostle.cli.progress import ProgressBar
    from jostle.pretraining.data_parallel import reports
    from jostle.pretraining.start import resume_run, start_run
    from jostle.zoo.encoders import find_encoder_file

    bar, config = ProgressBar(options.minutes, ("val_loss",), _SHOWN), options.config
    if options.resume is not None:
        data = Path(config.data) if config.data else None
        return resume_run(options.resume, bar, config, data), bar
    folder = options.out / f"{config.name}-{config.seed}"
    weights = None if options.start is None else find_encoder_file(options.start)
    if options.verify and config.data and Path(config.data).is_dir() and reports():
        print("comparing the frames with their hashes (skip with --no-verify)")
    return start_run(config, folder, bar, weights, options.verify), bar


def _size(argv: list[str]) -> str:
    """The preset among the flags, before anything else is read: it sets the defaults."""
    words = " ".join(argv).replace("--preset=", "--preset ").split()
    return words[words.index("--preset") + 1] if "--preset" in words[:-1] else "lite"


def _overview() -> str:
    lines = [
        "usage: jostle pretrain KIND --data DIR [--preset lite|paper] [--field value ...]",
        "       jostle pretrain --resume RUN [--minutes M]     resume a training",
        "       jostle pretrain --resume RUN --steps N         train on, to a new total",
        "       jostle pretrain KIND --help                    all fields",
        "       torchrun --nproc-per-node N -m jostle pretrain ...   N processes share each batch",
        "",
        f"KIND is one of: {', '.join(ENCODERS)}.",
    ]
    return "\n".join(lines)

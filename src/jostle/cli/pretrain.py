"""`jostle pretrain KIND --data DIR`: learn to see; `jostle pretrain --resume RUN`: go on."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Generic

import tyro
from tqdm import tqdm

from jostle.cli.stopping import Stopper
from jostle.core.errors import BadValueError
from jostle.particles.catalog import KINDS
from jostle.pretraining.config import M, Pretraining, recipe
from jostle.pretraining.loop import Pretrainer
from jostle.pretraining.start import begin, go_on
from jostle.training.rounds import StopAskedError
from jostle.zoo.encoders import encoder_weights

_SHOWN = {
    "loss": "loss", "pixels": "pixels", "on": "on", "val_loss": "val", "images_per_second": "img/s",
}  # fmt: skip
"""What the bar has room for, and under which name."""


@dataclass(frozen=True, kw_only=True)
class PretrainConfig(Generic[M]):
    """Pretrain an encoder; every field of the loop and of the encoder can be overridden."""

    plan: tyro.conf.OmitArgPrefixes[Pretraining[M]]
    """What to train."""
    out: Path = Path("runs")
    """Folder for runs."""
    start: Annotated[str | None, tyro.conf.arg(name="from")] = None
    """Start from the weights of a run, a file or a name of the zoo."""
    resume: Path | None = None
    """Go on with this run; other fields, if any differ, are named."""
    minutes: float | None = None
    """Stop cleanly after so many minutes; go on later with --resume."""
    verify: bool = True
    """Whether a new run first compares all frames with their hashes."""


@dataclass(frozen=True, kw_only=True)
class ResumeConfig:
    """Go on with a run, bit by bit as if it had never stopped."""

    resume: Path
    """Folder of the run."""
    data: Path | None = None
    """Where its frames are now, if they were moved."""
    minutes: float | None = None
    """Stop cleanly after so many minutes."""


class Bar:
    """The progress bar, and the clock behind --minutes."""

    def __init__(self, minutes: float | None) -> None:
        """Wait for `watch`, which starts the clock."""
        self._seconds, self._end = 60 * minutes if minutes else None, 0.0
        self._stopper = Stopper()
        self._shown: dict[str, str] = {}
        self._bar: Any = None

    def __call__(self, row: dict[str, Any]) -> None:
        """Show a step, or a warning."""
        if "alarm" in row:
            self._bar.write(f"step {row['step']}: {row['alarm']}")
            return
        self._shown |= {short: f"{row[key]:.4g}" for key, short in _SHOWN.items() if key in row}
        self._bar.set_postfix(self._shown, refresh=False)
        self._bar.update(row["step"] - self._bar.n)
        if self._seconds is not None and time.monotonic() > self._end:
            raise StopAskedError
        self._stopper.check()

    def watch(self, trainer: Pretrainer) -> bool:
        """Train; False when stopped before the end (and saved)."""
        self._end = time.monotonic() + (self._seconds or 0.0)
        total, done = trainer.plan.steps, trainer.counters["step"]
        with tqdm(total=total, initial=done, unit="step") as self._bar:
            try:
                trainer.run()
            except StopAskedError:
                trainer.save()
                return False
        return True


def run(argv: list[str]) -> None:
    """Pretrain until done, stopped or out of time."""
    if argv and not argv[0].startswith("-"):
        trainer, bar, folder = _asked(argv[0], argv[1:])
    elif any(word.split("=")[0] == "--resume" for word in argv):
        again = tyro.cli(ResumeConfig, prog="jostle pretrain", args=argv)
        bar, folder = Bar(again.minutes), again.resume
        trainer = go_on(folder, bar, data=again.data)
    else:
        raise BadValueError(f"Name an encoder first. Known: {', '.join(KINDS)}.")
    if bar.watch(trainer):
        print(f"done: {folder} (best validation loss {trainer.counters['best']:.4g})")
    else:
        print(f"\nstopped and saved; go on with: jostle pretrain --resume {folder}")


def _asked(kind: str, argv: list[str]) -> tuple[Pretrainer, Bar, Path]:
    """A new run, or an old one that must be as the words say."""
    default = PretrainConfig(plan=recipe(kind, _preset(argv)))
    described: Any = PretrainConfig
    described = described[KINDS[kind].config]  # the fields of this kind of encoder
    config = tyro.cli(described, prog=f"jostle pretrain {kind}", default=default, args=argv)
    bar, plan = Bar(config.minutes), config.plan
    if config.resume is not None:
        data = Path(plan.data) if plan.data else None
        return go_on(config.resume, bar, plan, data), bar, config.resume
    folder = config.out / f"{plan.name}-{plan.seed}"
    weights = None if config.start is None else encoder_weights(config.start)
    if config.verify and plan.data and Path(plan.data).is_dir():
        print("comparing the frames with their hashes (--no-verify leaves this out)")
    return begin(plan, folder, bar, weights, config.verify), bar, folder


def _preset(argv: list[str]) -> str:
    """The preset among the words, before anything else is read: it sets the defaults."""
    words = " ".join(argv).replace("--preset=", "--preset ").split()
    return words[words.index("--preset") + 1] if "--preset" in words[:-1] else "lite"

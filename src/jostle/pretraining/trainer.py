"""Training of an encoder on batches of frames."""

import math
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from jostle.core.checkpoint import CheckpointError
from jostle.core.profiler import PROFILER
from jostle.core.protocols import Stateful
from jostle.encoders.saving import describe, read_entry, save_encoder
from jostle.pretraining.components import Components
from jostle.pretraining.config import differences, read_pretraining
from jostle.pretraining.monitor import TrainingMonitor, check_finite, check_gradient
from jostle.pretraining.validation import validate
from jostle.runs.config import changed_config
from jostle.runs.run_dir import RunDir
from jostle.runs.trainer import Report, Schedule, Trainer

_FREE_FIELDS = ("data", "steps", "save_every", "threads", "device", "wandb")
"""Fields that may be changed before a run is resumed; they apply from then on."""


class EncoderTrainer(Trainer):
    """Gradient steps until all are done; an iteration is one step."""

    counter, axis = "step", "step"

    def __init__(self, components: Components, run: RunDir, report: Report) -> None:
        """Write to `run`, and call `report` after every step."""
        config = components.config
        schedule = Schedule(config.log_every, config.validate_every, config.save_every)
        report = components.ranks.agreed(report)
        super().__init__(run, schedule, report, config.wandb and components.ranks.main)
        self.components, self.config = components, config
        self.counters["images"] = 0
        self._monitor = TrainingMonitor(config.model)
        self._averages = _RunningMeans()
        self._batches = components.batches(0)

    @property
    def done(self) -> bool:
        """Whether all steps are done."""
        return bool(self.counters["step"] >= self.total)

    @property
    def total(self) -> int:
        """Gradient steps in total."""
        return self.config.steps

    def parts(self) -> dict[str, Stateful]:
        """Everything with a state."""
        return {
            "encoder": self.components,
            "averages": self._averages,
            "monitor": self._monitor,
        }

    def resume(self) -> None:
        """Restore the last checkpoint."""
        super().resume()
        self._batches = self.components.batches(self.counters["step"])

    def iterate(self) -> None:
        """One gradient step."""
        components, config, step = self.components, self.config, self.counters["step"]
        with PROFILER("reading"):
            frames = next(self._batches)

        # Loss
        for group in components.optimizer.param_groups:
            group["lr"] = config.lr_at(step)
        loss, log = components.loss(frames, step)
        check_finite(loss, log, step, self._saved_files())

        # Gradient step
        components.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        largest = config.max_grad_norm or torch.inf
        norm = torch.nn.utils.clip_grad_norm_(components.model.parameters(), largest)
        check_gradient(norm, step, self._saved_files())
        components.optimizer.step()
        self._update_ema(step)

        # Counters
        self._averages.add({**log, "gradient": norm})
        self.counters["step"] += 1
        self.counters["images"] += config.batch_size * frames.shape[1]

    def metrics(self) -> dict[str, Any]:
        """Means since the last row, and the speed."""
        seconds = self.counters["seconds"]
        steps, elapsed, means = self._averages.take(seconds)
        images = steps * self.config.batch_size * self.components.frames.layout.views
        speed = images / max(elapsed, 1e-9)
        lr = self.config.lr_at(self.counters["step"] - 1)
        return {**means, "lr": lr, "images_per_second": speed}

    def warnings(self, row: dict[str, Any]) -> list[str]:
        """Sentences about metrics that have looked wrong for too long."""
        return self._monitor.check(row)

    def evaluate(self) -> dict[str, Any]:
        """Validate on scenes of other episodes; the best weights so far are kept."""
        if not self.components.ranks.main:
            return {}
        losses = validate(self.components.eval_model, self.components)
        if losses["val_loss"] < self.counters.get("best", math.inf):
            self.counters["best"] = losses["val_loss"]
            meta = {**self._provenance(), "score": losses}
            save_encoder(self.run_dir.best, self.components.eval_model, meta)
        return {**losses, "best": self.counters["best"]}

    def save(self) -> None:
        """Write a checkpoint, in the main process alone."""
        if self.components.ranks.main:
            super().save()

    def describe(self) -> dict[str, Any]:
        """JSON that goes into every checkpoint."""
        encoder = describe(self.components.model)
        return {**self._provenance(), "encoder": encoder, "digest": self.components.digest}

    def check_checkpoint(self, meta: dict[str, Any]) -> None:
        """Refuse a checkpoint of another config or of other frames."""
        read_entry(meta, self.run_dir.last)
        saved = read_pretraining(meta["pretraining"])
        if differing := differences(saved, self.config, _FREE_FIELDS):
            raise changed_config(self.run_dir.experiment, differing)
        if meta["digest"] != self.components.digest:
            raise CheckpointError(
                f"The frames in {self.config.data} are not those this run started with: their hash "
                f"is {self.components.digest}, that of the run {meta['digest']}. Bring the old "
                f"frames back, or start a new run with --from {self.run_dir.path}."
            )

    @torch.no_grad()
    def _update_ema(self, step: int) -> None:
        """Move the averaged weights, quickly in the beginning."""
        if self.components.ema_model is None:
            return
        decay = min(self.config.ema_decay, (1 + step) / (10 + step))
        weights = self.components.model.state_dict()
        for name, average in self.components.ema_model.state_dict().items():
            if average.is_floating_point():
                average.lerp_(weights[name], 1 - decay)
            else:
                average.copy_(weights[name])

    def _saved_files(self) -> str:
        """Say what is safe when something goes wrong."""
        saved = [str(path) for path in (self.run_dir.last, self.run_dir.best) if path.exists()]
        return f"Kept as they were: {', '.join(saved)}." if saved else "Nothing was saved yet."

    def _provenance(self) -> dict[str, Any]:
        """The config, and the trainings of the weights so far."""
        frames = self.components.frames
        used = sorted({int(index) for index in frames.collections[self.components.train]})
        collections = frames.manifest.collections
        stage = {
            "kind": self.config.kind,
            "preset": self.config.preset,
            "seed": self.config.seed,
            "steps": self.counters["step"],
            "images": self.counters["images"],
            "minutes": round(self.counters["seconds"] / 60, 1),
            "scenes": len(self.components.train),
            "data": self.components.digest,
            "collected": [collections[index].get("asked") for index in used],
        }
        config = {**self.config.to_dict(), "data": Path(self.config.data).name}
        return {"pretraining": config, "history": [*self.run_dir.read_history(), stage]}


class _RunningMeans:
    """Means of metrics since they were last taken."""

    def __init__(self) -> None:
        self._sums: dict[str, float] = {}
        self._steps, self._since = 0, 0.0

    def add(self, log: dict[str, Tensor]) -> None:
        """Add the metrics of one step."""
        self._steps += 1
        for name, value in log.items():
            self._sums[name] = self._sums.get(name, 0.0) + float(value)

    def take(self, seconds: float) -> tuple[int, float, dict[str, float]]:
        """Steps and seconds since the last call, and means; `seconds` is the time now."""
        steps, elapsed = self._steps, seconds - self._since
        means = {name: total / max(steps, 1) for name, total in self._sums.items()}
        self._sums, self._steps, self._since = {}, 0, seconds
        return steps, elapsed, means

    def state_dict(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Sums so far."""
        return {}, {"sums": self._sums, "steps": self._steps, "since": self._since}

    def load_state_dict(self, tensors: dict[str, Tensor], meta: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        del tensors
        self._sums, self._steps, self._since = meta["sums"], meta["steps"], meta["since"]

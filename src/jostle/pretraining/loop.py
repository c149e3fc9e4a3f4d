"""Step after step over batches of frames: learn, tell, validate, save."""

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from jostle.core.rundir import RunDir
from jostle.core.telemetry import Telemetry
from jostle.particles.saving import save_encoder
from jostle.pretraining.alarms import Alarms, check_finite, check_gradient
from jostle.pretraining.bench import Bench
from jostle.pretraining.saving import restore_run, save_run
from jostle.pretraining.validation import validate

Report = Callable[[dict[str, Any]], None]


class Pretrainer:
    """Works at a bench until all steps are done."""

    def __init__(self, bench: Bench, run: RunDir, report: Report) -> None:
        """Write to `run`, and tell `report` about every step."""
        self.bench, self.plan, self._run, self._report = bench, bench.plan, run, report
        self._telemetry = Telemetry(run, axis="step")
        self._alarms = Alarms(self.plan.model)
        self.counters: dict[str, Any] = {"step": 0, "images": 0, "seconds": 0.0}
        self._sums: dict[str, float] = {}
        self._since = 0.0

    def resume(self) -> None:
        """Go on where the last checkpoint stands."""
        self.counters = restore_run(self._run, self.bench)
        self._sums = self.counters.pop("sums")
        self._since = self.counters.pop("since")
        self._alarms.state = self.counters.pop("alarms")
        self._run.trim(self.counters["step"], "step")

    def run(self) -> None:
        """Learn until all steps are done."""
        plan, batches = self.plan, self.bench.batches(self.counters["step"])
        while self.counters["step"] < plan.steps:
            start = time.monotonic()
            self._step(next(batches))
            self.counters["seconds"] += time.monotonic() - start
            step = self.counters["step"]
            done = step >= plan.steps
            told: dict[str, float] = {}
            warnings: list[dict[str, Any]] = []
            if step % plan.log_every == 0 or done:
                told = self._told()
                warnings = self._warnings({"step": step, **told})
            if step % plan.validate_every == 0 or done:
                told |= self._validate()
            row = {**told, **self.counters}
            if told:
                self._telemetry.log(row)
            if step % plan.save_every == 0 or done:
                self.save()
            for one in (*warnings, row):  # nobody is told before all is written
                self._report(one)
        self._telemetry.close()

    def save(self) -> None:
        """Write a checkpoint of this moment (between two steps)."""
        also = {"sums": self._sums, "since": self._since, "alarms": self._alarms.state}
        save_run(self._run, self.bench, {**self.counters, **also}, self._meta())

    def _step(self, frames: Tensor) -> None:
        bench, plan, step = self.bench, self.plan, self.counters["step"]
        for group in bench.optimizer.param_groups:
            group["lr"] = plan.pace(step)
        with bench.rounding():
            total, log = bench.model.loss(frames, step, bench.noise)
        check_finite(total, log, step, self._kept())
        bench.optimizer.zero_grad(set_to_none=True)
        total.backward()  # type: ignore[no-untyped-call]
        largest = plan.clip or torch.inf
        norm = torch.nn.utils.clip_grad_norm_(bench.model.parameters(), largest)
        check_gradient(norm, step, self._kept())
        bench.optimizer.step()
        self._average(step)
        for name, value in {**log, "gradient": norm}.items():
            self._sums[name] = self._sums.get(name, 0.0) + float(value)
        self.counters["step"] += 1
        self.counters["images"] += frames.shape[0] * frames.shape[1]

    @torch.no_grad()
    def _average(self, step: int) -> None:
        """Let the averaged weights follow, quickly in the beginning."""
        if self.bench.slow is None:
            return
        decay = min(self.plan.ema, (1 + step) / (10 + step))
        fast = self.bench.model.state_dict()
        for name, slow in self.bench.slow.state_dict().items():
            if slow.is_floating_point():
                slow.lerp_(fast[name], 1 - decay)
            else:
                slow.copy_(fast[name])

    def _told(self) -> dict[str, float]:
        """Means since the last row, and the speed."""
        step, seconds = self.counters["step"], self.counters["seconds"]
        steps = (step - 1) % self.plan.log_every + 1
        told = {name: value / steps for name, value in self._sums.items()}
        told["lr"] = self.plan.pace(step - 1)
        images = steps * self.plan.batch * self.bench.frames.layout.views
        told["images_per_second"] = images / max(seconds - self._since, 1e-9)
        self._sums, self._since = {}, seconds
        return told

    def _warnings(self, row: dict[str, Any]) -> list[dict[str, Any]]:
        """Write down what looks wrong in a row."""
        found = [{"step": row["step"], "alarm": words} for words in self._alarms.hear(row)]
        for warning in found:
            self._run.log(warning)
        return found

    def _validate(self) -> dict[str, float]:
        """Measure on scenes kept apart; what is best so far is kept."""
        found = validate(self.bench.kept, self.bench)
        if found["val_loss"] < self.counters.get("best", math.inf):
            self.counters["best"] = found["val_loss"]
            save_encoder(self._run.best, self.bench.kept, {**self._meta(), "score": found})
        return found

    def _kept(self) -> str:
        """Say what is safe when something goes wrong."""
        held = [str(path) for path in (self._run.last, self._run.best) if path.exists()]
        return f"Kept as they were: {', '.join(held)}." if held else "Nothing was saved yet."

    def _meta(self) -> dict[str, Any]:
        """What the weights are, and what they went through."""
        used = sorted({int(one) for one in self.bench.frames.collections[self.bench.train]})
        collections = self.bench.frames.manifest.collections
        chapter = {
            "kind": self.plan.kind,
            "preset": self.plan.preset,
            "seed": self.plan.seed,
            "steps": self.counters["step"],
            "images": self.counters["images"],
            "minutes": round(self.counters["seconds"] / 60, 1),
            "scenes": len(self.bench.train),
            "data": self.bench.digest,
            "collected": [collections[one].get("asked") for one in used],
        }
        history = [*self._run.read_history(), chapter]
        plan = {**self.plan.to_dict(), "data": Path(self.plan.data).name}
        return {"pretraining": plan, "history": history}

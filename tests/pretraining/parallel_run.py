"""A script for torchrun: pretrains tiny encoders, one of each kind, or resumes them.

Arguments: folder of frames, folder of runs, step to stop at (0: none).
"""

import gc
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from torch import distributed as dist

from jostle.encoders.catalog import ENCODERS
from jostle.pretraining.start import resume_run, start_run
from jostle.runs.run_dir import RunDir
from jostle.runs.trainer import StopRequested
from synthetic_frames import tiny

STEPS = 8


def pretrain(frames: Path, out: Path, kind: str, stop: int = 0) -> None:
    """Pretrain until the end, or until a step."""

    def report(row):
        if row["step"] == stop:
            raise StopRequested

    if RunDir(out / kind).last.is_file():
        trainer = resume_run(out / kind, report)
    else:
        config = tiny(frames, kind, steps=STEPS, log_every=1, validate_every=STEPS, threads=1)
        trainer = start_run(config, out / kind, report)
    try:
        trainer.run()
    except StopRequested:
        assert stop


if __name__ == "__main__":
    folders, stop_at = map(Path, sys.argv[1:3]), int(sys.argv[3])
    frames, out = folders
    for name in ENCODERS:
        pretrain(frames, out, name, stop_at)
    if dist.is_initialized():  # both leave together: threads of a lost process abort the other
        gc.collect()
        dist.barrier()
        dist.destroy_process_group()

"""Which variations a training may have."""

from jostle.core.errors import require
from jostle.tasks.vary import Vary


def check_trainable(vary: Vary) -> None:
    """Refuse what only evaluations vary."""
    require(
        vary.distractors is None,
        "A training on Distractors has as many as the task itself: leave out --vary "
        "distractors=..., or vary them in 'jostle evaluate' and 'jostle video'.",
    )
    cameras = [key for key, _ in vary.values if "camera" in key]
    require(
        not cameras,
        f"A training cannot vary cameras, whose calibration it reads: leave out "
        f"{', '.join(cameras)}, or vary them in 'jostle evaluate' and 'jostle video'.",
    )

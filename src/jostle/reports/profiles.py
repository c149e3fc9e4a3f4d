"""Performance profiles: which fraction of episodes is better than each threshold."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from jostle.evaluation.statistics import performance_profile
from jostle.evaluation.stored import StoredResult

_THRESHOLDS = 101


def plot_profiles(
    pairs: Sequence[tuple[StoredResult, StoredResult]],
    metric: str,
    smaller_is_better: bool,
    out: Path,
    rng: np.random.Generator,
) -> Path:
    """Plot the profiles of two agents with 95 % bands, one panel per task."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.6 * len(pairs), 3.4), layout="constrained")
    panels = figure.subplots(1, len(pairs), squeeze=False)[0]
    sign = -1.0 if smaller_is_better else 1.0
    for axes, pair in zip(panels, pairs, strict=True):
        values = np.concatenate([result.metrics[metric] for result in pair])
        margin = 0.02 * np.ptp(values) + 1e-6  # all episodes are above or below its ends
        thresholds = np.linspace(values.min() - margin, values.max() + margin, _THRESHOLDS)
        for number, result in enumerate(pair):
            scores = sign * result.metrics[metric][None]  # (1, E)
            profile, low, high = performance_profile(scores, sign * thresholds, rng)
            axes.plot(thresholds, profile, f"C{number}", label=result.agent)
            axes.fill_between(thresholds, low, high, color=f"C{number}", alpha=0.2, linewidth=0)
        better = "below" if smaller_is_better else "above"
        axes.set(xlabel=metric.replace("_", " "), ylabel=f"episodes {better}", ylim=(-0.03, 1.03))
        axes.set_title(pair[0].title(), fontsize=10)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=110)
    return out

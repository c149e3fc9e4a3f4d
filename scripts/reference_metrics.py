"""The reference page of metrics and log keys, from the texts in the code."""

from collections.abc import Iterator, Mapping

from jostle.core.goal_metric import METRICS
from jostle.core.log_keys import (
    AGENT_KEYS,
    COUNTERS,
    ENCODER_KEYS,
    EPISODE_KEYS,
    EVALUATION_KEYS,
    RESULT_KEYS,
    STUDY_KEYS,
    TIME_KEYS,
)
from jostle.probing.metrics import metric_descriptions

_SECTIONS: tuple[tuple[str, str, Mapping[str, str]], ...] = (
    (
        "The paper's five metrics",
        "In `info` of every step, in results and in tables. Tables report the final step.",
        METRICS,
    ),
    (
        "Counters",
        "Rows of `metrics.jsonl` of a run. TensorBoard and Weights & Biases get the same keys.",
        COUNTERS,
    ),
    ("Training of agents", "One row per iteration. Losses are means over its updates.", AGENT_KEYS),
    (
        "Evaluation during training",
        "Every `eval_every` iterations, on fixed episodes. Best weights are those of the best "
        "`success`.",
        EVALUATION_KEYS,
    ),
    (
        "Training of encoders",
        "Means since the last row, every `log_every` steps. The same with `val_` in front are "
        "means over the validation scenes.",
        ENCODER_KEYS,
    ),
    (
        "Times",
        "Seconds since the last row, each part without the parts measured inside it.",
        TIME_KEYS,
    ),
    (
        "Results of an evaluation",
        "`jostle.evaluate(...).summary`, and `score` in files of weights.",
        RESULT_KEYS,
    ),
    ("Results of a study", "Rows of `OUT.json` of `jostle benchmark` have besides:", STUDY_KEYS),
    (
        "Episodes",
        "`jostle.evaluate(...).rows`, and lines of `OUT.jsonl`, which begin with `task`, `agent` "
        "and `objects`.",
        EPISODE_KEYS,
    ),
)


def metrics_page() -> str:
    """All keys with their meaning."""
    lines = [
        "# Metrics and log keys", "",
        "Generated from `src/jostle/core/log_keys.py`. A training that logs a key without an entry "
        "there fails the tests.",
    ]  # fmt: skip
    for title, introduction, keys in _SECTIONS:
        lines += ["", f"## {title}", "", introduction, "", *_table(keys)]
    lines += [
        "", "## Metrics of encoders", "",
        "Of `jostle probe`; [probing](../../representations.md#probing) says how each is measured.",
        "", *_table(metric_descriptions()),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _table(keys: Mapping[str, str]) -> Iterator[str]:
    yield from ("| key | meaning |", "|---|---|")
    for key, text in keys.items():
        yield f"| `{key}` | {text[0].upper()}{text[1:].rstrip('.')}. |"

"""Every key that is logged has an explanation, and every explanation a key."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from jostle.core.log_keys import (
    AGENT_KEYS,
    COUNTERS,
    ENCODER_KEYS,
    EPISODE_KEYS,
    EVALUATION_KEYS,
    RESULT_KEYS,
    STUDY_KEYS,
    TIME_KEYS,
    explain_key,
)

SOURCE = Path(__file__).parents[2] / "src/jostle"
TEXTS = {path: path.read_text() for path in SOURCE.rglob("*.py") if path.name != "log_keys.py"}


def test_every_part_of_the_profiler_is_explained():
    parts = {part for text in TEXTS.values() for part in re.findall(r'PROFILER\("(\w+)"\)', text)}
    assert {f"time/{part}" for part in parts} == set(TIME_KEYS)


@pytest.mark.parametrize("key", [*COUNTERS, *AGENT_KEYS, *EVALUATION_KEYS, *ENCODER_KEYS])
def test_every_explained_key_is_in_the_code(key):
    name = key.removeprefix("train_")
    assert any(re.search(rf"\b{name}\b", text) for text in TEXTS.values())
    assert explain_key(key)


def test_rows_of_results_have_explained_keys_only():
    import jostle
    from jostle.cli.benchmark import Row

    result = jostle.evaluate("oracle", "PushT", episodes=1, num_envs=1, vary="light=0.9")
    assert set(result.summary) == set(RESULT_KEYS)
    assert set(result.rows[0]) == set(EPISODE_KEYS)
    assert {"paper", "target", "training"} <= set(Row.__dataclass_fields__) & set(STUDY_KEYS)


def test_keys_of_trainings_of_agents_are_explained(tmp_path):
    pytest.importorskip("torch")
    from experiments import DAGGER, TD3, metric_rows, quiet, tiny
    from jostle.presets.axes import Axes
    from jostle.training.start import start_run
    from recorded import record

    logged = set()
    record(tmp_path / "data", 4, task="OneCube")
    for name, axes in (("td3", TD3), ("dagger", DAGGER), ("iql", Axes(method="iql"))):
        experiment = tiny(axes=axes, env_steps=4 * 5 * 3, horizon=5, random_episodes=4)
        if name == "dagger":
            training = replace(experiment.training, shuffle_object_ids=False)
            net = replace(experiment.net, aux_targets=4)
            experiment = replace(experiment, training=training, net=net)
        if name == "iql":
            data = str(tmp_path / "data")
            experiment = replace(
                experiment, offline=replace(experiment.offline, data=data, updates=2)
            )
        start_run(experiment, tmp_path / name, report=quiet).run()
        for row in metric_rows(tmp_path / name):
            logged |= set(row)
    unexplained = sorted(key for key in logged if explain_key(key) is None)
    assert unexplained == []
    expected = set(AGENT_KEYS) | set(EVALUATION_KEYS)
    elsewhere = {"train_staleness", "train_worker_restarts"}  # tests of workers log them
    elsewhere |= {key for key in expected if "image_" in key}  # and tests of image rewards these
    assert expected - elsewhere <= logged


@pytest.mark.parametrize("encoder", ["dlp paper", "dlp lite", "slots lite", "vae lite"])
def test_terms_of_every_encoder_are_explained(encoder):
    torch = pytest.importorskip("torch")
    from jostle.encoders.catalog import ENCODERS, build_encoder

    kind, size = encoder.split()
    config = ENCODERS[kind].presets[size]
    model = build_encoder(kind, config)
    frames = torch.zeros(1, 2, config.image_size, config.image_size, 3, dtype=torch.uint8)
    with torch.no_grad():
        for step in (0, 1 << 40):  # in the warm-up, and after it
            terms = model.loss(frames, step, torch.Generator().manual_seed(0))[1]
            assert set(terms) <= set(ENCODER_KEYS)

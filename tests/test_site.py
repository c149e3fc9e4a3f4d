"""The documentation as a site: it builds without a warning and loads nothing from elsewhere."""

import dataclasses
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parents[1]
NEEDED = ("sphinx", "furo", "myst_parser", "torch", "stable_baselines3")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing and not os.environ.get("CI"):
        pytest.skip(f"{', '.join(missing)} is missing: pip install 'jostle[docs,sb3,train]'")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q"]
    doctrees = folder.parent / "doctrees"
    answer = subprocess.run(
        [*command, "-d", str(doctrees), str(ROOT / "docs"), str(folder)],
        capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )  # fmt: skip
    assert answer.returncode == 0, answer.stderr
    return folder


def test_every_page_is_part_of_the_site(site):
    for page in (ROOT / "docs").rglob("*.md"):
        assert (site / page.relative_to(ROOT / "docs").with_suffix(".html")).exists(), page.name


def test_nothing_is_loaded_from_elsewhere(site):
    loaded = re.compile(r"<(?:script|link|img|iframe)\b[^>]*(?:src|href)=[\"'](?:https?:)?//")
    pages, styles = list(site.rglob("*.html")), list(site.rglob("*.css"))
    assert len(pages) > 60
    assert styles
    assert [page.name for page in pages if loaded.search(page.read_text())] == []
    for style in styles:
        assert not re.search(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", style.read_text())


def test_equations_need_no_script(site):
    text = (site / "concepts/goals.html").read_text()
    assert "<math" in text
    assert "mathjax" not in text.lower()


def test_the_reference_has_every_field_and_command(site):
    from jostle.cli.main import COMMANDS
    from jostle.tasks.catalog import TASKS
    from jostle.training.experiment import Experiment, TrainingConfig

    folder = site / "reference/generated"
    config = (folder / "config.html").read_text()
    for cls in (Experiment, TrainingConfig):
        for field in dataclasses.fields(cls):
            assert f">{field.name}<" in config
    commands = (folder / "commands.html").read_text()
    assert all(f"jostle {name}<" in commands for name in COMMANDS)
    tasks = (folder / "tasks.html").read_text()
    assert all(f"jostle/{name}-v0" in tasks for name in TASKS)


def test_the_readme_has_at_most_a_hundred_lines():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 100


def test_every_internal_link_leads_somewhere(site):
    pages = {page: page.read_text() for page in site.rglob("*.html")}
    anchors = {page: set(re.findall(r'\bid="([^"]+)"', text)) for page, text in pages.items()}
    links = 0
    for page, text in pages.items():
        if "results/encoders" in page.as_posix() and "furo" not in text:
            continue  # a report of the probe, not a page of the site
        for link in re.findall(r'<(?:a|img|video|source)\b[^>]*?\b(?:href|src)="([^"]*)"', text):
            if re.match(r"[a-z]+:", link):
                continue  # elsewhere, or within the page as data
            path, _, anchor = unquote(link).partition("#")
            target = (page.parent / path).resolve() if path else page
            assert target.exists(), f"{page.relative_to(site)} links to {link}"
            if anchor and target in anchors:
                assert anchor in anchors[target], f"{page.relative_to(site)} links to {link}"
            links += 1
    assert links > 5000


def test_the_reference_explains_every_key_of_the_log(site):
    from jostle.core import log_keys

    text = (site / "reference/generated/metrics.html").read_text()
    for name in ("COUNTERS", "AGENT_KEYS", "ENCODER_KEYS", "TIME_KEYS", "RESULT_KEYS"):
        for key in getattr(log_keys, name):
            assert f">{key}<" in text, key


def test_every_flag_is_in_the_reference(site):
    from jostle.agents.config import TD3Config
    from jostle.encoders.slot_config import SlotConfig
    from jostle.replay.config import HindsightConfig
    from jostle.training.experiment import TrainingConfig

    text = (site / "reference/generated/commands.html").read_text()
    for cls in (TD3Config, HindsightConfig, TrainingConfig, SlotConfig):
        for field in dataclasses.fields(cls):
            assert f"--{field.name.replace('_', '-')}" in text, field.name

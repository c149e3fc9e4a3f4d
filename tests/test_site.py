"""The documentation as a site: it builds without a warning and loads nothing from elsewhere."""

import dataclasses
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

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

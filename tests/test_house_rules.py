"""The rules of the house that no linter knows."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from jostle.tasks.catalog import TASKS

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src/jostle").rglob("*.py"))
GENERATED = ROOT / "docs/reference/generated"
"""Pages that building the site writes; they are not always there."""
PAGES = [
    page
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if GENERATED not in page.parents
]


def test_no_file_is_longer_than_three_hundred_lines():
    folders = ("src", "tests", "benchmarks", "scripts")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    assert len(files) > 300
    assert [path.name for path in files if len(path.read_text().splitlines()) > 300] == []


def test_the_mathematics_of_attention_fit_on_one_page():
    assert len((ROOT / "src/jostle/nets/attention.py").read_text().splitlines()) <= 90


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_every_path_and_link_in_the_docs_exists(page):
    text = page.read_text()
    links = re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", text)
    named = re.findall(r"`((?:src|docs|tests|benchmarks|studies|scripts)/[\w./-]+)`", text)
    for link in links:
        if GENERATED in (page.parent / link).resolve().parents:
            continue  # the build of the site checks them
        assert (page.parent / link).exists(), f"{page.name} links to {link}"
    for path in named:
        assert (ROOT / path).exists(), f"{page.name} names {path}"


def test_every_test_that_the_docs_name_exists():
    named = {name for page in PAGES for name in re.findall(r"`(test_\w+)`", page.read_text())}
    tests = "".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    assert len(named) > 20
    assert sorted(name for name in named if f"def {name}(" not in tests) == []


STEPPING = {
    "cli/doctor.py": ["env"],  # tries the Gymnasium interface
    "playground/simulation.py": ["env"],  # an episode that is edited while it runs
    "rollout/collector.py": ["self.env"],  # training
    "rollout/rollout.py": ["env"],  # everything else
}
"""Who may step environments: besides them, only the environments' own layers."""


def test_one_loop_steps_environments_in_training_and_one_elsewhere():
    other = ("optimizer", "_reaching")  # steps that are no environment's
    found = {}
    for path in SOURCES:
        name = path.relative_to(ROOT / "src/jostle").as_posix()
        stepped = re.findall(r"([\w.]+)\.step\(", path.read_text())
        stepped = [receiver for receiver in stepped if not receiver.endswith(other)]
        if stepped and not name.startswith(("envs/", "scene/")):
            found[name] = stepped
    assert found == STEPPING


def test_trainers_know_agents_by_protocols_only():
    for path in (ROOT / "src/jostle/training").glob("*.py"):
        classes = re.findall(r"isinstance\([^,()]+, ([^()]+)\)", path.read_text())
        assert set(classes) <= {"tuple", "ImitationAgent"}, path.name


def test_every_task_has_a_section_in_the_docs():
    text = (ROOT / "docs/tasks.md").read_text()
    for name in TASKS:
        assert f"jostle/{name}-v0" in text


def test_every_option_is_documented():
    from jostle.envs.options import EnvOptions

    text = (ROOT / "docs/tasks.md").read_text()
    for option in EnvOptions.__dataclass_fields__:
        assert f"`{option}`" in text


def test_the_tables_of_renamed_things_are_up_to_date(tmp_path):
    pytest.importorskip("torch")
    script, page = ROOT / "scripts/upgrade_format.py", tmp_path / "renamed.md"
    subprocess.run([sys.executable, str(script), "--docs", str(page)], check=True)
    assert (ROOT / "docs/renamed.md").read_text() == page.read_text(), (
        "run: python scripts/upgrade_format.py --docs docs/renamed.md"
    )


def test_environments_start_without_torch_matplotlib_or_imageio():
    code = (
        "import sys, jostle, gymnasium\n"
        "env = gymnasium.make('jostle/OneCube-v0'); env.reset(seed=0)\n"
        "print([m for m in ('torch', 'matplotlib', 'imageio', 'PIL') if m in sys.modules])"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "[]"


@pytest.fixture
def registries_are_restored(monkeypatch):
    """Examples register tasks, methods and rewards; other tests must not meet them."""
    pytest.importorskip("torch")
    import gymnasium

    from jostle.encoders.catalog import ENCODERS
    from jostle.rewards.catalog import REWARDS
    from jostle.scene.shapes import SHAPES
    from jostle.training.methods import METHODS

    for registry in (TASKS, SHAPES, ENCODERS, METHODS, REWARDS):
        monkeypatch.setattr(registry, "_entries", dict(registry._entries))
    known = set(gymnasium.registry)
    yield
    for name in set(gymnasium.registry) - known:
        gymnasium.registry.pop(name)


def python_blocks(page):
    return re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)


PAGES_WITH_EXAMPLES = [page for page in PAGES if python_blocks(page)]


def test_readme_tutorials_and_most_pages_of_the_docs_have_examples():
    named = {page.relative_to(ROOT).as_posix() for page in PAGES_WITH_EXAMPLES}
    tutorials = (ROOT / "docs/tutorials").glob("*.md")
    assert {"README.md", "docs/api.md", "docs/tour.md", "docs/start/quickstart.md"} <= named
    assert {page.relative_to(ROOT).as_posix() for page in tutorials} <= named


@pytest.mark.parametrize(
    "page", PAGES_WITH_EXAMPLES, ids=lambda page: page.relative_to(ROOT).as_posix()
)
def test_python_examples_in_the_docs_run(page, tmp_path, monkeypatch, registries_are_restored):
    monkeypatch.chdir(tmp_path)
    for block in python_blocks(page):
        if "stable_baselines3" in block and find_spec("stable_baselines3") is None:
            continue  # its own tests say that the extra is missing
        exec(compile(block, str(page), "exec"), {"__name__": "example"})


def test_training_commands_of_the_guides_are_understood():
    from jostle.presets.words import parse_words

    guides = [page for page in PAGES if page.parent.name in ("start", "tutorials", "howto")]
    commands = [
        re.sub(r"--seeds( \d+)+( --jobs \d+)?", "", line)
        .replace("$seed", "1")
        .replace('"$SEED"', "1")
        .replace("--quiet", "")
        .split()
        for page in (ROOT / "README.md", *guides)
        for line in re.findall(r"^ *(?:\w+=\d )?jostle train ([^\n#&]*)", page.read_text(), re.M)
    ]
    assert len(commands) > 10
    for words in commands:
        if "--resume" not in words:
            assert parse_words(words).experiment.name


OLD_WORDS = """
    restless unrest knower workshop crowd slow_actor slow_critics slow_copies imitate_self
    actor_rests worst_reward lowest_value clip_gradient target_clip one_coin rehearsal rehearse
    episodering sitting darkroom camerawork bearings lane lanes eyes telling tells teller told
    goalform upheld photographed photos chapters examination examine examined shelf
    shelve relay stranger nobody somebody shall heirs storeys sceneries
"""
"""Private words of an earlier version; docs/glossary.md has those of this one."""


def test_old_words_stay_out():
    banned = re.compile(rf"\b({'|'.join(OLD_WORDS.split())})\b", re.IGNORECASE)
    names = ("src/**/*.py", "tests/**/*.py", "benchmarks/*.py", "studies/*.toml", "docs/**/*.md")
    pages = [path for pattern in names for path in ROOT.glob(pattern)]
    pages += [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    excused = {ROOT / "docs/renamed.md", Path(__file__)}  # they list the old words
    excused |= set((ROOT / "tests/cli").glob("test_main.py"))  # it types old flags
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in pages
        if path not in excused
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if banned.search(line)
    ]
    assert not found, "\n".join(found)

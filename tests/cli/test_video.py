"""`jostle video`: cameras, colors, sizes, several agents; `jostle docs`: all pictures."""

import sys
from pathlib import Path

import numpy as np
import pytest

imageio = pytest.importorskip("imageio.v2")
Image = pytest.importorskip("PIL.Image")

from jostle.cli.docs import all_pictures  # noqa: E402
from jostle.cli.main import main  # noqa: E402
from jostle.cli.video import VideoConfig, make_video, video_frames  # noqa: E402
from jostle.core.errors import BadValueError, UnknownNameError  # noqa: E402

DOCS = Path(__file__).parents[2] / "docs"


def frames_of(**options):
    """Frames of a short video, and its recordings."""
    config = VideoConfig(**{"task": "TwoCubes", "size": 96, "steps": 1} | options)
    return video_frames(config)


def test_the_same_command_gives_the_same_video(tmp_path):
    contents = []
    for folder in ("a", "b"):
        config = VideoConfig(
            task="OneCube", out=tmp_path / folder, steps=3, size=64, format="gif", seed=4
        )
        video, sheet, _ = make_video(config)
        contents.append((video.read_bytes(), sheet.read_bytes()))
        assert sorted(path.name for path in (tmp_path / folder).iterdir()) == [
            "OneCube-oracle-4.gif", "OneCube-oracle-4.png",
        ]  # fmt: skip
    assert contents[0] == contents[1]


def test_cameras_are_views_of_one_episode():
    _, (hero,) = frames_of()
    frames, (both,) = frames_of(camera=("top", "hero"))
    assert list(both.views) == ["top", "hero"]
    np.testing.assert_array_equal(both.views["hero"], hero.views["hero"])
    assert (both.views["top"] != both.views["hero"]).any()
    assert frames[0].shape[1] == 2 * 96 + 4


def test_size_is_that_of_each_view():
    for size in (63, 120):
        frames, (recording,) = frames_of(size=size)
        assert recording.views["hero"].shape == (2, size, size, 3)
        assert frames[0].shape[1] == size
        assert frames[0].shape[0] > size, "with lines of text"


def test_agents_side_by_side_play_the_same_episode():
    frames, (first, second) = frames_of(agent=("oracle", "random"), steps=2, seed=3)
    np.testing.assert_array_equal(first.views["hero"][0], second.views["hero"][0])
    np.testing.assert_array_equal(first.distances[0], second.distances[0])
    assert (first.views["hero"][-1] != second.views["hero"][-1]).any()
    alone = [frames_of(agent=(name,), steps=2, seed=3)[0] for name in ("oracle", "random")]
    for frame, left, right in zip(frames, *alone, strict=True):
        assert frame.shape[1] == left.shape[1] + right.shape[1] + 4
        np.testing.assert_array_equal(frame[:, : left.shape[1]], left)
        np.testing.assert_array_equal(frame[:, -right.shape[1] :], right)
    assert (alone[0][0] != alone[1][0]).any(), "the names above them differ"


def test_colors_are_those_of_the_objects():
    _, (named,) = frames_of(colors=("pink", "orange"))
    assert named.colors == ((1.0, 0.4, 0.7), (1.0, 0.55, 0.0))
    _, (fixed,) = frames_of()
    assert fixed.colors != named.colors
    assert (fixed.views["hero"] != named.views["hero"]).any()
    np.testing.assert_array_equal(fixed.distances, named.distances)
    colors = {frames_of(colors=("random",), seed=seed)[1][0].colors for seed in range(4)}
    assert len(colors) > 1


def test_variations_and_ghosts_are_shown():
    _, (plain,) = frames_of()
    _, (dark,) = frames_of(vary=("light=0.5",))
    assert dark.views["hero"].mean() < 0.8 * plain.views["hero"].mean()
    _, (bare,) = frames_of(ghosts=False)
    assert (bare.views["hero"] != plain.views["hero"]).any()
    np.testing.assert_array_equal(bare.goals["hero"], plain.goals["hero"])


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"camera": ("hreo",)}, UnknownNameError, "Did you mean 'hero'"),
        ({"camera": ("hero", "hero")}, BadValueError, "share a name"),
        ({"camera": ()}, BadValueError, "at least one camera"),
        ({"agent": ()}, BadValueError, "at least one agent"),
        ({"agent": ("oracle", "randm")}, UnknownNameError, "Did you mean 'random'"),
        ({"colors": ("ornage", "red")}, UnknownNameError, "Did you mean 'orange'"),
        ({"colors": ("red",)}, BadValueError, "color"),
        ({"colors": ()}, BadValueError, "color"),
        ({"colors": ("random",), "vary": ("color=red,cyan",)}, BadValueError, "given twice"),
        ({"size": 4}, BadValueError, "size must be at least 8"),
        ({"size": 5000}, BadValueError, "2048"),
    ],
)
def test_impossible_flags_are_refused_before_anything_is_recorded(options, error, text):
    with pytest.raises(error, match=text):
        frames_of(**options)


def test_flags_of_the_command_line(tmp_path, monkeypatch, capsys):
    words = "video TwoCubes --agent oracle random --camera hero top --colors red cyan --size 64"
    words += " --vary mass=x2 --steps 2 --format gif"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["jostle", *words.split()])
    with pytest.raises(SystemExit) as stopped:
        main()
    output = capsys.readouterr().out
    assert stopped.value.code == 0, output
    assert "oracle: no success" in output
    assert "random: no success" in output
    stem = "videos/TwoCubes-oracle-random-0-red-cyan-hero-top-mass-x2"
    assert {path.suffix for path in tmp_path.glob(f"{stem}.*")} == {".gif", ".png"}
    assert len(imageio.mimread(tmp_path / f"{stem}.gif")) == 3


SCREENSHOTS = {
    "paper-page.png", "playground.png", "playground-phone.png", "playground.webm", "site.png",
    "tagging.png",
}  # fmt: skip
"""Pictures of pages in a browser, which no command of the package draws."""


def test_one_command_makes_every_picture_of_the_docs_and_they_are_small():
    folder = DOCS / "pictures"
    made = {path.name for path in all_pictures(DOCS) if folder in path.parents}
    present = {path.name: path.stat().st_size for path in folder.rglob("*.*")}
    assert made | SCREENSHOTS == set(present)
    for name, size in present.items():
        assert size < (2e6 if name.endswith(".gif") else 150e3), name


def test_one_command_makes_every_plot_of_the_results_and_pages_show_them():
    folder = DOCS / "results" / "curves"
    made = {path.name for path in all_pictures(DOCS) if path.parent == folder}
    assert made == {path.name for path in folder.glob("*.png")}
    pages = "".join(page.read_text() for page in DOCS.rglob("*.md"))
    for name in made:
        assert f"curves/{name}" in pages, name
        with Image.open(folder / name) as image:
            assert round(image.info["dpi"][0]) == 200, name


def test_docs_draws_only_what_is_asked_for(tmp_path, monkeypatch, capsys):
    def docs(*words):
        monkeypatch.setattr(sys, "argv", ["jostle", "docs", "--out", str(tmp_path), *words])
        with pytest.raises(SystemExit) as stopped:
            main()
        return stopped.value.code, capsys.readouterr()

    assert docs("--only", "ThreeCubes", "architecture")[0] == 0
    names = {path.name for path in (tmp_path / "pictures").iterdir()}
    assert names == {"ThreeCubes.png", "architecture.png"}
    code, output = docs("--only", "four-cubes")
    assert code == 2
    assert "No picture is called four-cubes" in output.err


class SmallerTable:
    """A policy that asks for another table than the task has."""

    env_kwargs = {"variation": "table=0.45x0.55"}  # noqa: RUF012

    def act(self, observation):
        return np.zeros((len(observation["observation"]), 3), np.float32)


def test_agents_that_need_different_scenes_are_not_compared(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parent)
    with pytest.raises(BadValueError, match="needs another scene than 'oracle'"):
        frames_of(agent=("oracle", f"{Path(__file__).stem}:SmallerTable"))

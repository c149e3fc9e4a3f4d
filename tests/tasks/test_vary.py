"""Variations as text: read and written back, in any order, each changing only what it says."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from jostle.core.errors import BadValueError, ImpossibleSceneError, JostleError, UnknownNameError
from jostle.envs.options import EnvOptions
from jostle.scene.colors import COLOR_SETS, COLORS
from jostle.scene.shapes import default_mass
from jostle.tasks.feasibility import check_possible
from jostle.tasks.vary import FACTORS, NO_VARIATION, parse_vary, read_variations

CHANGES = {
    "shape=star": {"scene.objects.shape", "scene.parts"},
    "size=1.5x1.2": {"scene.objects.scale", "start", "goal", "photo"},
    "mass=x20": {"scene.objects.mass"},
    "mass=0.2": {"scene.objects.mass"},
    "friction=0.5": {"scene.objects.friction"},
    "table=0.4x0.5": {"scene.table.x", "scene.table.y", "start", "goal", "photo"},
    "color=orange,pink,brown": {"look.colors"},
    "color=held-out": {"look.colors"},
    "camera.front.x=+0.05": {"look.cameras.position"},
    "camera.side.z=1.9": {"look.cameras.position"},
    "camera.front.fov=40": {"look.cameras.fov"},
    "light=0.7": {"look.brightness"},
    "light_angle=30": {"look.light_angle"},
}
"""What each factor changes of a stored episode: keys of its JSON."""
ALL = (
    "shape=star size=1.5x1.5 mass=x20 friction=0.5 table=0.4x0.5 color=orange,pink,brown "
    "camera.front.x=+0.05 camera.front.z=-0.1 camera.side.fov=40 light=0.7 light_angle=30 "
    "drop_camera=side"
)


def episode(vary: str | None, seed: int, **options):
    sampler = EnvOptions(variation=vary, **options).episode_sampler("ThreeCubes", {})
    return sampler.sample(np.random.default_rng(seed))


def leaves(value, path=""):
    """Values of nested JSON by their keys; lists of objects count as one."""
    if isinstance(value, dict):
        parts = [leaves(item, f"{path}.{key}".lstrip(".")) for key, item in value.items()]
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        parts = [leaves(item, path) for item in value]
    else:
        return {path: [value]}
    merged: dict[str, list] = {}
    for part in parts:
        for key, items in part.items():
            merged.setdefault(key, []).extend(items)
    return merged


# Text


def test_text_is_written_back_as_it_was_read():
    assert str(parse_vary(ALL)) == ALL
    assert parse_vary(str(parse_vary(ALL))) == parse_vary(ALL)
    assert str(parse_vary("size=1.5 mass=x2.0 camera.front.x=0.70")) == (
        "size=1.5x1.5 mass=x2 camera.front.x=0.7"
    )


@pytest.mark.parametrize("text", [factor.example for factor in FACTORS.values()])
def test_examples_of_all_factors_are_read_and_written_back(text):
    assert str(parse_vary(text)) == text


def test_the_order_of_the_text_does_not_matter(rng):
    items = ALL.split()
    for _ in range(10):
        shuffled = [items[index] for index in rng.permutation(len(items))]
        assert parse_vary(shuffled) == parse_vary(" ".join(shuffled)) == parse_vary(ALL)
    first, second = (" ".join(pair) for pair in (items[:3], items[2::-1]))
    assert episode(first, 3).to_json() == episode(second, 3).to_json()


def test_nothing_is_varied_by_nothing():
    for nothing in ("", (), None, NO_VARIATION):
        assert not parse_vary(nothing)
        assert parse_vary(nothing).env_kwargs({"objects": 3}, "oracle") == {"objects": 3}
    assert episode("", 4).digest == episode(None, 4).digest


# What a factor changes


def test_every_factor_is_tested_here():
    assert {text.partition("=")[0].partition(".")[0] for text in CHANGES} | {
        "drop_camera",
        "distractors",
    } == set(FACTORS)


@pytest.mark.parametrize("text", CHANGES)
def test_a_factor_changes_what_it_says_and_nothing_else(text):
    changed = set()
    for seed in range(12):
        plain, varied = (leaves(json.loads(episode(vary, seed).to_json())) for vary in (None, text))
        changed |= {key for key in plain | varied if plain.get(key) != varied.get(key)}
    assert changed == CHANGES[text]


def test_factors_have_the_values_of_the_text():
    varied = episode("size=1.5x1.2 friction=0.5 mass=x20 table=0.4x0.5 light=0.7", 0)
    assert {obj.scale for obj in varied.scene.objects} == {(1.5, 1.2)}
    assert {obj.friction for obj in varied.scene.objects} == {0.5}
    assert {obj.mass for obj in varied.scene.objects} == {20}
    assert (varied.scene.table.x, varied.scene.table.y) == (0.4, 0.5)
    assert varied.appearance.brightness == 0.7


def test_kilograms_are_the_mass_of_any_shape_and_size():
    for text in ("mass=0.3", "mass=0.3 shape=star", "size=1.5 mass=0.3", "shape=tee mass=0.3"):
        for obj in episode(text, 0).scene.objects:
            assert obj.mass * default_mass(obj) == pytest.approx(0.3)


def test_cameras_are_moved_by_signed_numbers_and_set_by_plain_ones():
    before = {camera.name: camera for camera in episode(None, 0).appearance.cameras}
    moved = episode("camera.front.x=+0.05 camera.front.y=-0.1 camera.side.z=1.9", 0)
    after = {camera.name: camera for camera in moved.appearance.cameras}
    assert np.subtract(after["front"].position, before["front"].position) == pytest.approx(
        (0.05, -0.1, 0)
    )
    assert after["side"].position == (*before["side"].position[:2], 1.9)
    assert all(after[name].target == before[name].target for name in after)


# Colors


def test_colors_are_distinct_and_of_the_set_in_every_episode():
    seen = set()
    for seed in range(20):
        colors = episode("color=held-out", seed).appearance.colors
        assert len(set(colors)) == 3
        assert set(colors) <= {COLORS[name] for name in COLOR_SETS["held-out"]}
        seen.add(colors)
    assert len(seen) > 1


def test_color_sets_do_not_overlap_and_hold_all_colors():
    sets = list(COLOR_SETS.values())
    assert not any(set(one) & set(other) for one, other in itertools.combinations(sets, 2))
    assert {name for names in sets for name in names} == set(COLORS)


def test_objects_of_one_color_stay_of_one_color():
    sampler = EnvOptions(variation="color=held-out").episode_sampler("Sorting", {})
    plain = EnvOptions().episode_sampler("Sorting", {})
    for seed in range(3):
        colors = sampler.sample(np.random.default_rng(seed)).appearance.colors
        before = plain.sample(np.random.default_rng(seed)).appearance.colors
        assert len(set(zip(before, colors, strict=True))) == len(set(before)) == len(set(colors))


# Bad input

BAD = [
    ("shap=star", "Did you mean 'shape'?"),
    ("drop_cam=side", "Did you mean 'drop_camera'?"),
    ("shape=stra", "Did you mean 'star'?"),
    ("color=ornage", "Did you mean 'orange'?"),
    ("color=helt-out", "Did you mean 'held-out'?"),
    ("camera.front.fow=3", "Did you mean 'fov'?"),
    ("camera.front=+0.1", "must name a camera and one of x, y, z, fov"),
    ("camera=+0.1", "must name a camera"),
    ("mass=-1", "a mass is more than 0"),
    ("mass=x-1", "a mass is more than 0"),
    ("mass=x0", "a mass is more than 0"),
    ("mass=x2000", "mass factor lies in (0, 1000]"),
    ("mass=heavy", "'heavy' is not a number"),
    ("mass=nan", "not finite"),
    ("friction=-0.5", "Friction lies in [0, 10]"),
    ("friction=inf", "not finite"),
    ("size=0.01", "scale must lie in [0.1, 10]"),
    ("size=1x2x3", "two numbers are expected"),
    ("table=0.1x0.1", "A table measures"),
    ("table=0.4", "two numbers are expected"),
    ("light=-1", "Brightness lies in [0, 5]"),
    ("light", "has no value: write light=0.7"),
    ("light=", "has no value: write light=0.7"),
    ("color=red,red", "a name is given twice"),
    ("color=red,palette", "given twice, by name and by its set"),
    ("color=red,,blue", "names with one comma between them"),
    ("mass=x2 mass=x3", "varied twice"),
]


@pytest.mark.parametrize(("text", "reason"), BAD)
def test_bad_text_is_refused_with_the_reason(text, reason):
    with pytest.raises((BadValueError, UnknownNameError)) as caught:
        parse_vary(text)
    assert reason in str(caught.value)
    assert text.split()[-1] in str(caught.value)


def test_other_things_than_text_are_refused():
    with pytest.raises(BadValueError, match="vary is text such as"):
        parse_vary([{"mass": 20}])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("camera.frnt.x=+0.1", "Did you mean 'front'?"),
        ("camera.front.x=0 camera.front.z=1.01", "would be inside the table"),
        ("camera.front.z=-3", "would be below the ground"),
        ("color=red,blue", "3 objects of different colors need 3 colors, but only 2 colors"),
        ("mass=500", "weighs at most"),
    ],
)
def test_scenes_that_cannot_be_are_refused_when_they_are_built(text, reason):
    with pytest.raises((ImpossibleSceneError, UnknownNameError), match=reason.replace("?", r"\?")):
        episode(text, 0)


def test_two_tees_do_not_fit_on_a_tiny_table():
    with pytest.raises(JostleError):
        EnvOptions(objects=2, variation="table=0.21x0.21").episode_sampler("PushT", {})


def test_large_objects_at_fixed_goals_are_refused():
    sampler = EnvOptions(variation="size=3").episode_sampler("AdjacentGoals", {})
    with pytest.raises(ImpossibleSceneError, match="too large"):
        check_possible(sampler.sample(np.random.default_rng(0)))


def test_environments_take_text_but_no_dropped_cameras():
    assert read_variations("mass=x20") == parse_vary("mass=x20").variations
    with pytest.raises(BadValueError, match="built with cameras="):
        read_variations("drop_camera=side")


# Dropped cameras

PIXELS = {"obs_type": "both", "cameras": ("front", "side")}


def test_distractors_are_an_option_of_their_task():
    assert parse_vary("distractors=3").env_kwargs({}, "oracle") == {"distractors": 3}
    for text in ("distractors=0", "distractors=1.5", "distractors=-1", "distractors=1..3"):
        with pytest.raises(BadValueError, match="from 1 on"):
            parse_vary(text)
    with pytest.raises(BadValueError, match="evaluation of agents"):
        read_variations("distractors=3")


def test_a_dropped_camera_leaves_the_others_in_their_order():
    assert parse_vary("drop_camera=side").env_kwargs(PIXELS, "agent")["cameras"] == ("front",)
    options = {**PIXELS, "cameras": ("front", "top", "side")}
    assert parse_vary("drop_camera=top").env_kwargs(options, "agent")["cameras"] == (
        "front",
        "side",
    )


@pytest.mark.parametrize(
    ("text", "options", "reason"),
    [
        ("drop_camera=side", {}, "observes true state"),
        ("drop_camera=sid", PIXELS, "Did you mean 'side'"),
        ("drop_camera=front,side", PIXELS, "without any view"),
        ("drop_camera=side camera.side.x=+0.1", PIXELS, "both moved and dropped"),
        ("drop_camera=side", {"obs_type": "both"}, "needs the option 'cameras'"),
    ],
)
def test_cameras_that_cannot_be_dropped_are_refused(text, options, reason):
    with pytest.raises((BadValueError, UnknownNameError), match=reason):
        parse_vary(text).env_kwargs(options, "agent")


# Documentation


def test_every_factor_and_color_set_is_in_the_table_of_the_docs():
    page = (Path(__file__).parents[2] / "docs/tasks.md").read_text()
    for name, factor in FACTORS.items():
        assert f"| `{name}` | `{factor.example}`" in page
    assert all(f"`{name}`" in page for name in COLOR_SETS)

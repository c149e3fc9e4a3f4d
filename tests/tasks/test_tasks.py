"""Every task of the catalog draws episodes that can exist, and follows its own rules."""

import numpy as np
import pytest

from jostle.core.errors import BadValueError, ImpossibleSceneError, UnknownNameError
from jostle.scene.furniture import WALLS
from jostle.scene.spec import CUBE_SIDE, TableSpec
from jostle.tasks.catalog import TASKS, configure
from jostle.tasks.episode import EpisodeSpec
from jostle.tasks.placement import scatter
from jostle.tasks.recipe import PAPER_PALETTE, Recipe, make_recipe
from jostle.tasks.variations import Camera, Mass, OneOf, Shape, Size, Table, Uniform, read_variation


def recipe(name: str, own: dict | None = None, **options) -> Recipe:
    settings = {
        "objects": None, "colors": "fixed", "palette": PAPER_PALETTE,
        "cameras": ("front", "side"), "shadows": False, "variations": (),
    }  # fmt: skip
    return make_recipe(configure(name, own or {}), **(settings | options))


def boxes_overlap(planar: np.ndarray, side: float) -> bool:
    here = planar[~np.isnan(planar[:, 0]), :2]
    gap = np.abs(here[:, None] - here[None]).max(-1)
    return bool((gap[~np.eye(len(here), dtype=bool)] < side).any())


@pytest.mark.parametrize("name", TASKS)
def test_the_same_seed_draws_the_same_episode(name):
    one, two = (recipe(name).draw(np.random.default_rng(5)) for _ in range(2))
    assert one.to_json() == two.to_json()
    assert one.digest == two.digest
    assert one.digest != recipe(name).draw(np.random.default_rng(6)).digest


@pytest.mark.parametrize("name", TASKS)
def test_episodes_survive_json_to_the_last_bit(name, rng):
    episode = recipe(name).draw(rng)
    again = EpisodeSpec.from_json(episode.to_json())
    for field in ("start", "goal", "photo"):
        np.testing.assert_array_equal(getattr(again, field), getattr(episode, field))
    assert (again.scene, again.look, again.task) == (episode.scene, episode.look, episode.task)


@pytest.mark.parametrize("name", [name for name in TASKS if name != "PushT"])
def test_nothing_overlaps_at_the_start_or_in_the_goal_picture(name):
    drawn = recipe(name)
    for seed in range(50):
        episode = drawn.draw(np.random.default_rng(seed))
        assert not boxes_overlap(episode.start, CUBE_SIDE - 1e-9)
        assert not boxes_overlap(episode.photo, CUBE_SIDE - 1e-9)
        edge = np.array((episode.scene.table.x, episode.scene.table.y)) / 2
        assert (np.nanmax(np.abs(episode.start[:, :2]), axis=0) < edge).all()


def test_cubes_start_in_the_papers_region_and_clear_of_the_gripper():
    places = np.concatenate(
        [recipe("ThreeCubes").draw(np.random.default_rng(seed)).start for seed in range(200)]
    )
    assert np.abs(places[:, 0]).max() <= 0.15
    assert np.abs(places[:, 1]).max() <= 0.20
    assert np.abs(places[:, 0]).max() > 0.14
    assert np.linalg.norm(places[:, :2] - (-0.002, 0.0), axis=-1).min() >= 0.0494
    assert (places[:, 2] == 0).all()


def test_adjacent_goals_are_one_l_shape_or_any_connected_one():
    fixed = recipe("AdjacentGoals")
    for seed in range(10):
        goal = fixed.draw(np.random.default_rng(seed)).goal
        np.testing.assert_allclose(goal[1] - goal[0], (0.04, 0, 0), atol=1e-12)
        np.testing.assert_allclose(goal[2] - goal[0], (0, 0.04, 0), atol=1e-12)
    several = recipe("AdjacentGoals", {"arrangement": "random"}, objects=5)
    shapes = set()
    for seed in range(60):
        goal = several.draw(np.random.default_rng(seed)).goal[:, :2]
        gap = np.linalg.norm(goal[:, None] - goal[None], axis=-1) + np.eye(5)
        np.testing.assert_allclose(gap.min(1), 0.04, atol=1e-9)
        shapes.add(tuple(np.round(goal - goal[0], 3).ravel()))
        assert (np.abs(goal) <= (0.25 - CUBE_SIDE / 2, 0.3 - CUBE_SIDE / 2)).all()
    assert len(shapes) > 5


def test_mixed_goals_touch_half_of_the_time():
    mixed = recipe("MixedGoals")
    touching = 0
    for seed in range(200):
        goal = mixed.draw(np.random.default_rng(seed)).goal[:, :2]
        gap = np.linalg.norm(goal[:, None] - goal[None], axis=-1) + np.eye(3)
        touching += np.allclose(gap.min(1), 0.04)
        assert gap.min() >= 0.04 - 1e-9
    assert 75 < touching < 125


def test_ordered_push_starts_clear_of_the_walls_and_flips_a_coin():
    drawn = recipe("OrderedPush")
    rear = []
    for seed in range(100):
        episode = drawn.draw(np.random.default_rng(seed))
        for (x, y), (length, width) in WALLS:
            gap = np.abs(episode.start[:, :2] - (x, y)) - (length / 2, width / 2)
            assert (gap.max(-1) > CUBE_SIDE / 2).all()
        assert sorted(episode.goal[:, 0]) == [0.135, 0.2225]
        rear.append(int(episode.goal[:, 0].argmax()))
    assert 20 < sum(rear) < 80


def test_push_t_wants_one_heading_of_all_and_shows_one_block():
    for seed in range(20):
        episode = recipe("PushT", objects=2).draw(np.random.default_rng(seed))
        assert episode.goal[0, 2] == episode.goal[1, 2]
        assert (~np.isnan(episode.photo[:, 0])).sum() == 1
        assert np.linalg.norm(episode.start[0, :2] - episode.start[1, :2]) >= 0.1485


def test_sorting_gives_each_color_one_place_and_shows_one_cube_of_each():
    episode = recipe("Sorting").draw(np.random.default_rng(1))
    colors = np.array(episode.look.colors)
    assert len(np.unique(colors, axis=0)) == 3
    assert (~np.isnan(episode.photo[:, 0])).sum() == 3
    for color in np.unique(colors, axis=0):
        mine = (colors == color).all(-1)
        assert mine.sum() == 4
        assert len(np.unique(episode.goal[mine], axis=0)) == 1
    assert len(np.unique(episode.goal, axis=0)) == 3


def test_distractors_are_only_in_the_picture_and_of_other_colors():
    episode = recipe("Distractors", {"distractors": 3}).draw(np.random.default_rng(1))
    assert np.isnan(episode.start[3:]).all()
    assert np.isnan(episode.goal[3:]).all()
    assert not np.isnan(episode.photo).any()
    assert not set(episode.look.colors[:3]) & set(episode.look.colors[3:])


def test_random_colors_are_distinct_and_differ_between_episodes():
    drawn = recipe("ThreeCubes", colors="random")
    seen = [drawn.draw(np.random.default_rng(seed)).look.colors for seed in range(30)]
    assert all(len(set(colors)) == 3 for colors in seen)
    assert len(set(seen)) > 15


def test_a_range_of_objects_draws_every_count_in_it():
    drawn = recipe("NCubes", objects=(1, 4))
    counts = [
        sum(one.present for one in drawn.draw(np.random.default_rng(seed)).scene.objects)
        for seed in range(60)
    ]
    assert set(counts) == {1, 2, 3, 4}


def test_variations_compose_and_draw_per_object():
    drawn = recipe(
        "ThreeCubes",
        variations=(Shape(OneOf("cube", "star", "tee")), Mass(Uniform(0.1, 10)), Size(x=1.5)),
    )
    objects = [
        one for seed in range(10) for one in drawn.draw(np.random.default_rng(seed)).scene.objects
    ]
    assert {one.shape for one in objects} == {"cube", "star", "tee"}
    assert len({one.mass for one in objects}) == 30
    assert {one.scale for one in objects} == {(1.5, 1.0)}
    assert drawn.scene.parts == 5


def test_a_table_variation_moves_the_robot_and_the_region():
    episode = recipe("ThreeCubes", variations=(Table(x=0.3, y=0.4),)).draw(np.random.default_rng(0))
    assert episode.scene.table == TableSpec(x=0.3, y=0.4)
    assert np.abs(episode.start[:, 0]).max() <= 0.05


def test_paper_horizons():
    cubes = TASKS["NCubes"]
    assert [cubes.horizon(count) for count in (1, 2, 3, 6)] == [30, 50, 100, 100]
    assert [cubes.evaluation_steps(count) for count in (1, 3, 6)] == [50, 150, 200]
    assert TASKS["Sorting"].evaluation_steps(12) == 300
    assert [TASKS["PushT"].horizon(count) for count in (1, 2)] == [50, 100]


@pytest.mark.parametrize(
    ("wrong", "error", "says"),
    [
        (lambda: recipe("NCubes", objects=13), BadValueError, "1 to 12 objects, not 13"),
        (lambda: recipe("OrderedPush", objects=3), BadValueError, "exactly 2"),
        (lambda: recipe("Sorting", objects=5), BadValueError, "4, 8 or 12"),
        (lambda: recipe("Sorting", objects=(4, 12)), BadValueError, "4, 8 or 12"),
        (lambda: recipe("OneCube", objects=2), BadValueError, "exactly 1"),
        (lambda: recipe("NCubes", objects=10), BadValueError, "explicit"),
        (lambda: recipe("NCubes", objects=(3, 1)), BadValueError, "rising range"),
        (lambda: recipe("ThreeCubes", colors=["red", "gren", "blue"]), UnknownNameError, "green"),
        (lambda: recipe("ThreeCubes", colors=["red"]), BadValueError, "3 colors are needed"),
        (lambda: recipe("ThreeCube"), UnknownNameError, "ThreeCubes"),
        (lambda: recipe("AdjacentGoals", {"arangement": 1}), UnknownNameError, "arrangement"),
        (lambda: recipe("AdjacentGoals", {"arrangement": "round"}), BadValueError, "'fixed'"),
        (lambda: recipe("AdjacentGoals", {"share": 1.5}), BadValueError, r"\[0, 1\]"),
        (lambda: recipe("ThreeCubes", variations=(Shape("strr"),)), UnknownNameError, "star"),
        (lambda: recipe("ThreeCubes", variations=(Camera("top"),)), UnknownNameError, "camera"),
        (lambda: recipe("ThreeCubes", variations=(Size(x=-2.0),)), BadValueError, "scale"),
        (lambda: recipe("SixCubes", variations=(Table(0.22, 0.22),)), ImpossibleSceneError, "Take"),
        (lambda: read_variation("star"), BadValueError, "variation"),
        (lambda: EpisodeSpec.from_json("{}"), BadValueError, "no stored episode"),
    ],
)  # fmt: skip
def test_bad_requests_are_answered_with_what_would_work(wrong, error, says):
    with pytest.raises(error, match=says):
        wrong()


def test_scatter_keeps_its_distances(rng):
    points = scatter(((-0.2, -0.2), (0.2, 0.2)), [0.03] * 8, [(0.0, 0.0, 0.05)], rng)
    gap = np.linalg.norm(points[:, None] - points[None], axis=-1) + np.eye(8)
    assert gap.min() >= 0.06
    assert np.linalg.norm(points, axis=-1).min() >= 0.08


def test_scatter_gives_up_in_words(rng):
    with pytest.raises(ImpossibleSceneError, match="No room for object"):
        scatter(((0, 0), (0.01, 0.01)), [0.03] * 2, [], rng)

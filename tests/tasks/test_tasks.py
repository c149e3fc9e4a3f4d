"""Every task of the catalog samples valid episodes and follows its own rules."""

import numpy as np
import pytest

from jostle.core.errors import BadValueError, ImpossibleSceneError, UnknownNameError
from jostle.scene.furniture import WALLS
from jostle.scene.spec import CUBE_SIDE, TableSpec
from jostle.tasks.catalog import TASKS, configure_task
from jostle.tasks.episode import EpisodeSpec
from jostle.tasks.episode_sampler import PAPER_PALETTE, EpisodeSampler, make_episode_sampler
from jostle.tasks.placement import sample_positions
from jostle.tasks.variations import (
    Camera,
    Mass,
    OneOf,
    Shape,
    Size,
    Table,
    Uniform,
    parse_variations,
)


def make_sampler(name: str, task_options: dict | None = None, **options) -> EpisodeSampler:
    defaults = {
        "objects": None, "colors": "fixed", "palette": PAPER_PALETTE,
        "cameras": ("front", "side"), "shadows": False, "variations": (),
    }  # fmt: skip
    task = configure_task(name, task_options or {})
    return make_episode_sampler(task, **(defaults | options))


def sample(sampler: EpisodeSampler, seed: int) -> EpisodeSpec:
    return sampler.sample(np.random.default_rng(seed))


def boxes_overlap(planar: np.ndarray, side: float) -> bool:
    present = planar[~np.isnan(planar[:, 0]), :2]
    gap = np.abs(present[:, None] - present[None]).max(-1)
    return bool((gap[~np.eye(len(present), dtype=bool)] < side).any())


@pytest.mark.parametrize("name", TASKS)
def test_the_same_seed_samples_the_same_episode(name):
    first, second = (sample(make_sampler(name), seed=5) for _ in range(2))
    assert first.to_json() == second.to_json()
    assert first.digest == second.digest
    assert first.digest != sample(make_sampler(name), seed=6).digest


@pytest.mark.parametrize("name", TASKS)
def test_episodes_keep_all_bits_in_json(name, rng):
    episode = make_sampler(name).sample(rng)
    restored = EpisodeSpec.from_json(episode.to_json())
    for field in ("start", "goal", "goal_view"):
        np.testing.assert_array_equal(getattr(restored, field), getattr(episode, field))
    for field in ("scene", "appearance", "task"):
        assert getattr(restored, field) == getattr(episode, field)


def test_digests_of_published_results_stay_valid():
    assert sample(make_sampler("Sorting"), seed=5).digest == "469d64818917"


@pytest.mark.parametrize("name", [name for name in TASKS if name != "PushT"])
def test_nothing_overlaps_at_the_start_or_in_the_goal_image(name):
    sampler = make_sampler(name)
    for seed in range(50):
        episode = sample(sampler, seed)
        assert not boxes_overlap(episode.start, CUBE_SIDE - 1e-9)
        assert not boxes_overlap(episode.goal_view, CUBE_SIDE - 1e-9)
        edge = np.array((episode.scene.table.x, episode.scene.table.y)) / 2
        assert (np.nanmax(np.abs(episode.start[:, :2]), axis=0) < edge).all()


def test_cubes_start_in_the_papers_region_and_clear_of_the_gripper():
    starts = np.concatenate([sample(make_sampler("ThreeCubes"), seed).start for seed in range(200)])
    assert np.abs(starts[:, 0]).max() <= 0.15
    assert np.abs(starts[:, 1]).max() <= 0.20
    assert np.abs(starts[:, 0]).max() > 0.14
    assert np.linalg.norm(starts[:, :2] - (-0.002, 0.0), axis=-1).min() >= 0.0494
    assert (starts[:, 2] == 0).all()


def test_adjacent_goals_are_one_l_shape_or_any_connected_one():
    fixed = make_sampler("AdjacentGoals")
    for seed in range(10):
        goal = sample(fixed, seed).goal
        np.testing.assert_allclose(goal[1] - goal[0], (0.04, 0, 0), atol=1e-12)
        np.testing.assert_allclose(goal[2] - goal[0], (0, 0.04, 0), atol=1e-12)
    several = make_sampler("AdjacentGoals", {"arrangement": "random"}, objects=5)
    shapes = set()
    for seed in range(60):
        goal = sample(several, seed).goal[:, :2]
        gap = np.linalg.norm(goal[:, None] - goal[None], axis=-1) + np.eye(5)
        np.testing.assert_allclose(gap.min(1), 0.04, atol=1e-9)
        shapes.add(tuple(np.round(goal - goal[0], 3).ravel()))
        assert (np.abs(goal) <= (0.25 - CUBE_SIDE / 2, 0.3 - CUBE_SIDE / 2)).all()
    assert len(shapes) > 5


def test_mixed_goals_touch_half_of_the_time():
    mixed = make_sampler("MixedGoals")
    touching = 0
    for seed in range(200):
        goal = sample(mixed, seed).goal[:, :2]
        gap = np.linalg.norm(goal[:, None] - goal[None], axis=-1) + np.eye(3)
        touching += np.allclose(gap.min(1), 0.04)
        assert gap.min() >= 0.04 - 1e-9
    assert 75 < touching < 125


def test_ordered_push_starts_clear_of_the_walls_and_randomizes_the_order():
    sampler = make_sampler("OrderedPush")
    rear = []
    for seed in range(100):
        episode = sample(sampler, seed)
        for (x, y), (length, width) in WALLS:
            gap = np.abs(episode.start[:, :2] - (x, y)) - (length / 2, width / 2)
            assert (gap.max(-1) > CUBE_SIDE / 2).all()
        assert sorted(episode.goal[:, 0]) == [0.135, 0.2225]
        rear.append(int(episode.goal[:, 0].argmax()))
    assert 20 < sum(rear) < 80


def test_push_t_has_one_goal_heading_and_shows_one_block():
    for seed in range(20):
        episode = sample(make_sampler("PushT", objects=2), seed)
        assert episode.goal[0, 2] == episode.goal[1, 2]
        assert (~np.isnan(episode.goal_view[:, 0])).sum() == 1
        assert np.linalg.norm(episode.start[0, :2] - episode.start[1, :2]) >= 0.1485


@pytest.mark.parametrize("blocks", [1, 2])
def test_t_blocks_keep_the_papers_distance_from_the_gripper(blocks):
    """The gripper counts as one more block: 0.1485 m, as between two blocks."""
    gripper, nearest = (-0.002, 0.0), np.inf
    for seed in range(200):
        episode = sample(make_sampler("PushT", objects=blocks), seed)
        for poses in (episode.start, episode.goal_view[:1], episode.goal[:1]):
            nearest = min(nearest, np.linalg.norm(poses[:, :2] - gripper, axis=-1).min())
    assert 6 * CUBE_SIDE / np.sqrt(2) - 1e-3 <= nearest <= 0.155


def test_sorting_has_one_goal_per_color_and_shows_one_cube_of_each():
    episode = sample(make_sampler("Sorting"), 1)
    colors = np.array(episode.appearance.colors)
    assert len(np.unique(colors, axis=0)) == 3
    assert (~np.isnan(episode.goal_view[:, 0])).sum() == 3
    for color in np.unique(colors, axis=0):
        mine = (colors == color).all(-1)
        assert mine.sum() == 4
        assert len(np.unique(episode.goal[mine], axis=0)) == 1
    assert len(np.unique(episode.goal, axis=0)) == 3


def test_distractors_are_only_in_the_goal_image_and_of_other_colors():
    episode = sample(make_sampler("Distractors", {"distractors": 3}), 1)
    assert np.isnan(episode.start[3:]).all()
    assert np.isnan(episode.goal[3:]).all()
    assert not np.isnan(episode.goal_view).any()
    assert not set(episode.appearance.colors[:3]) & set(episode.appearance.colors[3:])


def test_random_colors_are_distinct_and_differ_between_episodes():
    sampler = make_sampler("ThreeCubes", colors="random")
    colors_of_episodes = [sample(sampler, seed).appearance.colors for seed in range(30)]
    assert all(len(set(colors)) == 3 for colors in colors_of_episodes)
    assert len(set(colors_of_episodes)) > 15


def test_a_range_of_objects_samples_every_count_in_it():
    sampler = make_sampler("NCubes", objects=(1, 4))
    counts = [sum(obj.present for obj in sample(sampler, seed).scene.objects) for seed in range(60)]
    assert set(counts) == {1, 2, 3, 4}


def test_variations_compose_and_sample_per_object():
    sampler = make_sampler(
        "ThreeCubes",
        variations=(Shape(OneOf("cube", "star", "tee")), Mass(Uniform(0.1, 10)), Size(x=1.5)),
    )
    objects = [obj for seed in range(10) for obj in sample(sampler, seed).scene.objects]
    assert {obj.shape for obj in objects} == {"cube", "star", "tee"}
    assert len({obj.mass for obj in objects}) == 30
    assert {obj.scale for obj in objects} == {(1.5, 1.0)}
    assert sampler.scene.parts == 5


def test_a_table_variation_moves_the_robot_and_the_region():
    episode = sample(make_sampler("ThreeCubes", variations=(Table(x=0.3, y=0.4),)), seed=0)
    assert episode.scene.table == TableSpec(x=0.3, y=0.4)
    assert np.abs(episode.start[:, 0]).max() <= 0.05


def test_paper_horizons():
    cubes = TASKS["NCubes"]
    assert [cubes.horizon(count) for count in (1, 2, 3, 6)] == [30, 50, 100, 100]
    assert [cubes.evaluation_steps(count) for count in (1, 3, 6)] == [50, 150, 200]
    assert TASKS["Sorting"].evaluation_steps(12) == 300
    assert [TASKS["PushT"].horizon(count) for count in (1, 2)] == [50, 100]


@pytest.mark.parametrize(
    ("make_invalid", "error", "message"),
    [
        (lambda: make_sampler("NCubes", objects=13), BadValueError, "1 to 12 objects, not 13"),
        (lambda: make_sampler("OrderedPush", objects=3), BadValueError, "exactly 2"),
        (lambda: make_sampler("Sorting", objects=5), BadValueError, "4, 8 or 12"),
        (lambda: make_sampler("Sorting", objects=(4, 12)), BadValueError, "4, 8 or 12"),
        (lambda: make_sampler("OneCube", objects=2), BadValueError, "exactly 1"),
        (lambda: make_sampler("NCubes", objects=10), BadValueError, "explicit"),
        (lambda: make_sampler("NCubes", objects=(3, 1)), BadValueError, "rising range"),
        (
            lambda: make_sampler("ThreeCubes", colors=["red", "gren", "blue"]),
            UnknownNameError,
            "green",
        ),
        (lambda: make_sampler("ThreeCubes", colors=["red"]), BadValueError, "3 colors are needed"),
        (lambda: make_sampler("ThreeCube"), UnknownNameError, "ThreeCubes"),
        (lambda: make_sampler("AdjacentGoals", {"arangement": 1}), UnknownNameError, "arrangement"),
        (lambda: make_sampler("AdjacentGoals", {"arrangement": "round"}), BadValueError, "'fixed'"),
        (
            lambda: make_sampler("AdjacentGoals", {"adjacent_fraction": 1.5}),
            BadValueError,
            r"\[0, 1\]",
        ),
        (lambda: make_sampler("ThreeCubes", variations=(Shape("strr"),)), UnknownNameError, "star"),
        (
            lambda: make_sampler("ThreeCubes", variations=(Camera("top"),)),
            UnknownNameError,
            "camera",
        ),
        (lambda: make_sampler("ThreeCubes", variations=(Size(x=-2.0),)), BadValueError, "scale"),
        (
            lambda: make_sampler("SixCubes", variations=(Table(0.22, 0.22),)),
            ImpossibleSceneError,
            "Take",
        ),
        (lambda: parse_variations("star"), BadValueError, "variation"),
        (lambda: EpisodeSpec.from_json("{}"), BadValueError, "not a stored episode"),
    ],
)
def test_invalid_options_are_refused_with_a_suggestion(make_invalid, error, message):
    with pytest.raises(error, match=message):
        make_invalid()


def test_sampled_positions_keep_their_distances(rng):
    points = sample_positions(((-0.2, -0.2), (0.2, 0.2)), [0.03] * 8, [(0.0, 0.0, 0.05)], rng)
    gap = np.linalg.norm(points[:, None] - points[None], axis=-1) + np.eye(8)
    assert gap.min() >= 0.06
    assert np.linalg.norm(points, axis=-1).min() >= 0.08


def test_impossible_placements_are_refused(rng):
    with pytest.raises(ImpossibleSceneError, match="No free position for object"):
        sample_positions(((0, 0), (0.01, 0.01)), [0.03] * 2, [], rng)

"""Moves towards objects: they arrive, push, and leave alone what would fall."""

import numpy as np

from jostle.rollout.reach import away_from_edge, reach


def test_a_move_reaches_the_object_and_pushes_it(make_env):
    env = make_env(4, "ThreeCubes", autoreset_mode="Disabled", threads=1)
    observation, _ = env.reset(seed=3)
    before = observation["achieved_goal"].copy()
    target = np.array([0, 1, 2, 0])
    for _ in range(12):
        actions = reach(observation["observation"], target)
        assert np.abs(actions).max() <= 1
        observation, *_ = env.step(actions)
    moved = np.linalg.norm(observation["achieved_goal"] - before, axis=-1)
    assert (moved[np.arange(4), target] > 0.02).all()


def test_objects_about_to_be_pushed_over_the_edge_are_left_out():
    rows = np.zeros((1, 4, 3), np.float32)
    rows[0, 1:, 0] = 0.1, 0.2, -0.2  # the gripper in the middle would push outward
    table_half_size = np.array([0.25, 0.3], np.float32)
    assert away_from_edge(rows, table_half_size).tolist() == [[True, False, False]]
    rows[0, 0, 0] = 0.4  # from beyond the edge, two of them would be pushed inward
    assert away_from_edge(rows, table_half_size).tolist() == [[True, True, False]]

"""Sets of entities and their columns."""

import numpy as np
import pytest

from jostle.core.entities import OBJECT_ID, POSITION, Entities, EntityLayout
from jostle.core.errors import BadValueError, UnknownNameError

LAYOUT = EntityLayout(((POSITION, 2), ("height", 1), (OBJECT_ID, 4)))


def random_sets(rng: np.random.Generator, batch: int = 3) -> Entities:
    values = rng.standard_normal((batch, 2, 5, 7)).astype(np.float32)
    return Entities(values, rng.random((batch, 2, 5)) < 0.5)


def assert_equal(left: Entities, right: Entities) -> None:
    for first, second in zip(left, right, strict=True):
        first, second = np.asarray(first), np.asarray(second)
        assert first.dtype == second.dtype
        np.testing.assert_array_equal(first, second)


def test_groups_of_columns_follow_each_other_and_fill_the_width():
    assert LAYOUT.width == 7
    columns = [list(range(7))[LAYOUT[name]] for name, _ in LAYOUT.groups]
    assert columns == [[0, 1], [2], [3, 4, 5, 6]]
    assert "height" in LAYOUT
    assert "gripper" not in LAYOUT


def test_appended_columns_come_last_and_leave_the_others_where_they_were():
    longer = LAYOUT.plus("table_xy", 2)
    assert longer.width == 9
    assert longer["table_xy"] == slice(7, 9)
    assert all(longer[name] == LAYOUT[name] for name, _ in LAYOUT.groups)
    assert "table_xy" not in LAYOUT
    with pytest.raises(BadValueError, match="'height' already"):
        LAYOUT.plus("height", 1)


def test_unknown_columns_are_named_with_those_that_there_are():
    with pytest.raises(UnknownNameError, match=r"no columns 'scale'.*position, height, object_id"):
        LAYOUT["scale"]


def test_the_shape_is_that_of_one_sample(rng):
    assert random_sets(rng).shape == (2, 5, 7)


def test_batches_are_concatenated_along_the_first_axis(rng):
    first, second = random_sets(rng, 2), random_sets(rng, 3)
    joined = Entities.cat((first, second))
    assert isinstance(joined.values, np.ndarray)
    assert len(joined.values) == len(joined.visible) == 5
    assert_equal(joined.map(lambda array: array[:2]), first)
    assert_equal(joined.map(lambda array: array[2:]), second)


def test_map_changes_both_arrays_and_leaves_the_original(rng):
    sets = random_sets(rng)
    order = rng.permutation(3)
    mapped = sets.map(lambda array: array[order])
    assert_equal(mapped.map(lambda array: array[np.argsort(order)]), sets)
    assert mapped.values.shape == sets.values.shape


def test_arrays_survive_the_way_to_torch_and_back_without_a_copy(rng):
    torch = pytest.importorskip("torch")
    sets = random_sets(rng)
    for tensors in (sets.to_torch(), sets.to_torch(torch.device("cpu"))):
        assert tensors.values.dtype == torch.float32
        assert tensors.visible.dtype == torch.bool
        assert tensors.values.data_ptr() == sets.values.ctypes.data
        assert_equal(tensors.map(lambda tensor: tensor.numpy()), sets)
        assert_equal(tensors.to(torch.device("cpu")).map(lambda tensor: tensor.numpy()), sets)


def test_numpy_and_torch_concatenate_alike(rng):
    pytest.importorskip("torch")
    first, second = random_sets(rng), random_sets(rng)
    tensors = Entities.cat((first.to_torch(), second.to_torch()))
    assert_equal(tensors.map(lambda tensor: tensor.numpy()), Entities.cat((first, second)))


def test_sets_can_be_wrapped_as_wholly_visible(rng):
    torch = pytest.importorskip("torch")
    values = torch.randn(3, 2, 5, 7)
    sets = Entities.all_visible(values)
    assert sets.values is values
    assert sets.visible.shape == (3, 2, 5)
    assert sets.visible.dtype == torch.bool
    assert sets.visible.all()

"""Catalogs help those who mistype."""

import pytest

from jostle.core.catalog import Catalog
from jostle.core.errors import JostleError, UnknownNameError

FRUIT = Catalog("fruit", {"apple": 1, "Cherry": 2})


def test_known_names_are_found_in_order():
    assert list(FRUIT) == ["apple", "Cherry"]
    assert FRUIT["Cherry"] == 2


@pytest.mark.parametrize(("typed", "meant"), [("aple", "apple"), ("cherry", "Cherry")])
def test_a_typo_is_answered_with_the_nearest_name(typed, meant):
    with pytest.raises(UnknownNameError, match=f"Did you mean '{meant}'"):
        FRUIT[typed]


def test_a_far_off_name_is_answered_with_all_names():
    with pytest.raises(UnknownNameError, match="Known: apple, Cherry"):
        FRUIT["zzzzzz"]


def test_errors_are_builtins_and_print_as_plain_text():
    error = UnknownNameError("There is no such thing.")
    assert isinstance(error, KeyError)
    assert isinstance(error, JostleError)
    assert str(error) == "There is no such thing."

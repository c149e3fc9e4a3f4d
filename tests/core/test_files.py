"""Folders appear at once or not at all."""

import pytest

from jostle.core.errors import BadValueError
from jostle.core.files import new_folder


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_folder_appears_when_it_is_complete(tmp_path):
    with new_folder(tmp_path / "deep" / "out") as part:
        (part / "a").write_text("a")
        assert not (tmp_path / "deep" / "out").exists()
    assert names(tmp_path / "deep") == ["out"]
    assert names(tmp_path / "deep" / "out") == ["a"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_an_error_or_an_interruption_leaves_nothing(error, tmp_path):
    def fill():
        with new_folder(tmp_path / "out") as part:
            (part / "a").write_text("a")
            raise error

    with pytest.raises((KeyboardInterrupt, OSError)):
        fill()
    assert names(tmp_path) == []


def test_what_a_killed_process_left_is_replaced(tmp_path):
    (tmp_path / ".out.part").mkdir()
    (tmp_path / ".out.part" / "old").write_text("old")
    (tmp_path / "out").mkdir()  # empty
    with new_folder(tmp_path / "out") as part:
        (part / "a").write_text("a")
    assert names(tmp_path) == ["out"]
    assert names(tmp_path / "out") == ["a"]


def test_a_folder_with_something_in_it_is_refused(tmp_path):
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(BadValueError, match="exists already"), new_folder(tmp_path):
        pass
    assert names(tmp_path) == ["mine"]

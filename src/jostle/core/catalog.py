"""Names to things, with "did you mean" for the names that are not there."""

import difflib
from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

from jostle.core.errors import BadValueError, UnknownNameError

T = TypeVar("T")


def suggest(name: str, known: list[str]) -> str:
    """Return a sentence that points from `name` to the nearest of `known`."""
    lowered = {word.lower(): word for word in known}
    near = difflib.get_close_matches(str(name).lower(), list(lowered), n=1, cutoff=0.5)
    if near:
        return f"Did you mean '{lowered[near[0]]}'?"
    return f"Known: {', '.join(known)}." if known else "There are none."


class Catalog(Mapping[str, T], Generic[T]):
    """A read-only mapping whose `KeyError` helps."""

    def __init__(self, kind: str, entries: Mapping[str, T]) -> None:
        """Name the kind of thing ("task", "color") and give the entries."""
        self.kind = kind
        self._entries = dict(entries)

    def __getitem__(self, name: str) -> T:
        """Return the entry, or say which name was probably meant."""
        try:
            return self._entries[name]
        except (KeyError, TypeError):
            raise UnknownNameError(
                f"There is no {self.kind} called '{name}'. {suggest(name, list(self._entries))}"
            ) from None

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names, in the order they were given."""
        return iter(self._entries)

    def __len__(self) -> int:
        """Count the entries."""
        return len(self._entries)


class Registry(Catalog[T]):
    """A catalog that users can add to."""

    def register(self, name: str, entry: T) -> None:
        """Add an entry under a name that is not taken."""
        if name in self._entries:
            raise BadValueError(f"There is a {self.kind} called '{name}' already.")
        self._entries[name] = entry

"""Configs of runs as JSON: reading them back, and naming what differs."""

from collections.abc import Mapping
from typing import Any, TypeVar

from jostle.core.catalog import suggest
from jostle.core.errors import BadValueError, JostleError, UnknownNameError

C = TypeVar("C")


class ConfigMismatchError(JostleError, ValueError):
    """A run that was asked to resume as something else."""


def read_config(made: type[C], fields: Mapping[str, Any], name: str) -> C:
    """Build a config dataclass of what JSON kept of it; unknown fields are named.

    Args:
        made: The dataclass.
        fields: Its fields; lists become tuples.
        name: What to call it in errors.
    """
    known = list(made.__dataclass_fields__)  # type: ignore[attr-defined]
    for field in fields:
        if field not in known:
            raise UnknownNameError(f"{name} has no field '{field}'. {suggest(field, known)}")
    try:
        return made(**{field: _tuples(value) for field, value in fields.items()})
    except (TypeError, AttributeError) as error:
        raise BadValueError(f"This does not describe {name}: {error}.") from error


def differences(
    old: Mapping[str, Any], new: Mapping[str, Any], ignore: tuple[str, ...] = ()
) -> list[str]:
    """Name the fields in which two configs, as nested JSON, differ."""
    before, after = flatten(old), flatten(new)
    return [
        f"{name}: {before.get(name)!r} there, {after.get(name)!r} here"
        for name in sorted({**before, **after})
        if before.get(name) != after.get(name) and name not in ignore
    ]


def flatten(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested JSON as dotted names."""
    flat: dict[str, Any] = {}
    for name, value in tree.items():
        if isinstance(value, dict):
            flat |= flatten(value, f"{prefix}{name}.")
        else:
            flat[f"{prefix}{name}"] = value
    return flat


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value

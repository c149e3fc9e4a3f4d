"""Configs of runs as JSON: reading them back, and naming what differs."""

from collections.abc import Mapping
from pathlib import Path
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from jostle.core.catalog import suggest
from jostle.core.errors import BadValueError, JostleError, UnknownNameError, require

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
    require(isinstance(fields, Mapping), f"{name} must be a table of fields, not {fields!r}.")
    known = list(made.__dataclass_fields__)  # type: ignore[attr-defined]
    for field in fields:
        if field not in known:
            raise UnknownNameError(f"{name} has no field '{field}'. {suggest(field, known)}")
    values = {field: _tuples(value) for field, value in fields.items()}
    for field, hint in get_type_hints(made).items():
        expected = hint.__name__ if isinstance(hint, type) else str(hint)
        require(
            field not in values or _fits(values[field], hint),
            f"{name} has {field} = {values.get(field)!r}, but {expected} was expected.",
        )
    try:
        return made(**values)
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


def changed_config(file: Path, differing: list[str]) -> ConfigMismatchError:
    """Error about a config that was changed after training had started."""
    return ConfigMismatchError(
        f"{file} was changed since the last checkpoint (there: the checkpoint, here: the file):\n  "
        + "\n  ".join(differing)
        + f"\nChange it back, or start a new run from these weights (--from {file.parent})."
    )


def flatten(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested JSON as dotted names."""
    flat: dict[str, Any] = {}
    for name, value in tree.items():
        if isinstance(value, dict):
            flat |= flatten(value, f"{prefix}{name}.")
        else:
            flat[f"{prefix}{name}"] = value
    return flat


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value has the type of a field; whole numbers fit where numbers do."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(_fits(value, part) for part in parts)
    if origin is Literal:
        return value in parts
    if origin is tuple:
        size = len(value) if isinstance(value, tuple) else -1
        kinds = parts[:1] * size if parts[-1] is ... else parts
        return len(kinds) == size and all(map(_fits, value, kinds))
    if hint in (int, float):
        return isinstance(value, int | hint) and not isinstance(value, bool)
    return not isinstance(hint, type) or isinstance(value, hint)


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value

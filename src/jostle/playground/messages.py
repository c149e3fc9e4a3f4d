"""Messages of the browser, each checked before anything is done with it."""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from types import NoneType, UnionType
from typing import Any, get_args

from jostle.core.catalog import suggest
from jostle.core.errors import BadValueError, require
from jostle.playground.save import SAVED

Reply = Callable[[dict[str, Any]], None]
"""Answers the browser that sent a message."""
MAX_BYTES = 4096
"""Longest message."""
_FARTHEST = 10.0
"""Largest coordinate in meters; the table ends long before."""
SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Factors on real time that can be chosen."""


@dataclass(frozen=True)
class Steer:
    """Take over the steering from another browser."""


@dataclass(frozen=True)
class Run:
    """Let time run, or pause."""

    running: bool


@dataclass(frozen=True)
class StepOnce:
    """Simulate one action, and pause."""


@dataclass(frozen=True)
class Reset:
    """Start the episode again, or that of a seed."""

    seed: int | None = None

    def __post_init__(self) -> None:
        """Refuse seeds out of range."""
        require(self.seed is None or 0 <= self.seed < 2**31, "A seed is 0 to 2147483647.")


@dataclass(frozen=True)
class Speed:
    """Set the factor on real time."""

    value: float

    def __post_init__(self) -> None:
        """Refuse other factors."""
        require(self.value in SPEEDS, f"A speed is one of {', '.join(map(str, SPEEDS))}.")


@dataclass(frozen=True)
class Replay:
    """Show the last seconds again, or stop that."""

    on: bool


@dataclass(frozen=True)
class MoveGoal:
    """Move a goal; while it is still dragged, `final` is false."""

    slot: int
    x: float
    y: float
    yaw: float
    final: bool = True


@dataclass(frozen=True)
class Push:
    """Drag an object to a point of the table."""

    slot: int
    x: float
    y: float


@dataclass(frozen=True)
class Release:
    """Let the dragged object go."""


@dataclass(frozen=True)
class Color:
    """Give an object another color."""

    slot: int
    color: str


@dataclass(frozen=True)
class Add:
    """Add an object with its goal."""


@dataclass(frozen=True)
class Remove:
    """Remove an object with its goal."""

    slot: int


@dataclass(frozen=True)
class Drive:
    """Move the gripper by hand for a moment."""

    x: float
    y: float
    z: float


@dataclass(frozen=True)
class Setup:
    """Choose task, agent, number of objects, variations and seed."""

    task: str
    agent: str
    objects: int | None
    vary: str
    seed: int


@dataclass(frozen=True)
class Save:
    """Save a film, the episode from its start, or the present moment as a start."""

    what: str

    def __post_init__(self) -> None:
        """Refuse anything else."""
        require(self.what in SAVED, f"What can be saved is {', '.join(SAVED)}.")


Message = (
    Steer | Run | StepOnce | Reset | Speed | Replay | MoveGoal | Push | Release | Color | Add
    | Remove | Drive | Setup | Save
)  # fmt: skip
_TYPES: dict[str, Any] = {
    "steer": Steer, "run": Run, "step": StepOnce, "reset": Reset, "speed": Speed,
    "replay": Replay, "goal": MoveGoal, "push": Push, "release": Release, "color": Color,
    "add": Add, "remove": Remove, "drive": Drive, "setup": Setup, "save": Save,
}  # fmt: skip


def parse_message(text: str | bytes) -> Message:
    """Read one message of the playground; anything else is refused by one sentence."""
    message: Message = parse_as(text, _TYPES)
    return message


def parse_as(text: str | bytes, types: Mapping[str, Any]) -> Any:
    """Read one message of the dataclasses in `types`, by the names that messages call them."""
    require(len(text) <= MAX_BYTES, f"A message has at most {MAX_BYTES} characters.")
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadValueError(f"This message is not JSON: {error}.") from error
    require(isinstance(content, dict), "A message is a JSON object with a type.")
    kind = content.pop("type", None)
    if not isinstance(kind, str) or kind not in types:
        raise BadValueError(f"There is no message {kind!r:.40}. {suggest(str(kind), list(types))}")
    declared = {field.name: field for field in fields(types[kind])}
    for name in content:
        require(name in declared, f"The message '{kind}' has no field {name!r:.40}.")
    values = {
        name: _checked(kind, name, content[name], field.type)
        for name, field in declared.items()
        if name in content
    }
    try:
        message = types[kind](**values)
    except TypeError as error:
        missing = [name for name in declared if name not in content]
        raise BadValueError(f"The message '{kind}' lacks {', '.join(missing)}.") from error
    return message


def _checked(kind: str, name: str, value: Any, declared: Any) -> Any:
    """A value of the declared type; whole numbers are numbers, but true and false are not."""
    allowed = get_args(declared) if isinstance(declared, UnionType) else (declared,)
    if value is None and NoneType in allowed:
        return None
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if float in allowed and number:
        fits = math.isfinite(value) and abs(value) <= _FARTHEST
        require(fits, f"{name} of '{kind}' lies in [-{_FARTHEST:g}, {_FARTHEST:g}].")
        return float(value)
    if int in allowed and isinstance(value, int) and number:
        require(abs(value) < 2**53, f"{name} of '{kind}' is too large.")
        return value
    if (bool in allowed and isinstance(value, bool)) or (str in allowed and isinstance(value, str)):
        return value
    names = " or ".join("nothing" if kind is NoneType else kind.__name__ for kind in allowed)
    raise BadValueError(f"{name} of '{kind}' must be {names}, not {value!r:.40}.")


def error(text: str) -> dict[str, Any]:
    """An event that the page shows as an error."""
    return {"type": "error", "text": text}


def refusal(message: Message, text: str) -> dict[str, Any]:
    """Answer to a message that was refused: what was dragged snaps back."""
    answer = error(text)
    for name in ("slot", "final"):
        if hasattr(message, name):
            answer[name] = getattr(message, name)
    return answer

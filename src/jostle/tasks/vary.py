"""Variations as text, for commands, studies and Python: `shape=star mass=x20 light=0.7`.

Factors are applied in the order of `FACTORS`, whatever the order of the text.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jostle.core.catalog import Catalog, suggest
from jostle.core.errors import BadValueError, JostleError, UnknownNameError, require
from jostle.scene.spec import Appearance, ObjectSpec, TableSpec
from jostle.tasks.exact_variations import (
    AXES,
    CameraChange,
    DistinctColors,
    Kilograms,
    MoveCamera,
)
from jostle.tasks.variations import (
    Friction,
    Light,
    Mass,
    OneOf,
    Shape,
    Size,
    Table,
    Uniform,
    Variation,
    parse_variations,
)
from jostle.tasks.vary_values import (
    Amount,
    Count,
    Names,
    ReadValue,
    Value,
    colors_of,
    read_amount,
    read_colors,
    read_count,
    read_move,
    read_names,
    read_number,
    read_pair,
    read_scale,
    read_shapes,
)


@dataclass(frozen=True)
class Factor:
    """Something that text can vary."""

    example: str
    """How it is written."""
    read: ReadValue
    """Reads the value."""
    check: Callable[[Any], object] | None = None
    """Refuses values that are out of range in every scene; those of ranges are their ends."""
    make: Callable[[Any], Variation] | None = None
    """Makes the variation; None for what is made of several factors, or is none."""


def _make_shape(value: Names) -> Shape:
    return Shape(value.names[0] if len(value.names) == 1 else OneOf(*value.names))


def _make_mass(mass: Amount) -> Variation:
    return Mass(mass.value) if mass.mode == "times" else Kilograms(mass.value)


def _check_mass(mass: Any) -> None:
    require(mass.value > 0, f"a mass is more than 0, not {mass.value:g}")
    if mass.mode == "times":
        ObjectSpec(mass=mass.value)


FACTORS: Catalog[Factor] = Catalog(
    "factor",
    {
        "shape": Factor("shape=star", read_shapes, make=_make_shape),
        "size": Factor(
            "size=1.5x1.5",
            read_scale,
            lambda pair: ObjectSpec(scale=(pair.x, pair.y)),
            lambda pair: Size(pair.x, pair.y),
        ),
        "mass": Factor("mass=x20", read_amount, _check_mass, _make_mass),
        "friction": Factor(
            "friction=0.5",
            read_number,
            lambda amount: ObjectSpec(friction=amount.value),
            lambda amount: Friction(amount.value),
        ),
        "table": Factor(
            "table=0.4x0.5",
            read_pair,
            lambda pair: TableSpec(x=pair.x, y=pair.y),
            lambda pair: Table(pair.x, pair.y),
        ),
        "color": Factor(
            "color=orange,pink,brown",
            read_colors,
            make=lambda names: DistinctColors(colors_of(names)),
        ),
        "camera": Factor("camera.front.x=+0.05", read_move),
        "light": Factor(
            "light=0.7", read_number, lambda amount: Appearance(colors=(), brightness=amount.value)
        ),
        "light_angle": Factor("light_angle=30", read_number),
        "drop_camera": Factor("drop_camera=side", read_names),
        "distractors": Factor("distractors=3", read_count),
    },
)
"""Everything that text can vary. A key of `camera` also names a camera and one of `AXES`."""


@dataclass(frozen=True)
class Vary:
    """Variations that were read from text; `str` gives the text back, in the usual order."""

    values: tuple[tuple[str, Value], ...] = ()
    """Keys and values, in the order in which they are applied."""

    def __str__(self) -> str:
        """The text that it is read from."""
        return " ".join(f"{key}={value}" for key, value in self.values)

    def __bool__(self) -> bool:
        """Whether anything is varied."""
        return bool(self.values)

    @property
    def dropped_cameras(self) -> tuple[str, ...]:
        """Cameras whose views the agent does not get."""
        value = dict(self.values).get("drop_camera")
        return value.names if isinstance(value, Names) else ()

    @property
    def distractors(self) -> int | None:
        """How many cubes only the goal image shows, an option of the task Distractors."""
        value = dict(self.values).get("distractors")
        return int(value.value) if isinstance(value, Count) else None

    @property
    def variations(self) -> tuple[Variation, ...]:
        """Variations of scene and appearance."""
        made: list[Variation] = []
        moves: dict[str, list[CameraChange]] = {}
        light: dict[str, float | Uniform] = {}
        for key, value in self.values:
            factor, *rest = key.split(".")
            make = FACTORS[factor].make
            if make is not None:
                made.append(make(value))
            elif factor == "camera" and isinstance(value, Amount):
                change = CameraChange(rest[1], value.value, relative=value.mode == "add")
                moves.setdefault(rest[0], []).append(change)
            elif isinstance(value, Amount):
                light["brightness" if factor == "light" else "angle"] = value.value
        made += [MoveCamera(name, tuple(changes)) for name, changes in moves.items()]
        return (*made, Light(**light)) if light else tuple(made)

    def env_kwargs(self, options: Mapping[str, Any], agent: str) -> dict[str, Any]:
        """Add the variations to options of an environment for an agent, named in errors."""
        if not self:
            return dict(options)
        varied = {**options}
        if self.dropped_cameras:
            varied["cameras"] = self._remaining_cameras(options, agent)
        if self.distractors is not None:
            varied["distractors"] = self.distractors
        if self.variations:
            varied["variation"] = (
                *read_variations(options.get("variation")),
                *self.variations,
            )
        return varied

    def _remaining_cameras(self, options: Mapping[str, Any], agent: str) -> tuple[Any, ...]:
        text = f"drop_camera={','.join(self.dropped_cameras)}"
        require(
            options.get("obs_type", "state") != "state",
            f"The variation '{text}' is for agents that observe pixels; '{agent}' observes true "
            "state. Leave it out.",
        )
        cameras = {getattr(item, "name", item): item for item in options.get("cameras", ())}
        require(
            bool(cameras),
            f"The variation '{text}' needs the option 'cameras' of '{agent}' to be set.",
        )
        for name in self.dropped_cameras:
            if name not in cameras:
                raise UnknownNameError(
                    f"'{agent}' has no camera called '{name}' to drop. "
                    f"{suggest(name, list(cameras))}"
                )
        kept = tuple(item for name, item in cameras.items() if name not in self.dropped_cameras)
        require(
            len(kept) > 0,
            f"The variation '{text}' leaves '{agent}' without any view; it has the cameras "
            f"{', '.join(cameras)}. Drop fewer.",
        )
        moved = {key.split(".")[1] for key, _ in self.values if key.startswith("camera.")}
        both = [name for name in self.dropped_cameras if name in moved]
        require(not both, f"The camera '{', '.join(both)}' is both moved and dropped: do one.")
        return kept


NO_VARIATION = Vary()
"""The task as it is."""


def parse_vary(vary: "str | Sequence[str] | Vary | None") -> Vary:
    """Read variations from text such as `shape=star mass=x20`, or from several such texts."""
    if isinstance(vary, Vary):
        return vary
    texts = [vary] if isinstance(vary, str) else list(vary or ())
    require(
        all(isinstance(text, str) for text in texts),
        f"vary is text such as 'shape=star mass=x20', not {vary!r}. Values of "
        "jostle.tasks.variations are given as variation=...",
    )
    values: dict[str, Value] = {}
    for item in " ".join(texts).split():
        key, value = _parse_item(item)
        require(key not in values, f"{key} is varied twice: {key}={values.get(key)} and {item}.")
        values[key] = value
    return Vary(tuple(sorted(values.items(), key=lambda pair: _order(pair[0]))))


def read_variations(variation: Any) -> tuple[Variation, ...]:
    """Accept text, besides all that `parse_variations` accepts."""
    if not isinstance(variation, str):
        return parse_variations(variation)
    vary = parse_vary(variation)
    require(
        not vary.dropped_cameras,
        "drop_camera is for the evaluation of agents: an environment is built with cameras=...",
    )
    require(
        vary.distractors is None,
        "distractors is for the evaluation of agents: an environment is built with distractors=...",
    )
    return vary.variations


def _parse_item(item: str) -> tuple[str, Value]:
    """Read one `factor=value`."""
    key, equals, text = item.partition("=")
    factor = _factor(key, item)
    require(bool(equals and text), f"The variation '{item}' has no value: write {factor.example}.")
    try:
        value = factor.read(text)
        if factor.check is not None:
            for plain in value.ends():
                factor.check(plain)
    except JostleError as error:
        reason = str(error).rstrip(".")
        ending = "" if reason.endswith("?") else f". An example: {factor.example}."
        raise type(error)(f"The variation '{item}' is impossible: {reason}{ending}") from error
    return key, value


def _factor(key: str, item: str) -> Factor:
    first, *rest = key.split(".")
    if first == "camera":
        if len(rest) != 2 or not rest[0]:
            raise BadValueError(
                f"The variation '{item}' must name a camera and one of {', '.join(AXES)}: write "
                f"{FACTORS['camera'].example}."
            )
        if rest[1] not in AXES:
            raise UnknownNameError(
                f"The variation '{item}' changes '{rest[1]}' of a camera. "
                f"{suggest(rest[1], list(AXES))}"
            )
        return FACTORS["camera"]
    if key not in FACTORS:
        raise UnknownNameError(
            f"Nothing called '{key}' can be varied (in '{item}'). {suggest(key, list(FACTORS))}"
        )
    return FACTORS[key]


def _order(key: str) -> tuple[int, str, int]:
    first, *rest = key.split(".")
    camera, axis = (rest[0], AXES.index(rest[1])) if rest else ("", 0)
    return list(FACTORS).index(first), camera, axis

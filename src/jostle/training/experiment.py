"""Everything that defines a training, as one frozen record."""

from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

from jostle.agents.config import ExploreConfig, TD3Config
from jostle.core.catalog import suggest
from jostle.core.errors import BadValueError, UnknownNameError, require
from jostle.nets.config import NetConfig
from jostle.replay.sampler import HindsightConfig

Lane = Literal["scratch", "demos", "privileged-critic", "distill"]


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """The loop around the learning rule."""

    lane: Lane = "scratch"
    """scratch: TD3 + HER alone; demos: oracle episodes in memory; privileged-critic: critics know
    the true state, the actor sees pixels; distill: imitate a teacher."""
    teacher: str = "oracle"
    """Whom the lane 'distill' imitates: oracle, a name of the zoo, a run or a file of weights."""
    copies: int = 16
    """Environments that collect at once."""
    env_steps: int = 480_000
    """Environment steps in all."""
    horizon: int | None = None
    """Steps of a training episode; the task's own by default."""
    warmup_episodes: int = 64
    """Episodes of random actions before learning starts."""
    updates_per_step: float = 0.5
    """Gradient steps per environment step."""
    warmup_updates: int = 0
    """Updates over which step sizes rise from nothing."""
    decay: float = 0.0
    """Last share of the training in which step sizes fall to a twentieth."""
    memory: int = 100_000
    """Transitions that replay holds."""
    random_codes: bool = True
    """Whether objects get identity codes at random each episode, so that more objects can come."""
    demo_share: float = 0.5
    """Share of copies that the oracle drives, in the lanes 'demos' and 'distill'."""
    swap_goals: float = 0.0
    """Lane 'distill': share of samples that get the goal of another episode, whose objects look the
    same, and a new label."""
    rehearse: float = 0.0
    """Lane 'distill': share of samples drawn by how far the student was from the teacher there."""
    curriculum: bool = False
    """Whether to begin with the fewest objects of the range and add one whenever solved."""
    solved_at: float = 0.8
    """Success in an examination at which the curriculum adds an object."""
    examine_every: int = 50
    """Rounds between examinations."""
    examine_episodes: int = 96
    """Episodes of an examination while training."""
    save_every: int = 25
    """Rounds between checkpoints."""
    threads: int = 0
    """Threads for physics and networks; 0 takes one per core."""

    def __post_init__(self) -> None:
        """Refuse loops that go nowhere."""
        require(
            self.lane in get_args(Lane), f"A lane is one of {get_args(Lane)}, not '{self.lane}'."
        )
        for name in ("copies", "env_steps", "memory", "examine_every", "examine_episodes"):
            require(getattr(self, name) >= 1, f"{name} must be at least 1.")
        require(0 <= self.demo_share <= 1, f"demo_share lies in [0, 1], not {self.demo_share}.")
        require(0 <= self.swap_goals <= 1, f"swap_goals is a share, not {self.swap_goals}.")
        require(0 <= self.rehearse <= 1, f"rehearse is a share, not {self.rehearse}.")
        require(0 <= self.decay <= 1, f"decay is a share in [0, 1], not {self.decay}.")
        require(0 < self.solved_at <= 1, f"solved_at lies in (0, 1], not {self.solved_at}.")
        require(self.updates_per_step >= 0, "updates_per_step must not be negative.")


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A training by name."""

    name: str
    """Preset it came from."""
    task: str
    """Task of the catalog."""
    objects: int | tuple[int, int] | None = None
    """How many objects, or a range to draw from each episode; the task's own by default."""
    encoder: str = ""
    """What to see with: a name of the zoo, a run or a file of an encoder; nothing: true state."""
    cameras: tuple[str, ...] = ("front", "side")
    """Through which cameras, in the order the encoder was trained with; with an encoder only."""
    hide: tuple[Literal["scale", "depth", "mask"], ...] = ()
    """Attributes of particles to do without: scale, depth, mask (then all particles are seen)."""
    colors: Literal["fixed", "random"] = "fixed"
    """Colors of the objects: the task's own, or drawn from six for each episode."""
    seed: int = 0
    """Seed of everything."""
    net: NetConfig = field(default_factory=NetConfig)
    """Networks."""
    td3: TD3Config = field(default_factory=TD3Config)
    """Learning rule."""
    explore: ExploreConfig = field(default_factory=ExploreConfig)
    """Exploration."""
    hindsight: HindsightConfig = field(default_factory=HindsightConfig)
    """Relabeling."""
    training: TrainingConfig = field(default_factory=TrainingConfig)
    """The loop."""

    def __post_init__(self) -> None:
        """Refuse parts that do not go together."""
        require(
            self.encoder != "" or self.training.swap_goals == 0,
            "Goals can be swapped between pictures only: from true state the goal of another "
            "episode has other identity codes. Train with --swap-goals 0.",
        )
        require(
            self.encoder != "" or self.hindsight.photos == 0,
            "Photos are for agents that see: from true state goals have no arm. Train with "
            "--photos 0.",
        )
        require(
            not self.training.curriculum or isinstance(self.objects, tuple),
            "A curriculum needs a range of objects, such as the preset cubes-state with "
            "--objects 1 3.",
        )
        require(
            self.encoder != "" or self.training.lane != "privileged-critic",
            "Without an encoder the actor knows the true state as well as its critics: train in "
            "the lane 'scratch', or say what to see with (--encoder dlp-6cubes).",
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


_PARTS: dict[str, Any] = {
    "net": NetConfig,
    "td3": TD3Config,
    "explore": ExploreConfig,
    "hindsight": HindsightConfig,
    "training": TrainingConfig,
}


def read_experiment(fields: dict[str, Any]) -> Experiment:
    """Read what `to_dict` wrote; unknown fields are named."""
    if "kind" in fields:
        raise BadValueError(
            f"This run pretrains an encoder ({fields['kind']}), not an agent. "
            "Go on with it by 'jostle pretrain --resume'."
        )
    made = dict(fields)
    for name in ("objects", "cameras", "hide"):
        if isinstance(made.get(name), list):
            made[name] = tuple(made[name])
    for part, kind in _PARTS.items():
        known = kind.__dataclass_fields__
        given = made.get(part, {})
        for name in given:
            if name not in known:
                raise UnknownNameError(f"{part} has no '{name}'. {suggest(name, list(known))}")
        made[part] = kind(
            **{
                key: tuple(value) if isinstance(value, list) else value
                for key, value in given.items()
            }
        )
    try:
        return Experiment(**made)
    except TypeError as error:
        raise BadValueError(f"This is no experiment: {error}.") from error


def differences(old: Experiment, new: Experiment) -> list[str]:
    """Name the fields in which two experiments differ."""
    return [
        f"{name}: {one!r} there, {two!r} here"
        for (name, one), (_, two) in zip(
            sorted(_leaves(old.to_dict())), sorted(_leaves(new.to_dict())), strict=True
        )
        if one != two
    ]


def _leaves(tree: dict[str, Any], head: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, value in tree.items():
        if isinstance(value, dict):
            found += _leaves(value, f"{head}{name}.")
        else:
            found.append((f"{head}{name}", value))
    return found

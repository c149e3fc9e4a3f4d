"""Everything that defines a training, as one frozen record."""

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from jostle.agents.config import ExploreConfig, IQLConfig, TD3Config
from jostle.core.checks import check_folder_name, check_int, check_number
from jostle.core.entities import StateFeatures
from jostle.core.errors import BadValueError, require
from jostle.nets.config import NetConfig
from jostle.replay.config import HindsightConfig
from jostle.rewards.catalog import IMAGE_REWARDS
from jostle.runs import config
from jostle.tasks.catalog import TASKS
from jostle.tasks.trainable import check_trainable
from jostle.tasks.vary import parse_vary
from jostle.training.collection_config import CollectionConfig
from jostle.training.curriculum_config import CurriculumConfig as CurriculumConfig
from jostle.training.image_checks import check_images

Carry = Literal["actor", "all"]
"""What a new run takes over from weights: the actor, or also critics and target networks."""


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """The loop around the learning rule."""

    method: str = "td3"
    """td3: TD3 + HER alone; td3-demos: with oracle episodes in replay; td3-privileged: critics see
    true state, the actor images (asymmetric actor-critic); dagger: imitate a teacher; bc, iql,
    iql-privileged: learn from recorded episodes (--data)."""
    teacher: str = "oracle"
    """Teacher of 'dagger': oracle, a name of the zoo, a run or a file of weights."""
    reward: str = "true"
    """Reward of training; true: the distance of true coordinates; table: of objects found in images
    on the table; gdac, gdac-paper, chamfer: of particles in the images; smorl, smorl-paper: of one
    goal particle, for --arch smorl."""
    success: Literal["images", "truth"] | None = None
    """Whether evaluations, choice of weights and curriculum go by success in images or by true
    state; by default images with a reward of images, else truth."""
    num_envs: int = 16
    """Environments that collect at once."""
    env_steps: int = 480_000
    """Environment steps in total."""
    horizon: int | None = None
    """Steps of a training episode; the task's own by default."""
    random_episodes: int = 64
    """Episodes of random actions before learning starts."""
    learning_starts: int = 0
    """Environment steps that are collected before the first update, after the random episodes with
    the actor and its exploration: a training that carries networks starts with an empty replay
    buffer, and would unlearn on the first few episodes."""
    utd_ratio: float = 0.5
    """Updates per environment step (update-to-data ratio)."""
    lr_warmup_updates: int = 0
    """Updates over which step sizes rise from zero."""
    lr_decay_fraction: float = 0.0
    """Last fraction of the training in which step sizes fall to a twentieth."""
    replay_size: int = 100_000
    """Transitions in the replay buffer."""
    shuffle_object_ids: bool = True
    """Whether objects get random ids each episode, so that an agent can meet more objects later."""
    expert_fraction: float = 0.5
    """Fraction of environments that the oracle or teacher controls, in 'td3-demos' and 'dagger'."""
    goal_augmentation: float = 0.0
    """In 'dagger': fraction of samples that get the goal of another episode with objects of the
    same colors, and a new label."""
    prioritized_fraction: float = 0.0
    """In 'dagger': fraction of samples drawn in proportion to the last known imitation error."""
    drop_view_fraction: float = 0.0
    """In 'dagger': fraction of samples that miss one of several cameras, in image and goal."""
    fewer_objects_fraction: float = 0.0
    """Fraction of training episodes with fewer objects."""
    curriculum: bool = False
    """Whether stages with fewer objects come first; see --stage-objects."""
    curriculum_threshold: float = 0.8
    """Unused; agents of earlier versions have it."""
    stop_at_success: float = 0.0
    """Success in an evaluation at which the training ends early; 0: never."""
    eval_every: int = 50
    """Iterations between evaluations."""
    eval_episodes: int = 96
    """Episodes of an evaluation during training."""
    save_every: int = 25
    """Iterations between checkpoints."""
    wandb: bool = False
    """Whether to log to Weights & Biases as well (pip install wandb; offline unless WANDB_MODE says
    otherwise)."""
    threads: int = 0
    """Threads for physics and networks; 0 takes one per core."""
    device: str = "auto"
    """Where networks compute: auto (a GPU if there is one), cpu, cuda, cuda:1, mps."""

    def __post_init__(self) -> None:
        """Refuse loops that go nowhere."""
        for name in (
            "num_envs", "env_steps", "replay_size", "eval_every", "eval_episodes", "save_every",
        ):  # fmt: skip
            check_int(name, getattr(self, name), 1)
        for name in ("random_episodes", "learning_starts", "lr_warmup_updates", "threads"):
            check_int(name, getattr(self, name), 0)
        if self.horizon is not None:
            check_int("horizon", self.horizon, 1)
        for name in (
            "expert_fraction", "goal_augmentation", "prioritized_fraction", "lr_decay_fraction",
            "drop_view_fraction", "fewer_objects_fraction",
        ):  # fmt: skip
            value = getattr(self, name)
            require(0 <= value <= 1, f"{name} is a fraction in [0, 1], not {value}.")
        require(
            0 <= self.stop_at_success <= 1,
            f"stop_at_success lies in [0, 1], not {self.stop_at_success}.",
        )
        check_number("utd_ratio", self.utd_ratio, low=0)


@dataclass(frozen=True, kw_only=True)
class OfflineConfig:
    """The loop of methods that learn from recorded episodes alone."""

    data: str = ""
    """Folder of a recording ('jostle record') to learn from, for the methods bc, iql and
    iql-privileged."""
    data_episodes: int | None = None
    """Learn from so many episodes of the recording, the first ones; all by default."""
    updates: int = 10_000
    """Updates in total."""
    iteration_updates: int = 100
    """Updates of an iteration."""

    def __post_init__(self) -> None:
        """Refuse loops that go nowhere."""
        if self.data_episodes is not None:
            check_int("data_episodes", self.data_episodes, 1)
        check_int("updates", self.updates, 1)
        check_int("iteration_updates", self.iteration_updates, 1)


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A training by name."""

    name: str
    """Name of the run's folder, with the seed."""
    task: str
    """Task of the catalog."""
    objects: int | tuple[int, int] | None = None
    """How many objects, or a range to draw from each episode; the task's own by default."""
    state_features: StateFeatures = "full"
    """True state as entities: x, y, z and ids of 12 columns (full), the paper's x, y and ids of as
    many columns as there are entities, with the gripper in goals (paper), or the same without ids
    for unstructured networks (flat)."""
    encoder: str = ""
    """Encoder of a pixel agent: a name of the zoo, a run or a file; empty: true state."""
    entities: Literal["particles", "objects"] = "particles"
    """What a pixel agent's entities are: the encoder's particles, or objects found among them, as
    places on the table with ids, in the form of true state."""
    object_classifier: str = ""
    """File of the classifier of objects for training by images; by default one is fitted to random
    actions when the run starts."""
    cameras: tuple[str, ...] = ("front", "side")
    """Cameras of a pixel agent, in the order the encoder was trained with."""
    drop_attributes: tuple[Literal["scale", "depth", "mask"], ...] = ()
    """Attributes of particles to leave out: scale, depth, mask (then all particles are visible)."""
    colors: Literal["fixed", "random"] = "fixed"
    """Colors of the objects: the task's own, or drawn from six for each episode."""
    palette: tuple[str, ...] = ()
    """Names of the colors that random ones are drawn from; none: the paper's six."""
    vary: tuple[str, ...] = ()
    """What differs from the task in all episodes of the training and its evaluations: factors
    such as shape=star,cube mass=x2 color=held-out light=0.7 (docs/tasks.md), but not cameras
    and distractors. 'jostle evaluate' asks for it anew."""
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
    curriculum: CurriculumConfig = field(default_factory=CurriculumConfig)
    """Stages that come first, with --curriculum."""
    iql: IQLConfig = field(default_factory=IQLConfig)
    """Learning rule of iql."""
    offline: OfflineConfig = field(default_factory=OfflineConfig)
    """The loop of offline methods."""
    collection: CollectionConfig = field(default_factory=CollectionConfig)
    """Where episodes are collected."""

    def __post_init__(self) -> None:
        """Refuse wrong values, and parts that do not go together."""
        check_folder_name("name", self.name)
        check_int("seed", self.seed, 0)
        check_trainable(parse_vary(self.vary))
        require(
            self.encoder != "" or self.training.goal_augmentation == 0,
            "Goals can be exchanged between images only: from true state the goal of another "
            "episode has other object ids. Train with --goal-augmentation 0.",
        )
        require(
            self.training.drop_view_fraction == 0
            or (self.training.method == "dagger" and self.encoder != "" and len(self.cameras) > 1),
            "Views can be dropped in the imitation of a teacher from several cameras only: train "
            "with --method dagger --obs pixels, or with --drop-view-fraction 0.",
        )
        require(
            self.encoder != "" or self.hindsight.goal_render_every == 0,
            "Rendered goals are for pixel agents: goals of true state have no arm. Train with "
            "--goal-render-every 0.",
        )
        require(
            "mask" not in self.drop_attributes or not self.net.mean_opacity_mask,
            "Without a mask all particles are visible, so their opacity cannot hide any. Train "
            "with --no-mean-opacity-mask.",
        )
        require(
            self.training.method != "dagger" or self.td3.act_with == "actor",
            "Imitation has no target actor to act with. Train without --act-with.",
        )
        require(
            not self.training.curriculum or len(self.curriculum.stage_objects) > 0,
            "A curriculum needs stages with fewer objects, such as --stage-objects 1 2.",
        )
        check_images(self)
        groups = self.collection.groups
        require(
            self.training.num_envs % groups == 0,
            f"{self.training.num_envs} environments cannot be divided into {groups} equal groups: "
            f"give --num-envs {max(self.training.num_envs // groups, 1) * groups}.",
        )

    @property
    def success_by_images(self) -> bool:
        """Whether training itself measures success by images."""
        default = "images" if self.training.reward in IMAGE_REWARDS else "truth"
        return (self.training.success or default) == "images"

    @property
    def finds_objects(self) -> bool:
        """Whether objects are found in images while training."""
        by_reward = self.training.reward in IMAGE_REWARDS
        return self.success_by_images or by_reward or self.entities == "objects"

    @property
    def max_objects(self) -> int:
        """Largest number of objects."""
        if self.objects is None:
            return TASKS[self.task].objects
        return self.objects[1] if isinstance(self.objects, tuple) else self.objects

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


_PARTS: dict[str, Any] = {
    "net": NetConfig,
    "td3": TD3Config,
    "explore": ExploreConfig,
    "hindsight": HindsightConfig,
    "training": TrainingConfig,
    "curriculum": CurriculumConfig,
    "iql": IQLConfig,
    "offline": OfflineConfig,
    "collection": CollectionConfig,
}


def read_experiment(fields: dict[str, Any]) -> Experiment:
    """Read what `to_dict` wrote; unknown fields are named."""
    if "kind" in fields:
        raise BadValueError(
            f"This run pretrains an encoder ({fields['kind']}), not an agent. "
            "Resume it with 'jostle pretrain --resume'."
        )
    parts = {
        name: config.read_config(part, fields.get(name, {}), name) for name, part in _PARTS.items()
    }
    return config.read_config(Experiment, {**fields, **parts}, "an experiment")


def differences(old: Experiment, new: Experiment, ignore: tuple[str, ...] = ()) -> list[str]:
    """Name the fields in which two experiments differ, apart from those in `ignore`."""
    return config.differences(old.to_dict(), new.to_dict(), ignore)

"""`jostle record AGENT --task T --out DIR`: episodes of agents, as data to learn from."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from jostle.cli.bars import print_progress, progress_bar
from jostle.core.checks import check_int, check_output
from jostle.core.errors import BadValueError, require
from jostle.rollout.episode_recorder import (
    FIRST_SEED,
    EpisodeRecorder,
    Progress,
    RecordedAgent,
    RecordingSpec,
    record_episodes,
)
from jostle.tasks.catalog import TASKS
from jostle.zoo.agents import (
    load_recorded_policy,
    own_eval_noise,
    required_env_kwargs,
    weights_hash,
)

_PLAYED = {"state": 32, "pixels": 8}
"""Episodes played at once by default: images of a whole batch are held in memory."""
_SHARD = {"state": 256, "pixels": 32}
"""Episodes per shard by default."""


@dataclass(frozen=True, kw_only=True)
class RecordConfig:
    """Record episodes of agents into a folder; the same command resumes if it is interrupted."""

    agents: Annotated[tuple[str, ...], tyro.conf.Positional]
    """Who acts: oracle, random, names of the zoo, runs or files of weights. Several share the
    episodes equally, or by weights: random=1 oracle=3."""
    task: str
    """Task of the episodes (see 'jostle tasks')."""
    episodes: int
    """Total number of episodes in the folder."""
    out: Path
    """Folder of the recording."""
    obs: Literal["state", "pixels"] = "state"
    """state: true state only; pixels: images and goal images, too."""
    objects: int | None = None
    """Number of objects; the task's own number by default."""
    colors: Literal["fixed", "random"] = "fixed"
    """Colors of the objects: the task's own, or sampled from six in each episode."""
    cameras: tuple[str, ...] = ("front", "side")
    """Cameras of --obs pixels; pixel agents have their own."""
    image_size: int = 128
    """Side of the images in pixels; pixel agents have their own."""
    steps: int | None = None
    """Actions of an episode; the task's horizon by default."""
    noise: float | None = None
    """Standard deviation of Gaussian noise on the agents' actions; by default each agent's own
    evaluation noise, none for the oracle."""
    epsilon: float = 0.0
    """Probability of a random action at each step instead of the agent's."""
    seed: int = FIRST_SEED
    """Seed of the first episode; the next ones have the seeds after it. Evaluations use 0, 1, 2,
    ... and 1000000, 1000001, ..."""
    num_envs: int | None = None
    """Episodes played at once; 32, or 8 with pixels."""
    shard: int | None = None
    """Episodes per shard, which an interruption loses at most; 256, or 32 with pixels."""
    threads: int = 0
    """Threads for physics and rendering; 0 takes one per core."""

    def __post_init__(self) -> None:
        """Refuse values out of range; `RecordingSpec` checks the others."""
        check_int("episodes", self.episodes, 1)
        require(len(self.agents) > 0, "Name at least one agent, such as oracle or random.")


def run(argv: list[str]) -> None:
    """Record with a progress bar, and print what was recorded."""
    config = tyro.cli(RecordConfig, prog="jostle record", args=argv)
    check_output(config.out, folder=True)
    spec = _spec(config)
    env = spec.make_env(config.threads)
    try:
        policies = [load_recorded_policy(agent.name, env) for agent in spec.agents]
        recorder = EpisodeRecorder(spec, env, policies)
        _print_size(config, recorder)
        total = _record_with_bar(config, recorder)
    finally:
        env.close()
    print(f"{total} episodes of {recorder.manifest.identity['task']} in {config.out}")
    print(_summary(config.out))


def _spec(config: RecordConfig) -> RecordingSpec:
    """What to record."""
    agents = []
    for word in config.agents:
        name, share = _parse_share(word)
        noise = own_eval_noise(name) if config.noise is None else config.noise
        noise = 0.0 if name == "random" else noise
        agents.append(
            RecordedAgent(name=name, share=share, noise=noise, weights=weights_hash(name))
        )
    return RecordingSpec(
        task=TASKS[config.task].name,
        env_kwargs=_env_kwargs(config, [agent.name for agent in agents]),
        agents=tuple(agents),
        frames=config.obs == "pixels",
        steps=config.steps,
        epsilon=config.epsilon,
        seed=config.seed,
        num_envs=_PLAYED[config.obs] if config.num_envs is None else config.num_envs,
    )


def _parse_share(word: str) -> tuple[str, float]:
    """Read AGENT or AGENT=SHARE."""
    name, equals, text = word.rpartition("=")
    if not equals:
        return word, 1.0
    try:
        return name, float(text)
    except ValueError as error:
        raise BadValueError(
            f"'{word}' does not name an agent with its share of the episodes: write {name}=2."
        ) from error


def _env_kwargs(config: RecordConfig, agents: list[str]) -> dict[str, Any]:
    """Options of the environments: what the command asks for, and what pixel agents need."""
    options: dict[str, Any] = {"colors": config.colors}
    if config.objects is not None:
        options["objects"] = config.objects
    if config.obs == "pixels":
        size = config.image_size
        options |= {"obs_type": "both", "cameras": config.cameras, "image_size": size}
    asking = ""
    for name in agents:
        needed = required_env_kwargs(name)
        if not needed:
            continue
        require(
            not asking or all(options.get(key) == value for key, value in needed.items()),
            f"{asking} and {name} need different images: record them into separate folders.",
        )
        options, asking = options | needed, name
    return options


def _print_size(config: RecordConfig, recorder: EpisodeRecorder) -> None:
    """Say how large the recording will be."""
    each = recorder.manifest.episode_bytes
    print_progress(
        f"{config.episodes} episodes of {recorder.manifest.identity['steps']} steps: "
        f"{config.episodes * each / 1e6:,.1f} MB ({each / 1e3:,.1f} kB each)"
    )


def _record_with_bar(config: RecordConfig, recorder: EpisodeRecorder) -> int:
    bar: Any = None

    def start_bar(total: int, done: int) -> Progress:
        nonlocal bar
        bar = progress_bar(total, "episode", recorder.manifest.identity["task"], done)
        update: Progress = bar.update
        return update

    shard = _SHARD[config.obs] if config.shard is None else config.shard
    try:
        return record_episodes(recorder, config.episodes, config.out, shard, start_bar)
    except KeyboardInterrupt:
        print(f"\nstopped; the same command resumes. Complete shards are in {config.out}")
        raise
    finally:
        if bar is not None:
            bar.close()


def _summary(folder: Path) -> str:
    """How well each agent did."""
    from jostle.recordings.reader import RecordedEpisodes

    recorded = RecordedEpisodes(folder)
    lines = []
    for index, name in enumerate(recorded.agents):
        rows = recorded.table[recorded.table["agent"] == index]
        if len(rows):
            lines.append(f"  {name}: {len(rows)} episodes, success {rows['success'].mean():.3f}")
    return "\n".join(lines)

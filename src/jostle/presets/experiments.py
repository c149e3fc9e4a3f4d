"""From a task and the axes to an experiment with good defaults."""

from dataclasses import dataclass, replace

from jostle.agents.config import ExploreConfig, TD3Config
from jostle.core.catalog import suggest
from jostle.core.entities import StateFeatures
from jostle.core.errors import UnknownNameError
from jostle.nets.config import FAST_NET, MLP_NET, PAPER_NET, SMORL_IMAGE_NET, SMORL_NET, NetConfig
from jostle.presets.axes import OFFLINE, Axes
from jostle.presets.from_scratch import from_scratch
from jostle.presets.offline import offline
from jostle.replay.config import HindsightConfig
from jostle.rewards.catalog import IMAGE_REWARDS
from jostle.tasks.budget import TrainingBudget
from jostle.tasks.catalog import TASKS, dashed
from jostle.tasks.task import Task
from jostle.training.experiment import Experiment, TrainingConfig

_SUBGOAL_REWARD_MIN = -4.0
"""Least reward of SMORL's sub-goals that targets reach: an L1 distance of a whole image side."""
_COLOR_RUN = 15_040_000
"""Environment steps of the paper's run with three cubes of random colors."""


@dataclass(frozen=True)
class _Choice:
    """A task and a number of objects, under one name of the command line."""

    name: str
    task: Task
    objects: int | tuple[int, int] | None

    @property
    def max_objects(self) -> int:
        """Largest number of objects."""
        if isinstance(self.objects, tuple):
            return self.objects[1]
        return self.objects or self.task.objects

    @property
    def budget(self) -> TrainingBudget:
        """Training settings of the task."""
        return self.task.training_budget(self.max_objects)

    @property
    def headings(self) -> bool:
        """Whether goals are headings."""
        return self.task.goal_type == "yaw"


def _choice(name: str) -> _Choice:
    """Look a task up by either spelling; `cubes` and `push-2t` are numbers of objects, too."""
    special: dict[str, tuple[str, int | tuple[int, int]]] = {
        "cubes": ("NCubes", (1, 3)),
        "push-2t": ("PushT", 2),
        "push-t": ("PushT", 1),
    }
    if name in special:
        task, objects = special[name]
        return _Choice(name, TASKS[task], objects)
    if name in TASKS:
        return _Choice(dashed(TASKS[name].name), TASKS[name], None)
    known = [*special, *(dashed(task) for task in TASKS)]
    raise UnknownNameError(f"There is no task called '{name}'. {suggest(name, known)}")


def make_experiment(task: str, axes: Axes) -> Experiment:
    """The experiment of a task for these choices."""
    choice = _choice(task)
    experiment = _paper(choice)
    if axes.size == "fast":
        _check_method(axes.method)
        settings = "finetune" if axes.finetune else axes.method
        experiment = _SETTINGS.get(settings, _fast)(choice, experiment)
    if axes.obs == "pixels":
        experiment = _pixels(choice, axes, experiment)
    elif axes.obs == "objects":
        experiment = _seen(choice, axes, experiment)
    experiment = _with_arch(axes, experiment)
    if axes.from_scratch:
        experiment = from_scratch(axes, choice.task, experiment)
    elif axes.finetune and axes.per_entity:
        experiment = replace(experiment, net=replace(experiment.net, values="per-entity"))
    if axes.offline:
        experiment = offline(axes, choice.task, experiment)
    if axes.colors == "random" and axes.size == "paper":
        training = replace(experiment.training, env_steps=_COLOR_RUN)
        experiment = replace(experiment, training=training)
    if axes.reward in IMAGE_REWARDS:
        experiment = _by_images(axes, experiment)
    training = replace(experiment.training, method=axes.method, reward=axes.reward)
    name = f"{choice.name}-{axes.suffix()}"
    experiment = replace(experiment, name=name, colors=axes.colors, training=training)
    return replace(experiment, entities="objects") if axes.obs == "objects" else experiment


def _paper(choice: _Choice) -> Experiment:
    """The paper's networks, learning rule and schedule."""
    budget = choice.budget
    explore = ExploreConfig(decay_from=budget.decay_from, decay_until=budget.decay_until)
    return Experiment(
        name=choice.name,
        task=choice.task.name,
        objects=choice.objects,
        state_features="paper",
        net=PAPER_NET,
        explore=explore,
        hindsight=HindsightConfig(her_ratio=0.8 if budget.hindsight else 0.0),
        training=TrainingConfig(
            env_steps=budget.env_steps, replay_size=budget.replay_size, shuffle_object_ids=False
        ),
    )


def _fast(choice: _Choice, paper: Experiment) -> Experiment:
    """For two cores: smaller networks, unstructured critics, fewer updates, shorter discount."""
    del choice
    return replace(
        paper,
        state_features="full",
        net=replace(FAST_NET, critic_arch="mlp"),
        td3=TD3Config(
            gamma=0.95, tau=0.01, target_update="actor-step", action_penalty=0.1, batch_size=256
        ),
        explore=replace(paper.explore, per_env_epsilon=True, reach_prob=0.1),
        training=replace(
            paper.training, num_envs=32, utd_ratio=0.25, random_episodes=64, eval_every=20,
            shuffle_object_ids=True,
        ),
    )  # fmt: skip


def _dagger(choice: _Choice, paper: Experiment) -> Experiment:
    """Imitation: minutes instead of days."""
    fast, budget = _fast(choice, paper), choice.budget
    horizon = budget.imitation_horizon
    if isinstance(choice.objects, tuple):
        horizon = 50
    return replace(
        fast,
        td3=replace(fast.td3, lr=1e-3, batch_size=256),
        explore=ExploreConfig(epsilon=0.06, sigma=0.05, per_env_epsilon=True),
        hindsight=HindsightConfig(her_ratio=0.0),
        training=replace(
            fast.training, method="dagger", num_envs=64, horizon=horizon, expert_fraction=0.3,
            env_steps=budget.imitation_episodes * horizon, replay_size=400_000, utd_ratio=0.05,
            eval_every=20, lr_warmup_updates=200, lr_decay_fraction=0.5,
        ),
    )  # fmt: skip


def _finetune(choice: _Choice, paper: Experiment) -> Experiment:
    """TD3 from trained weights.

    The critics first learn the values of the initial actor; then it may leave its actions, but not
    by much.
    """
    fast = _fast(choice, paper)
    return replace(
        fast,
        net=replace(fast.net, critic_arch="same"),
        td3=replace(
            fast.td3, lr=2e-4, critic_lr=5e-4, batch_size=192, critic_warmup_updates=3500,
            bc_weight=4.0,
        ),
        explore=ExploreConfig(
            epsilon=0.01, sigma=0.06, per_env_epsilon=True, eval_noise_std=0.05
        ),
        training=replace(
            fast.training, horizon=80, random_episodes=0, utd_ratio=0.2, env_steps=100_000,
            eval_every=10,
        ),
    )  # fmt: skip


_SETTINGS = {"dagger": _dagger, "finetune": _finetune}
"""Settings of methods for true state that differ from `_fast`."""


def _check_method(name: str) -> None:
    """Refuse unknown methods; those from outside are in a registry that needs torch."""
    if name not in ("td3", "td3-demos", "td3-privileged", "dagger", *OFFLINE):
        from jostle.training.methods import METHODS

        _ = METHODS[name]


def _pixels(choice: _Choice, axes: Axes, state: Experiment) -> Experiment:
    """The same from images."""
    experiment = _seen(choice, axes, state)
    if axes.size == "paper":
        return replace(experiment, net=replace(state.net, mean_opacity_mask=True))
    experiment = replace(experiment, net=_pixel_net(choice, axes, state.net))
    if axes.method == "dagger":
        return _pixels_dagger(choice, experiment)
    if axes.method == "td3-privileged":
        utd_ratio = 0.25 if axes.finetune else experiment.training.utd_ratio
        return replace(
            experiment,
            td3=replace(experiment.td3, batch_size=128),
            training=replace(experiment.training, shuffle_object_ids=False, utd_ratio=utd_ratio),
        )
    if axes.finetune or axes.offline or axes.from_scratch:
        return experiment
    return _pixels_td3(choice, experiment)


def _seen(choice: _Choice, axes: Axes, state: Experiment) -> Experiment:
    """Cameras and encoder of a pixel agent."""
    encoder = axes.encoder or choice.budget.encoder
    return replace(state, encoder=encoder, cameras=("front", "side")[: axes.views])


def _pixel_net(choice: _Choice, axes: Axes, net: NetConfig) -> NetConfig:
    """Particles of all views on one table; a heading is a nonlinear function of appearance."""
    net = replace(net, table_xy=True, embed_mlp=(64,) if choice.headings else ())
    if axes.method == "td3":
        net = replace(net, critic_arch="same")  # critics of sets of particles
    if axes.encoder.startswith("slots"):  # slots have no position
        net = replace(net, relative_positions=0, table_xy=False)
    return net


def _pixels_td3(choice: _Choice, experiment: Experiment) -> Experiment:
    """TD3 whose actor and critics see particles; images are cheap compared with updates."""
    return replace(
        experiment,
        td3=replace(experiment.td3, potential_baseline=True, self_imitation_weight=2.0),
        explore=replace(experiment.explore, reach_avoid_edge=True),
        hindsight=replace(
            experiment.hindsight, goal_render_every=5, skip_fallen_goals=not choice.headings
        ),
        training=replace(experiment.training, num_envs=64, utd_ratio=0.1),
    )


def _pixels_dagger(choice: _Choice, experiment: Experiment) -> Experiment:
    """Imitation from images; a network is easier to imitate than a script.

    Where two cubes are equally near, the oracle jumps from one to the other.
    """
    # Imitation alone does not discover that appearance shows the heading: predicting it helps
    aux_targets = 4 * choice.max_objects if choice.headings else 0
    return replace(
        experiment,
        net=replace(experiment.net, aux_targets=aux_targets),
        td3=replace(experiment.td3, batch_size=128),
        training=replace(
            experiment.training, num_envs=32, replay_size=100_000, utd_ratio=0.2,
            env_steps=300_000, eval_every=40, teacher=choice.budget.teacher,
            goal_augmentation=0.5,
        ),
    )  # fmt: skip


def _by_images(axes: Axes, experiment: Experiment) -> Experiment:
    """No true state: goals as the cameras saw them, moves towards what particles show."""
    return replace(
        experiment,
        explore=replace(experiment.explore, reach_from="particles"),
        hindsight=replace(experiment.hindsight, goal_render_every=0),
        net=experiment.net if axes.per_entity else replace(experiment.net, values="pooled"),
    )


def _with_arch(axes: Axes, experiment: Experiment) -> Experiment:
    """Baselines: no sets, or one object at a time."""
    if axes.arch == "mlp":  # objects are identified by their row, so ids must not move
        training = replace(experiment.training, shuffle_object_ids=False)
        features: StateFeatures = "flat" if axes.size == "paper" else experiment.state_features
        return replace(experiment, net=MLP_NET, state_features=features, training=training)
    if axes.arch == "smorl":  # episodes of 30 steps whatever the number of objects
        training = replace(experiment.training, horizon=30, shuffle_object_ids=True)
        if not axes.pixels:
            return replace(experiment, net=SMORL_NET, training=training)
        # Distances in the image are larger numbers than those of the other rewards. A sub-goal
        # without a match for one step would change the potential of all later ones.
        experiment = _by_images(axes, experiment)
        td3 = replace(
            experiment.td3, reward_min=_SUBGOAL_REWARD_MIN, potential_baseline=False
        )  # fmt: skip
        training = replace(training, reward=axes.reward)
        return replace(experiment, net=SMORL_IMAGE_NET, td3=td3, training=training)
    return experiment

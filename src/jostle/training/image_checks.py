"""What training by images excludes: whatever would read true state, or has no meaning in images."""

from typing import TYPE_CHECKING

from jostle.core.errors import require
from jostle.rewards.catalog import IMAGE_REWARDS, SUBGOAL_REWARDS
from jostle.tasks.catalog import TASKS

if TYPE_CHECKING:
    from jostle.training.experiment import Experiment


def check_images(experiment: "Experiment") -> None:
    """Refuse experiments that a reward of images, or success by images, does not go with."""
    training = experiment.training
    _check_subgoals(experiment)
    if experiment.entities == "objects":
        _check_objects(experiment)
    require(
        not experiment.object_classifier or experiment.finds_objects,
        "A classifier of objects is for rewards of images: train with --reward table, or without "
        "--object-classifier.",
    )
    if not experiment.finds_objects:
        return
    by_reward = training.reward in IMAGE_REWARDS
    what = f"The reward '{training.reward}'" if by_reward else "Success by images"
    require(
        experiment.encoder != "",
        f"{what} reads images: train a pixel agent with an encoder of particles (--obs pixels "
        "--method td3), or from true state with --reward true.",
    )
    require(
        training.method not in ("dagger", "bc", "iql", "iql-privileged"),
        f"{what} is for agents that collect their own episodes and learn from rewards, not for "
        f"the method '{training.method}'. Train with --method td3.",
    )
    require(
        not experiment.net.mean_opacity_mask and "mask" not in experiment.drop_attributes,
        f"{what} needs to know which particles are visible. Train with --no-mean-opacity-mask and "
        "without --drop-attributes mask.",
    )
    _check_task(experiment, what)
    if by_reward:
        _check_reward(experiment, what)
        require(
            experiment.entities == "objects" or experiment.hindsight.interaction_fraction == 0,
            f"{what} does not say which objects were moved. Train without --interaction-fraction, "
            "or with --obs objects.",
        )


def _check_subgoals(experiment: "Experiment") -> None:
    """Refuse all but SMORL for rewards of one goal particle, and other rewards for SMORL."""
    training = experiment.training
    smorl = experiment.net.arch == "smorl" and experiment.encoder != ""
    require(
        smorl or training.reward not in SUBGOAL_REWARDS,
        f"The reward '{training.reward}' is that of one goal particle: train with --arch smorl "
        "--obs pixels, or with another --reward.",
    )
    require(
        not smorl or (training.reward in SUBGOAL_REWARDS and training.method == "td3"),
        "SMORL from images sees one goal particle at a time: train with --method td3 and --reward "
        "smorl or smorl-paper.",
    )


def _check_objects(experiment: "Experiment") -> None:
    """Refuse what agents that observe objects do not go with."""
    training, net = experiment.training, experiment.net
    require(
        experiment.encoder != "",
        "Objects are found in images: train with --obs objects, or from true state without "
        "--entities objects.",
    )
    require(
        training.method == "td3" and training.reward == "table" and net.arch == "eit",
        f"An agent that observes objects learns by td3 with the reward 'table' and --arch eit, not "
        f"by {training.method} with '{training.reward}' and --arch {net.arch}.",
    )
    require(
        not net.table_xy and net.aux_targets == 0 and training.goal_augmentation == 0,
        "An agent that observes objects has no particles: train it with --obs objects, and without "
        "--table-xy, --aux-targets and --goal-augmentation.",
    )
    require(
        experiment.hindsight.goal_render_every == 0
        and experiment.hindsight.strategy == "future"
        and experiment.hindsight.other_episode_fraction == 0
        and experiment.hindsight.stay_fraction == 0,
        "Hindsight of an agent that observes objects takes whole moments: train with --strategy "
        "future, and without --goal-render-every, --other-episode-fraction and --stay-fraction.",
    )


def _check_reward(experiment: "Experiment", what: str) -> None:
    """Refuse exploration and values that read or need true state."""
    explore, curriculum = experiment.explore, experiment.curriculum
    staged = experiment.training.curriculum and any(curriculum.stage_reach_prob)
    require(
        explore.reach_from == "particles" or (explore.reach_prob == 0 and not staged),
        f"{what} is for training without true state, but moves towards objects read where they "
        "truly are. Train with --reach-from particles, or with --reach-prob 0 (and, with "
        "--curriculum, a --stage-reach-prob of 0 for each stage).",
    )
    method, pooled = experiment.training.method, experiment.net.values == "pooled"
    require(
        pooled or (experiment.training.reward, method) == ("table", "td3"),
        f"{what} with --method {method} has no reward for each object that critics observe. Train "
        "with --reward table and --method td3, or with --values pooled.",
    )


def _check_task(experiment: "Experiment", what: str) -> None:
    """Refuse tasks whose goals are not one place on the table per object."""
    task = TASKS[experiment.task]
    require(
        task.goal_type == "position",
        f"{what} measures places on the table, and {task.name} asks for headings. Train with "
        "--reward true.",
    )
    require(
        task.extra_slots() == 0,
        f"{what} takes everything in a goal picture for an object to be moved, and {task.name} "
        "shows objects there that are not in the scene. Train with --reward true.",
    )
    counts = range(task.counts[0], task.counts[1] + 1)
    groups = {task.color_group(slot, count) for count in counts for slot in range(count)}
    require(
        len(groups) >= task.counts[1],
        f"{what} pairs every object with one goal, and {task.name} has more objects than goals of "
        "one color. Train with --reward true.",
    )

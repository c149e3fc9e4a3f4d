"""Tasks, shapes, encoders, methods and rewards of your own."""

from typing import TYPE_CHECKING

from jostle.core.errors import BadValueError
from jostle.envs.register import register_all
from jostle.rewards.catalog import IMAGE_REWARDS, REWARDS, MakeReward
from jostle.scene.shapes import SHAPES, ObjectShape
from jostle.tasks.catalog import TASKS
from jostle.tasks.task import Task

if TYPE_CHECKING:  # they need the extra 'train', tasks and rewards do not
    from jostle.encoders.catalog import EncoderSpec
    from jostle.training.methods import Method


def register_task(task: Task) -> None:
    """Add a task: `gymnasium.make("jostle/NAME-v0")`, `jostle train NAME`, evaluations know it."""
    if not isinstance(task, Task):
        raise BadValueError(
            f"A task is a jostle.tasks.task.Task, such as a subclass with its own sample_goal; "
            f"this is a {type(task).__name__}."
        )
    TASKS.register(task.name, task)
    register_all()


def register_shape(name: str, shape: ObjectShape) -> None:
    """Add a shape of objects: tasks, `Shape("NAME")` and `--vary shape=NAME` know it."""
    if not isinstance(shape, ObjectShape):
        raise BadValueError(
            f"A shape is a jostle.scene.shapes.ObjectShape, a union of boxes; this is a "
            f"{type(shape).__name__}."
        )
    SHAPES.register(name, shape)


def register_encoder(kind: str, spec: "EncoderSpec") -> None:
    """Add a kind of encoder: `jostle pretrain KIND` and files of encoders know it."""
    from jostle.encoders.catalog import ENCODERS, EncoderSpec

    if not isinstance(spec, EncoderSpec):
        raise BadValueError(
            f"An encoder is registered by an EncoderSpec (model, config, presets), not by a "
            f"{type(spec).__name__}."
        )
    missing = [
        part
        for part in ("encode", "reconstruct", "init_from_data", "loss", "shape", "layout")
        if not hasattr(spec.network(), part)
    ]
    if missing:
        raise BadValueError(
            f"The encoder '{kind}' lacks {', '.join(missing)} (jostle.core.protocols.Encoder)."
        )
    ENCODERS.register(kind, spec)


def register_method(name: str, method: "Method") -> None:
    """Add a method; it is then known to `jostle train --method NAME`."""
    from jostle.training.methods import METHODS

    METHODS.register(name, method)


def register_reward(name: str, make: MakeReward, images: bool = False) -> None:
    """Add a reward: `jostle train TASK --reward NAME` knows it.

    With `images`, it reads nothing but images: `RewardContext.images` has a classifier of objects.
    """
    REWARDS.register(name, make)
    if images:
        IMAGE_REWARDS.add(name)

"""`jostle tasks`: list the tasks."""

import tyro

from jostle.tasks.catalog import TASKS, task_id


def run(argv: list[str]) -> None:
    """Print every task with its id, number of objects and horizon."""
    tyro.cli(_no_options, prog="jostle tasks", args=argv)
    print(f"{'id':28} {'objects':>8} {'steps':>6}  goal")
    for name, task in TASKS.items():
        low, high = task.counts
        span = f"{task.objects}" if low == high else f"{task.objects} ({low}-{high})"
        print(f"{task_id(name):28} {span:>8} {task.horizon(task.objects):>6}  {task.summary}")
    print("\nExample: import jostle; gymnasium.make('jostle/ThreeCubes-v0', obs_type='both')")


def _no_options() -> None:
    """List the tasks: Gymnasium ids, objects (and their range), training horizon."""

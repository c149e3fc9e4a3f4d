"""`jostle demo`: video and scores of a trained agent on 3-Cubes, and images of all tasks."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import tyro

from jostle.cli.docs_pictures import suite_sheet
from jostle.cli.eval_jobs import EvalJob, evaluate_with_bar
from jostle.cli.video import VideoConfig, make_video
from jostle.core.checks import check_int
from jostle.reports.tables import evaluation_table
from jostle.reports.video import save_image
from jostle.tasks.catalog import TASKS
from jostle.zoo.agents import required_env_kwargs


@dataclass(frozen=True, kw_only=True)
class DemoConfig:
    """Record and evaluate an agent on 3-Cubes, and render every task."""

    agent: str = "three-cubes-pixels"
    """Agent: a name of the zoo (needs the extra 'train'), oracle, a run or a file."""
    episodes: int = 32
    """Fixed episodes in the table; the video shows one of them."""
    seed: int = 2
    """Seed of the recorded episode; by default one that the agent solves."""
    out: Path = Path("demo")
    """Folder for the results."""

    def __post_init__(self) -> None:
        """Refuse values out of range."""
        check_int("seed", self.seed, 0)
        check_int("episodes", self.episodes, 1)


def run(argv: list[str]) -> None:
    """Run the demo and print where the results are."""
    config = tyro.cli(DemoConfig, prog="jostle demo", args=argv)
    task = TASKS["ThreeCubes"]
    video_config = VideoConfig(  # as long as the evaluated episodes
        task=task.name, agent=(config.agent,), seed=config.seed, out=config.out,
        steps=task.horizon(task.objects),
    )  # fmt: skip
    video, sheet, (recording,) = make_video(video_config)
    overlay_video = None
    if required_env_kwargs(config.agent):  # a pixel agent
        overlay_video = make_video(replace(video_config, overlay="particles"))[0]
    tasks = save_image(suite_sheet(), config.out / "tasks.png")
    job = EvalJob(
        agent=config.agent, task="ThreeCubes", episodes=config.episodes, num_envs=config.episodes
    )
    table = evaluation_table([evaluate_with_bar(job).summary()])
    (config.out / "metrics.md").write_text(table)
    millimeters = np.round(1000 * recording.distances[-1]).astype(int).tolist()
    outcome = "all cubes are at their goals" if recording.success else "not all cubes are at goal"
    print(f"\n{table}\nIn the video, {outcome} (distances {millimeters} mm).")
    print(f"video:         {video}\ncontact sheet: {sheet}\nall tasks:     {tasks}")
    print(f"metrics:       {config.out / 'metrics.md'}")
    if overlay_video is not None:
        print(f"detections:    {overlay_video}")

"""`jostle probe ENCODER`: will this encoder do? Its numbers and pictures, before any agent."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import torch
import tyro
from tqdm import tqdm

from jostle.cli.scenes import collect_scenes
from jostle.core.errors import BadValueError, require
from jostle.core.rundir import provenance, write_json
from jostle.probing.looking import Encoder
from jostle.probing.measure import Study
from jostle.probing.showing import examples, worst
from jostle.reports.encoders import Chapter, page, rows_of, summary, table
from jostle.reports.portraits import gallery, png
from jostle.rollout.snapshots import Pace
from jostle.zoo.encoders import encoder_for


@dataclass(frozen=True, kw_only=True)
class ProbeConfig:
    """Measure an encoder against what frames truly show."""

    encoder: Annotated[str, tyro.conf.Positional]
    """Which: a name of the zoo, a run's folder or a file of weights."""
    data: tuple[Path, ...] = ()
    """Folders of frames with truth; each is a row of the table."""
    scenes: Path | None = None
    """A recipe of folders to measure on, such as recipes/probe.toml; missing ones are collected."""
    frames_dir: Path = Path("frames/probe")
    """Where the folders of the recipe are."""
    limit: int | None = None
    """Most scenes to look at in each folder."""
    worst: int = 6
    """How many of the objects that were seen worst are shown of each folder."""
    threads: int = 0
    """Threads for collecting and encoding; 0 takes one per core."""
    out: Path | None = None
    """Write NAME.json, NAME.html, NAME.md and its pictures into this folder."""
    name: str | None = None
    """What to call the encoder; by default the last part of ENCODER."""

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        require(self.threads >= 0, f"threads must be 0 or more, not {self.threads}.")
        require(self.worst >= 0, f"worst must be 0 or more, not {self.worst}.")

    @property
    def title(self) -> str:
        """Name of the encoder, fit for files."""
        path = Path(self.encoder)
        return self.name or (path.stem if path.suffix == ".safetensors" else path.name)


def run(argv: list[str]) -> None:
    """Measure on every folder, print the table, write pages if asked."""
    config = tyro.cli(ProbeConfig, prog="jostle probe", args=argv)
    model, _ = encoder_for(config.encoder)
    if config.threads:
        torch.set_num_threads(config.threads)
    folders = [*config.data]
    if config.scenes is not None:
        folders += collect_scenes(config.scenes, config.frames_dir, Pace(threads=config.threads))
    if not folders:
        raise BadValueError(
            "There is nothing to look at. Name folders of frames by --data, or a recipe of them by "
            "--scenes recipes/probe.toml."
        )
    shown = 2 if len(folders) < 6 else 1
    chapters = [_chapter(model, one, shown, config) for one in tqdm(folders, desc=config.title)]
    measured = [chapter.measured for chapter in chapters]
    print(table(rows_of(measured)))
    if config.out is not None:
        _write(chapters, f"jostle probe {' '.join(argv)}", config, config.out)


def _chapter(model: Encoder, folder: Path, shown: int, config: ProbeConfig) -> Chapter:
    study = Study.of(model, folder, config.limit)
    if config.out is None:
        return Chapter(study.measured(), (), ())
    pictures = examples(model, study, shown), worst(model, study, config.worst)
    return Chapter(study.measured(), *pictures)


def _write(chapters: list[Chapter], made_by: str, config: ProbeConfig, out: Path) -> None:
    title, measured = config.title, [chapter.measured for chapter in chapters]
    out.mkdir(parents=True, exist_ok=True)
    sheets = gallery([(one.measured.name, one.examples, one.worst) for one in chapters])
    names = {f"{title}{ending}.png": sheet for ending, sheet in sheets.items()}
    for name, sheet in names.items():
        (out / name).write_bytes(png(sheet))
    content = {
        "encoder": config.encoder,
        "made_by": made_by,
        "provenance": provenance(),
        "data": [one.to_dict() for one in measured],
    }
    write_json(out / f"{title}.json", content)
    (out / f"{title}.md").write_text(summary(title, made_by, measured, list(names)))
    (out / f"{title}.html").write_text(page(title, made_by, chapters))
    print(f"written: {out / title}.html, .md, .json")

"""`jostle probe ENCODER`: metrics and images of an encoder, before any agent is trained on it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from jostle.core.checks import check_folder_name, check_int, check_output
from jostle.core.errors import require


@dataclass(frozen=True, kw_only=True)
class ProbeConfig:
    """Measure an encoder against the ground truth of frames."""

    encoder: Annotated[str, tyro.conf.Positional]
    """Encoder: a name of the zoo, a run directory or a weights file."""
    data: tuple[Path, ...] = ()
    """Folders of frames with ground truth; each is a row of the table."""
    scenes: Path | None = None
    """File that lists frame datasets, such as studies/probe.toml; missing ones are collected."""
    frames_dir: Path = Path("frames/probe")
    """Where the folders of --scenes are."""
    limit: int | None = None
    """Maximum number of scenes per folder; with --classifier, episodes per scene."""
    classifier: bool = False
    """Instead, fit the classifier of objects to motion and to simulated tags, and report which
    particles both keep in eight scenes; no frames are needed."""
    worst: int = 6
    """Number of objects with the largest errors to show of each folder."""
    threads: int = 0
    """Threads for collecting and encoding; 0 means one per core."""
    out: Path | None = None
    """Write NAME.json, NAME.html, NAME.md and its images into this folder."""
    name: str | None = None
    """Name of the encoder in the results; by default the last part of ENCODER."""

    def __post_init__(self) -> None:
        """Check the values."""
        check_int("threads", self.threads, 0)
        check_int("worst", self.worst, 0)
        require(
            not (self.classifier and (self.data or self.scenes is not None)),
            "--classifier makes its own scenes: leave out --data and --scenes.",
        )
        if self.limit is not None:
            check_int("limit", self.limit, 1)
        if self.name is not None:
            check_folder_name("name", self.name)

    @property
    def title(self) -> str:
        """Name of the encoder, suitable for file names."""
        path = Path(self.encoder)
        return self.name or (path.stem if path.suffix == ".safetensors" else path.name)


def run(argv: list[str]) -> None:
    """Probe on every folder, print the table, and write pages with --out."""
    config = tyro.cli(ProbeConfig, prog="jostle probe", args=argv)
    if config.out is not None:
        check_output(config.out, folder=True)

    if config.classifier:
        from jostle.cli.probe_classifier import probe_classifier

        probe_classifier(config, f"jostle probe {' '.join(argv)}")
        return
    from jostle.cli.probe_pages import probe  # needs torch, which help does without

    probe(config, f"jostle probe {' '.join(argv)}")

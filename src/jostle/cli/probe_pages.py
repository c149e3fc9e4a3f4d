"""The work of `jostle probe`: metrics, images and pages of an encoder."""

from pathlib import Path
from typing import TYPE_CHECKING

import torch

from jostle.cli.bars import progress_bar
from jostle.cli.scenes import collect_scenes
from jostle.core.errors import BadValueError
from jostle.core.files import write_json
from jostle.core.protocols import Encoder
from jostle.probing.examples import scene_examples, worst_cases
from jostle.probing.probe import Probe
from jostle.reports.drawing import gallery, png
from jostle.reports.encoders import (
    ProbeSection,
    html_page,
    markdown_page,
    metrics_table,
    total_by_folder,
)
from jostle.rollout.frame_collector import CollectOptions
from jostle.runs.run_dir import provenance
from jostle.zoo.encoders import load_encoder_with_meta

if TYPE_CHECKING:
    from jostle.cli.probe import ProbeConfig


def probe(config: "ProbeConfig", made_by: str) -> None:
    """Probe on every folder, print the table, and write pages with --out."""
    model, _ = load_encoder_with_meta(config.encoder)
    if config.threads:
        torch.set_num_threads(config.threads)
    folders = [*config.data]
    if config.scenes is not None:
        folders += collect_scenes(
            config.scenes, config.frames_dir, CollectOptions(threads=config.threads)
        )
    if not folders:
        raise BadValueError(
            "There are no frames. Name folders of frames with --data, or a list of datasets with "
            "--scenes studies/probe.toml."
        )
    shown = 2 if len(folders) < 6 else 1  # scenes per folder
    sections = []
    with progress_bar(len(folders), "folder", config.title) as bar:
        for folder in folders:
            sections.append(_section(model, folder, shown, config))
            bar.update()
    print(metrics_table(total_by_folder([section.result for section in sections])))
    if config.out is not None:
        _write(sections, made_by, config, config.out)


def _section(model: Encoder, folder: Path, shown: int, config: "ProbeConfig") -> ProbeSection:
    probe = Probe.run(model, folder, config.limit)
    if config.out is None:
        return ProbeSection(probe.result(), (), ())
    scenes, failures = scene_examples(model, probe, shown), worst_cases(model, probe, config.worst)
    return ProbeSection(probe.result(), scenes, failures)


def _write(sections: list[ProbeSection], made_by: str, config: "ProbeConfig", out: Path) -> None:
    title, results = config.title, [section.result for section in sections]
    out.mkdir(parents=True, exist_ok=True)
    # Images
    sheets = gallery(
        [(section.result.name, section.examples, section.failures) for section in sections]
    )
    images = {f"{title}{suffix}.png": sheet for suffix, sheet in sheets.items()}
    for name, sheet in images.items():
        (out / name).write_bytes(png(sheet))
    # Metrics and pages
    content = {
        "encoder": config.encoder,
        "made_by": made_by,
        "provenance": provenance(),
        "data": [result.to_dict() for result in results],
    }
    write_json(out / f"{title}.json", content)
    (out / f"{title}.md").write_text(markdown_page(title, made_by, results, list(images)))
    (out / f"{title}.html").write_text(html_page(title, made_by, sections))
    print(f"written: {out / title}.html, .md, .json")

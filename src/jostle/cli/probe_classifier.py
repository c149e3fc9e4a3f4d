"""The work of `jostle probe --classifier`: which particles the classifiers of objects keep."""

from dataclasses import asdict
from typing import TYPE_CHECKING

import torch

from jostle.cli.bars import progress_bar
from jostle.core.files import write_json
from jostle.runs.run_dir import provenance
from jostle.training.classifier_scores import SCENES, classifier_table, score_classifiers
from jostle.zoo.encoders import load_encoder

if TYPE_CHECKING:
    from jostle.cli.probe import ProbeConfig

_CAMERAS = ("front", "side")
_EPISODES, _STEPS = 12, 50
_NOTES = """Particles whose center lies on an object or on the arm, by the segmentation, in episodes
of the oracle with 30 % random actions. The first two columns are those of the classifier that is
learned from motion, without tags; the others those of one that is fitted to 20 tagged images.
**Tags are simulated:** the segmentation says which particles are objects, so there are no mistakes
as a person makes them. No classifier was fitted to these episodes."""


def probe_classifier(config: "ProbeConfig", made_by: str) -> None:
    """Print the table, and write it with --out."""
    encoder = load_encoder(config.encoder)
    if config.threads:
        torch.set_num_threads(config.threads)
    scores = []
    with progress_bar(len(SCENES), "scene", config.title) as bar:
        for score in score_classifiers(encoder, _CAMERAS, config.limit or _EPISODES, _STEPS):
            scores.append(score)
            bar.update()
    table = classifier_table(scores)
    print(table)
    if config.out is None:
        return
    config.out.mkdir(parents=True, exist_ok=True)
    path = config.out / f"{config.title}-classifier"
    content = {"made_by": made_by, "provenance": provenance()}
    rows = {"scenes": [asdict(score) for score in scores]}
    write_json(path.with_suffix(".json"), {"encoder": config.encoder, **content, **rows})
    heading = f"# Which particles of {config.title} show objects\n\nMade by `{made_by}`."
    path.with_suffix(".md").write_text(f"{heading}\n\n{_NOTES}\n\n{table}\n")
    print(f"written: {path}.md, .json")

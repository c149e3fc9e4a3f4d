"""The reference page of file formats: names and fields from the code, rules in words."""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path

from jostle.cli.benchmark import Row
from jostle.core.file_format import FORMAT
from jostle.frames.manifest import FORMAT as FRAMES_FORMAT
from jostle.frames.manifest import MANIFEST_NAME
from jostle.runs.run_dir import RunDir, critics_file, encoder_file, provenance
from jostle.tasks.episode import EpisodeSpec
from jostle.zoo.queue import Job

FieldDocs = Callable[[type], dict[str, tuple[str, str]]]

_OTHER_FILES = {
    "provenance.json": "where and with what the run was started",
    "history.json": "the trainings of the weights before this run",
    "tensorboard/": "the metrics again, where TensorBoard is installed",
    "stages/N/": "runs of a curriculum's stages with N objects, in the same form",
    "wandb_id.txt": "the id under which Weights & Biases resumes the run",
}
"""Files of a run that have no property of their own."""


def files_page(field_docs: FieldDocs) -> str:
    """All formats; `field_docs` reads the docstrings of fields."""
    sections = (_run(), _weights(), _frames(), _results(), _episodes(field_docs), _toml(field_docs))
    lines = [
        "# File formats", "",
        "Names and fields are generated from the code. Nothing is a pickle: reading a file never "
        "runs code. A file is written under a temporary name first, so that an interruption leaves "
        "the old one.",
    ]  # fmt: skip
    for section in sections:
        lines += ["", *section]
    return "\n".join(lines) + "\n"


def _run() -> Iterator[str]:
    yield from ("## Run folder", "", "Made by `jostle train` and `jostle pretrain`.", "")
    yield from ("| file | content |", "|---|---|")
    run = RunDir(Path("RUN"))
    for name, part in vars(RunDir).items():
        if isinstance(part, property) and not name.startswith("_"):
            path = getattr(run, name).relative_to("RUN").as_posix()
            yield f"| `{path}` | {_first_sentence(part.fget)} |"
    for name, text in _OTHER_FILES.items():
        yield f"| `{name}` | {text[0].upper()}{text[1:]}. |"
    weights = run.best.name
    yield from (
        f"| `checkpoints/{critics_file(run.best).name}` | Critics and target networks of "
        f"`{weights}`, for `--carry all`. |",
        "",
        "`metrics.jsonl` has one JSON object per line; [log keys](metrics.md) explains each key. "
        "A line that a kill has cut off is ignored, and a resumed run writes it again. "
        f"`provenance.json` has {_names(provenance())}.",
    )


def _weights() -> Iterator[str]:
    yield from (
        "## Weights",
        "",
        "Weights, checkpoints and encoders are `.safetensors` files. Their header has three texts:",
        "",
        "| key | content |",
        "|---|---|",
        f"| `format` | `{FORMAT}` in this version; others are refused. |",
        "| `meta` | JSON: what the file holds, see below. |",
        "| `sha256` | Checksum of `meta` and of names, types, shapes and bytes of all tensors. |",
        "",
        "| key of `meta` | in | content |",
        "|---|---|---|",
        "| `experiment` | agents | All settings, as `experiment.json`. |",
        "| `pretraining` | encoders | All settings. |",
        "| `encoder` | pixel agents | Name and hash of the encoder, which is stored elsewhere. |",
        "| `encoder` | encoders | Kind, config, shape and hash. |",
        "| `history` | both | Stages of training: method or kind, seed, updates, minutes. |",
        "| `score` | best and final weights | [Results of an evaluation]"
        "(metrics.md#results-of-an-evaluation), or validation losses. |",
        "| `parts`, `counters` | checkpoints | States of everything that is resumed. |",
        "",
        "Names of tensors begin with the network: `actor.`, `normalizer.`, `critics.`, "
        "`target_actor.`, `target_critics.`, `encoder.`.",
        "",
        "In a zoo, `NAME.safetensors` lies beside its card `NAME.md`, its learning curve "
        "`NAME.png` and its scores `NAME.json`. "
        f"`{critics_file(Path('NAME.safetensors')).name}` holds critics, "
        f"`{encoder_file(Path('NAME.safetensors')).name}` an encoder that no zoo has. "
        "`checksums.json` has the SHA-256 of every file of weights.",
    )


def _frames() -> Iterator[str]:
    yield from (
        "## Frames",
        "",
        f"A folder of `jostle collect`: `{MANIFEST_NAME}` (format {FRAMES_FORMAT}) and shards of "
        "`.npy` files. [Frames](../../frames.md#files) lists them, with shapes.",
    )


def _results() -> Iterator[str]:
    yield from (
        "## Results",
        "",
        "| file | made by | content |",
        "|---|---|---|",
        "| `OUT.md` | `jostle evaluate`, `jostle benchmark` | Tables. |",
        "| `OUT.json` | `jostle benchmark` | `rows`: [a summary](metrics.md"
        "#results-of-an-evaluation) and [what the study adds](metrics.md#results-of-a-study). It "
        "is also the cache. |",
        "| `OUT.jsonl` | both | [One line per episode](metrics.md#episodes) of what was evaluated. "
        "|",
    )


def _episodes(field_docs: FieldDocs) -> Iterator[str]:
    yield from (
        "## Episodes",
        "",
        "`env.unwrapped.episode.to_json()` writes one line of JSON. "
        '`reset(options={"episode": ...})` starts it again. Poses are x, y, yaw of each object '
        "slot, null for a slot that is not present.",
        "",
        "| key | content |",
        "|---|---|",
    )
    keys = {"appearance": "look", "goal_view": "photo"}
    for name, (_, text) in field_docs(EpisodeSpec).items():
        yield f"| `{keys.get(name, name)}` | {text} |"


def _toml(field_docs: FieldDocs) -> Iterator[str]:
    yield from (
        "## Studies and queues",
        "",
        "A study (`jostle benchmark`) has a `title`, `notes` in Markdown, and `[[row]]` entries:",
        "",
        *_fields(Row, field_docs),
        "",
        "A queue (`jostle queue`) has `[[training]]` entries:",
        "",
        *_fields(Job, field_docs),
    )


def _fields(cls: type, field_docs: FieldDocs) -> Iterator[str]:
    docs = field_docs(cls)
    yield from ("| field | meaning |", "|---|---|")
    for field in fields(cls):  # type: ignore[arg-type]
        yield f"| `{field.name}` | {docs[field.name][1]} |"


def _first_sentence(function: Callable[..., object] | None) -> str:
    text = " ".join((inspect.getdoc(function) or "").split())
    return text.split(". ")[0].rstrip(".") + "."


def _names(content: dict[str, object]) -> str:
    names = [f"`{name}`" for name in content]
    return ", ".join(names[:-1]) + f" and {names[-1]}"

"""Rewrite files of the old format for this version: agents, critics and encoders.

    python scripts/upgrade_format.py OLD.safetensors ... --out FOLDER
    python scripts/upgrade_format.py --docs docs/renamed.md

Only names change, no weights. The renames are listed in src/jostle/cli/old_names.toml. The model
card and the score file beside a file are rewritten too. With --docs, the script writes the tables
of old and new names instead.
"""

import argparse
import hashlib
import json
import re
import shutil
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from old_presets import new_preset
from renamed_tables import tables
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor
from upgrade_cards import digest, upgrade_card, upgrade_scores

OLD, NEW = "jostle-1", "jostle-2"
ROOT = Path(__file__).parents[1]
NAMES: dict[str, Any] = tomllib.loads((ROOT / "src/jostle/cli/old_names.toml").read_text())


def move(tree: dict[str, Any], renames: dict[str, str]) -> dict[str, Any]:
    """Give fields of nested JSON new paths; an empty new path drops the field."""
    moved: dict[str, Any] = {}
    for path, value in leaves(tree).items():
        new = renames.get(path, path)
        for old_head, new_head in renames.items():  # a renamed part moves all that is in it
            if path.startswith(f"{old_head}.") and path not in renames:
                new = new_head + path[len(old_head) :]
        if not new:
            continue
        *parts, last = new.split(".")
        place = moved
        for part in parts:
            place = place.setdefault(part, {})
        place[last] = value
    return moved


def leaves(tree: dict[str, Any], head: str = "") -> dict[str, Any]:
    """Flatten nested JSON: dotted path to value."""
    found: dict[str, Any] = {}
    for name, value in tree.items():
        if isinstance(value, dict) and value:
            found |= leaves(value, f"{head}{name}.")
        else:
            found[f"{head}{name}"] = value
    return found


def upgrade_experiment(old: dict[str, Any]) -> dict[str, Any]:
    """Rename the fields of an experiment, and values that have new names."""
    values = NAMES["experiment_values"]
    changed = {path: values.get(f"{path} = {value}", value) for path, value in leaves(old).items()}
    return move(unflatten(changed), NAMES["experiment"])


def unflatten(flat: dict[str, Any]) -> dict[str, Any]:
    """Undo `leaves`."""
    return move(flat, {})


def upgrade_encoder(entry: dict[str, Any]) -> dict[str, Any]:
    """Rename the fields of an encoder's config, and values that have new names."""
    return {**entry, "config": upgrade_encoder_config(entry["kind"], entry["config"])}


def upgrade_encoder_config(kind: str, config: dict[str, Any]) -> dict[str, Any]:
    """Rename the fields of the config of one kind of encoder, and values with new names."""
    values = NAMES["encoder_values"]
    changed = {
        field: values.get(f"{kind}.{field} = {value}", value) if isinstance(value, str) else value
        for field, value in config.items()
    }
    return move(changed, NAMES["encoder"].get(kind, {}))


def upgrade_meta(meta: dict[str, Any]) -> dict[str, Any]:
    """Rename what a file says about itself."""
    new = dict(meta)
    for key in ("encoder", "eyes"):
        if isinstance(new.get(key), dict):
            new[key] = upgrade_encoder(new[key])
    if "experiment" in new:
        new["experiment"] = upgrade_experiment(new["experiment"])
        new["experiment"]["name"] = new_preset(new["experiment"]["name"])[0]
        methods = {"fine-tuning": "td3 fine-tuning"} | {
            name.removeprefix("training.lane = "): method
            for name, method in NAMES["experiment_values"].items()
        }
        new["history"] = [
            {
                **stage,
                "lane": methods.get(stage["lane"], stage["lane"]),
                "preset": new_preset(stage["preset"])[0],
            }
            for stage in new.get("history", [])
        ]
    if "pretraining" in new:
        plan = dict(new["pretraining"])
        plan["model"] = upgrade_encoder_config(plan["kind"], plan["model"])
        new["pretraining"] = move(plan, NAMES["pretraining"])
        new["score"] = {metric(name): value for name, value in new.get("score", {}).items()}
    return move_top(new, NAMES["meta"])


def metric(name: str) -> str:
    """Rename a metric of a pretraining, with or without the prefix of validations."""
    head, key = ("val_", name[4:]) if name.startswith("val_") else ("", name)
    return head + NAMES["metrics"].get(key, key)


def move_top(tree: Any, renames: dict[str, str]) -> Any:
    """Rename keys of the first level, and of the entries of lists there."""
    done: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, list):
            value = [
                {renames.get(f"{key}.{k}", k).split(".")[-1]: v for k, v in entry.items()}
                if isinstance(entry, dict) and "lane" in entry
                else entry
                for entry in value
            ]
        done[renames.get(key, key)] = value
    return done


def upgrade_tensor(name: str) -> str:
    """Rename a tensor."""
    part = "encoder_tensors" if name.startswith("encoder.") else "agent_tensors"
    for pattern, new in NAMES[part].items():
        name = re.sub(pattern, new, name)
    return name


def upgrade(path: Path, out: Path) -> Path:
    """Rewrite one file into the folder `out`."""
    with safe_open(path, framework="pt") as opened:
        header = opened.metadata() or {}
        tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
    if header.get("format") != OLD:
        raise SystemExit(f"{path} is of format {header.get('format')!r}, not {OLD!r}.")
    meta = upgrade_meta(json.loads(header["meta"]))
    out.mkdir(parents=True, exist_ok=True)
    renamed = {upgrade_tensor(name): tensor for name, tensor in tensors.items()}
    target = out / f"{NAMES['zoo'].get(path.stem, path.stem)}{path.suffix}"
    if "experiment" not in meta:
        meta["encoder"]["hash"] = hash_of(renamed)
    else:
        if "encoder" in meta:
            renamed = separate_encoder(renamed, meta, target)
        renamed = separate_critics(renamed, meta, target)
    write(target, renamed, meta)
    return target


def separate_encoder(
    tensors: dict[str, Tensor], meta: dict[str, Any], target: Path
) -> dict[str, Tensor]:
    """Replace a pixel agent's copy of its encoder by a reference.

    An encoder that is not in the zoo goes into a file beside the agent.
    """
    encoder = {name: x for name, x in tensors.items() if name.startswith("encoder.")}
    description, digest = meta["encoder"], hash_of(encoder)
    if digest not in known_encoders():
        beside = target.with_stem(f"{target.stem}-encoder")
        write(beside, encoder, {"encoder": description, "history": []})
    meta["encoder"] = {
        "name": known_encoders().get(digest, meta["experiment"]["encoder"]),
        "hash": digest,
        "kind": description["kind"],
        "image_size": description["config"]["image_size"],
    }
    if digest in known_encoders():
        meta["experiment"]["encoder"] = known_encoders()[digest]
    return {name: x for name, x in tensors.items() if name not in encoder}


def separate_critics(
    tensors: dict[str, Tensor], meta: dict[str, Any], target: Path
) -> dict[str, Tensor]:
    """Put critics and target networks into a second file."""
    heads = ("critics.", "target_", "critic_normalizer.", "reference_actor.")
    critics = {name: x for name, x in tensors.items() if name.startswith(heads)}
    if critics:
        write(target.with_stem(f"{target.stem}-critics"), critics, meta)
    return {name: x for name, x in tensors.items() if name not in critics}


def hash_of(tensors: dict[str, Tensor]) -> str:
    """Hash of an encoder's weights, as `jostle.encoders.saving.encoder_hash` computes it."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(name.removeprefix("encoder.").encode())
        digest.update(tensors[name].contiguous().numpy().tobytes())
    return digest.hexdigest()[:16]


@cache
def known_encoders() -> dict[str, str]:
    """Hashes of the encoders of the zoo, and their names."""
    known = {}
    for path in sorted((ROOT / "src/jostle/zoo/weights").glob("*.safetensors")):
        with safe_open(path, framework="pt") as opened:
            names = [name for name in opened.keys() if name.startswith("encoder.")]  # noqa: SIM118
            agent = any(name.startswith("actor.") for name in opened.keys())  # noqa: SIM118
            if names and not agent:
                tensors = {name: opened.get_tensor(name) for name in names}
                known[hash_of({upgrade_tensor(name): x for name, x in tensors.items()})] = path.stem
    return known


def write(target: Path, renamed: dict[str, Tensor], meta: dict[str, Any]) -> None:
    """Write a file at once or not at all."""
    part = target.with_name(f".{target.name}.part")
    save_file(renamed, part, {"format": NEW, "meta": json.dumps(meta, sort_keys=True)})
    part.replace(target)


def upgrade_siblings(path: Path, target: Path) -> None:
    """Rewrite or copy the model card, plot and score file beside a file, if there are any."""
    if path.with_suffix(".md").is_file():
        card = upgrade_card(path.with_suffix(".md").read_text(), NAMES)
        target.with_suffix(".md").write_text(card)
    if path.with_suffix(".png").is_file() and path.with_suffix(".png") != target.with_suffix(
        ".png"
    ):
        shutil.copyfile(path.with_suffix(".png"), target.with_suffix(".png"))
    if path.with_suffix(".json").is_file():
        scores = upgrade_scores(path.with_suffix(".json"), {path.stem: digest(target)}, NAMES)
        target.with_suffix(".json").write_text(scores)


def main() -> None:
    """Rewrite the files named on the command line, or write the tables of names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="files of the old format")
    parser.add_argument("--out", type=Path, help="folder for the new files")
    parser.add_argument(
        "--scores", nargs="*", type=Path, default=[], help="score files to update in place"
    )
    parser.add_argument("--docs", type=Path, help="write the tables of old and new names here")
    config = parser.parse_args()
    if config.docs is not None:
        config.docs.write_text(tables(NAMES))
        return
    if not config.files or config.out is None:
        parser.error("Name files of the old format, and a folder with --out.")
    digests = {}
    for path in config.files:
        target = upgrade(path, config.out)
        upgrade_siblings(path, target)
        digests |= dict.fromkeys((path.stem, target.stem, digest(path)), digest(target))
        print(target)
    for path in config.scores:
        path.write_text(upgrade_scores(path, digests, NAMES))
        print(path)


if __name__ == "__main__":
    main()

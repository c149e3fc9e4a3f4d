"""Removal of a model from the user's zoo."""

from pathlib import Path

from jostle.core.catalog import suggest
from jostle.core.checksums import forget_checksum
from jostle.core.errors import BadValueError, UnknownNameError, require
from jostle.runs.run_dir import critics_file, encoder_file
from jostle.zoo.folders import is_package_zoo, user_zoo
from jostle.zoo.registry import ModelEntry, agents, read_meta, registry, resolve_name


def removable_files(name: str, zoo: Path | None = None) -> list[Path]:
    """Files of a model that may be removed, in the user's zoo by default.

    Raises:
        UnknownNameError: There is no such model.
        BadValueError: The model comes with the package, or an agent needs this encoder.
    """
    zoo = zoo or user_zoo()
    models = registry(zoo)
    if is_package_zoo(zoo) or (name not in models and resolve_name(name) in registry()):
        raise BadValueError(f"'{name}' comes with the package and is not removed.")
    if name not in models:
        known = f"{zoo} has no models." if not models else suggest(name, list(models))
        raise UnknownNameError(f"Your zoo has no '{name}'. {known}")
    users = _agents_that_need(models[name], zoo)
    require(
        not users,
        f"The encoder '{name}' is needed by {', '.join(users)}: remove these first.",
    )
    weights = models[name].weights
    files = [weights, critics_file(weights), encoder_file(weights)]
    files += [weights.with_suffix(suffix) for suffix in (".md", ".png", ".json")]
    return [file for file in files if file.is_file()]


def remove_files(files: list[Path]) -> None:
    """Remove the files of a model; its weights go first."""
    for file in files:
        file.unlink()
        forget_checksum(file)


def _agents_that_need(entry: ModelEntry, zoo: Path) -> list[str]:
    """Names of the agents that have no copy of an encoder of their own."""
    digest = read_meta(entry.weights).get("encoder", {}).get("hash")
    if entry.encoder is None or digest is None:
        return []
    return [
        name
        for name, agent in agents(zoo).items()
        if read_meta(agent.weights).get("encoder", {}).get("hash") == digest
        and not encoder_file(agent.weights).is_file()
    ]

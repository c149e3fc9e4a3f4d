"""Small files, written at once or not at all."""

import json
from pathlib import Path
from typing import Any


def write_json(path: Path, content: Any) -> None:
    """Write JSON at once or not at all."""
    write_text(path, json.dumps(content, indent=2, sort_keys=True) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write text at once or not at all."""
    part = path.with_name(f".{path.name}.part")
    part.write_text(text)
    part.replace(path)

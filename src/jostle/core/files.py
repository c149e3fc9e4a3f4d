"""Small files, written at once or not at all."""

import json
from pathlib import Path
from typing import Any


def write_json(path: Path, content: Any) -> None:
    """Write JSON at once or not at all."""
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_text(json.dumps(content, indent=2, sort_keys=True) + "\n")
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise

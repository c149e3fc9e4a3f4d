"""A notebook as a page of the site: its text, its code and the outputs that it was saved with."""

import base64
import json
from pathlib import Path
from typing import Any

_IMAGES = {"image/png": "png", "image/gif": "gif"}
"""Outputs that become files beside the page."""


def write_notebook_page(notebook: Path, folder: Path) -> None:
    """Write NAME.md and the images of its outputs into a folder two levels below docs."""
    folder.mkdir(parents=True, exist_ok=True)
    name = notebook.stem
    blocks: list[str] = []
    for number, cell in enumerate(json.loads(notebook.read_text())["cells"]):
        text = _text(cell["source"])
        if cell["cell_type"] == "markdown":
            blocks.append(_from_tutorials(text))
            continue
        blocks.append(f"```python\n{text}\n```")
        for index, output in enumerate(cell["outputs"]):
            blocks.append(_output(output, folder / f"{name}-{number}-{index}"))
    source = f"{{download}}`{notebook.name} <../../tutorials/{notebook.name}>`"
    blocks.insert(1, f"This page is a notebook that tests run from top to bottom: {source}.")
    page, content = folder / f"{name}.md", "\n\n".join(blocks) + "\n"
    if not page.exists() or page.read_text() != content:
        page.write_text(content)


def _output(output: dict[str, Any], path: Path) -> str:
    """One output as Markdown; images are written to `path` with a suffix."""
    data = output.get("data", {})
    for kind, suffix in _IMAGES.items():
        if kind in data:
            file = path.with_suffix(f".{suffix}")
            file.write_bytes(base64.b64decode(_text(data[kind])))
            return f"![Output of the cell above]({file.name})"
    shown = _text(output.get("text", data.get("text/plain", "")))
    return f"```text\n{shown.rstrip()}\n```"


def _text(lines: str | list[str]) -> str:
    return lines if isinstance(lines, str) else "".join(lines)


def _from_tutorials(text: str) -> str:
    """Links relative to docs/tutorials as links relative to docs/reference/generated."""
    return text.replace("](../", "](../../").replace("](train-", "](../../tutorials/train-")

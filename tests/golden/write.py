"""Write the golden files anew, and say what changed: python tests/golden/write.py."""

import json
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from golden_cases import everything  # noqa: E402

if __name__ == "__main__":
    path = HERE / "golden.json"
    old = json.loads(path.read_text()) if path.is_file() else {}
    with tempfile.TemporaryDirectory() as folder:
        new = everything(Path(folder), {part: list(entries) for part, entries in old.items()})
    for part, entries in new.items():
        for name, value in entries.items():
            if old.get(part, {}).get(name) != value:
                print(f"{part}: {name} differs")
    path.write_text(json.dumps(new, indent=1) + "\n")

"""Write golden values anew, and say what changed: python tests/golden/write.py [NAME ...].

Without names, all of them; with names, those entries only, and the others stay as they are.
"""

import json
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from golden_cases import RUNS, everything  # noqa: E402

if __name__ == "__main__":
    path, chosen = HERE / "golden.json", sys.argv[1:]
    old = json.loads(path.read_text()) if path.is_file() else {}
    names = {part: list(entries) for part, entries in old.items()} | {"train": list(RUNS)}
    if chosen:
        names = {part: [name for name in names[part] if name in chosen] for part in names}
    with tempfile.TemporaryDirectory() as folder:
        new = everything(Path(folder), names)
    for part, entries in new.items():
        for name, value in entries.items():
            if old.get(part, {}).get(name) != value:
                print(f"{part}: {name} differs")
    if chosen:
        new = {part: old[part] | new[part] for part in old}
    path.write_text(json.dumps(new, indent=1) + "\n")

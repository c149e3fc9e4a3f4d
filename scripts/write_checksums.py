"""Write the checksums of all weights in a folder: python scripts/write_checksums.py FOLDER.

`jostle zoo add` does this for the files that it writes; this is for files that were put there by
hand.
"""

import sys
from pathlib import Path

from jostle.core.checksums import LIST, file_checksum
from jostle.core.files import write_json


def main(folder: Path) -> None:
    """Write the list anew."""
    files = sorted(folder.glob("*.safetensors"))
    write_json(folder / LIST, {file.name: file_checksum(file) for file in files})
    print(f"{len(files)} checksums in {folder / LIST}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

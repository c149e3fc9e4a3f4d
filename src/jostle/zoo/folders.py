"""Where models are: with the package, which is never written to, and in the user's own zoo."""

import os
import sys
from pathlib import Path

WEIGHTS_DIR = Path(__file__).parent / "weights"
"""The zoo that comes with the package."""


def user_zoo() -> Path:
    """Folder of the user's own models: JOSTLE_ZOO, or jostle/zoo in the platform's data folder."""
    chosen = os.environ.get("JOSTLE_ZOO")
    return Path(chosen).expanduser() if chosen else _data_folder() / "jostle" / "zoo"


def is_package_zoo(folder: Path) -> bool:
    """Whether a folder is the zoo that comes with the package."""
    return folder.resolve() == WEIGHTS_DIR.resolve()


def _data_folder() -> Path:
    """Where applications keep the data of a user on this platform."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    if sys.platform == "win32":
        chosen = os.environ.get("LOCALAPPDATA")
        return Path(chosen) if chosen else Path.home() / "AppData" / "Local"
    chosen = os.environ.get("XDG_DATA_HOME", "")
    # The specification of XDG says to ignore relative paths
    return Path(chosen) if Path(chosen).is_absolute() else Path.home() / ".local" / "share"

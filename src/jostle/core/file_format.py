"""The version of files of weights and of runs."""

FORMAT = "jostle-2"
"""What this version writes and reads."""
OLD_FORMAT = "jostle-1"
"""What the version before wrote."""
UPGRADE = "python scripts/upgrade_format.py FILE --out FOLDER"
"""The command that rewrites files of the old format."""

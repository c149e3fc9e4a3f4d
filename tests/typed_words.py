"""The command line as a user types it, in this process."""

import sys

import pytest

from jostle.cli import main


def typed(monkeypatch, capsys, *words):
    """Exit code and output of `jostle` with these words."""
    monkeypatch.setattr(sys, "argv", ["jostle", *words])
    with pytest.raises(SystemExit) as ended:
        main.main()
    return ended.value.code, capsys.readouterr()

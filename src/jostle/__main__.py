"""`python -m jostle` is `jostle`."""

from jostle.cli.main import main

main()

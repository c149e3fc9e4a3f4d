"""The `jostle` command."""

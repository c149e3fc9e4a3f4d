"""Decide and learn."""

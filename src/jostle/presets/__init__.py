"""Experiments with good defaults, from a task and a few choices."""

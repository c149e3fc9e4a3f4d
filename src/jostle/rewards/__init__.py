"""Rewards as functions of what was achieved and what is desired; hindsight asks for them again."""

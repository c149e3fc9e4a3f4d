"""Agents and recordings in the formats of other projects."""

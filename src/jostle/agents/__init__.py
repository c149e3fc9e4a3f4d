"""Agents: TD3 and its exploration."""

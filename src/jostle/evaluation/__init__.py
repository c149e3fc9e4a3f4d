"""Examining agents."""

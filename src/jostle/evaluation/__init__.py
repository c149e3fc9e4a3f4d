"""Evaluation of agents on fixed episodes."""

"""Scripted experts: baselines, teachers, and proof that the tasks can be solved."""

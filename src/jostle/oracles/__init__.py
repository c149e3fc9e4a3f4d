"""Scripted experts: baselines, teachers, proof that the tasks are solvable."""

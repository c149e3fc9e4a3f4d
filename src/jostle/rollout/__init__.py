"""Policies in environments: observers, collecting, rollouts, frames."""

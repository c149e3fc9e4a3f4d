"""Replay: a buffer of episodes, hindsight, and batches."""

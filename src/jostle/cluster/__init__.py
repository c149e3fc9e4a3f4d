"""Processes and machines: a session with Ray, and executors of job lists."""

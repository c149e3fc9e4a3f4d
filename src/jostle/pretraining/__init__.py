"""Training of encoders on frames from disk, without a simulator."""

"""One machinery for runs of agents and encoders: loop, evaluation, checkpoints, resuming, locks."""

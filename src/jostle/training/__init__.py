"""Training of agents: collect, store, update, evaluate."""

"""The public Python interface: load, evaluate and train agents, register parts of your own."""

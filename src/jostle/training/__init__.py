"""Collect, store, update, examine; saved so that it can go on."""

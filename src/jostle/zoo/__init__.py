"""Trained weights with cards."""

"""Trained weights with model cards: registry, loading, promotion, training queue."""

"""The Gymnasium face."""

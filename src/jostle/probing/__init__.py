"""Evaluation of encoders on frames with ground truth."""

"""Rendering: scenes to images and segmentation labels."""

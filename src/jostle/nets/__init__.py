"""Tensors to tensors: attention, the Entity Interaction Transformer, and its rivals."""

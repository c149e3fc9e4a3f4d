"""Networks: the Entity Interaction Transformer, and the baselines SMORL and MLP."""

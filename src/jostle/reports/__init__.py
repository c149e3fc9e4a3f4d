"""Films, pictures, tables."""

"""How well an encoder sees, against what the frames truly show."""

"""Memory: episodes in a ring, and which future moment becomes the goal."""

"""Tasks: start and goal poses, horizons, goal metrics and variations."""

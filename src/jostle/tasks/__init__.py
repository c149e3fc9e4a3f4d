"""What is asked: starts, goals, horizons, scoring, variations."""

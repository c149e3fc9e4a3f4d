"""The vocabulary: errors, catalogs, measures. Imports nothing of ours."""

"""Recorded episodes on disk: shards with hashes, and readers that need only numpy."""

"""Frames on disk: append-only shards, a manifest with hashes, readers that need only numpy."""

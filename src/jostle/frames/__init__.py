"""Frames on disk: append-only shards, a manifest with hashes, and readers that need only numpy."""

"""Errors, catalogs, contracts, entities, files: what all packages share. Imports none of them."""

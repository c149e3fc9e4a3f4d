"""One integer to many independent, named streams of randomness."""

import hashlib

import numpy as np


class SeedTree:
    """Streams by name: adding one never disturbs the others."""

    def __init__(self, seed: int) -> None:
        """Derive all streams from one integer."""
        self.seed = seed

    def integer(self, name: str) -> int:
        """A seed below 2**31 for the stream called `name`."""
        digest = hashlib.sha256(f"{self.seed}/{name}".encode()).digest()
        return int.from_bytes(digest[:4], "little") >> 1

    def rng(self, name: str) -> np.random.Generator:
        """A numpy generator for the stream called `name`."""
        return np.random.default_rng([self.seed, self.integer(name)])

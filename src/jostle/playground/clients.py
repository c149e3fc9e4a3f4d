"""Browsers that are connected: one steers, the others watch; floods are limited."""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Any

MAX_CLIENTS = 32
"""Browsers at once."""
_RATE, _BURST = 60.0, 120.0
"""Messages per second and at once that a browser may send."""
MAX_DROPPED = 2000
"""Messages beyond the limit after which a browser is disconnected."""
_MAX_EVENTS = 64


class RateLimit:
    """A token bucket: so many messages per second, and some more at once."""

    def __init__(
        self,
        rate: float = _RATE,
        burst: float = _BURST,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start with a full bucket."""
        self._rate, self._burst, self._clock = rate, burst, clock
        self._tokens, self._last = burst, clock()
        self.dropped = 0
        """Messages that were refused."""

    def allows(self) -> bool:
        """Count one message; returns whether it is within the limit."""
        now = self._clock()
        self._tokens = min(self._burst, self._tokens + (now - self._last) * self._rate)
        self._last = now
        if self._tokens < 1:
            self.dropped += 1
            return False
        self._tokens -= 1
        return True


class Outbox:
    """What a browser still has to get. A slow one gets only the newest of each kind."""

    def __init__(self) -> None:
        """Start empty."""
        self._events: deque[str | bytes] = deque(maxlen=_MAX_EVENTS)
        self._latest: dict[str, str | bytes] = {}
        self._filled = asyncio.Event()

    def put(self, key: str, data: str | bytes) -> None:
        """Add data: an event if the key is empty, else the newest of this key."""
        if key:
            self._latest[key] = data
        else:
            self._events.append(data)
        self._filled.set()

    async def take(self) -> list[str | bytes]:
        """Wait for data, and take all of it."""
        await self._filled.wait()
        self._filled.clear()
        taken = [*self._events, *self._latest.values()]
        self._events.clear()
        self._latest.clear()
        return taken


class Client:
    """One browser."""

    def __init__(self) -> None:
        """Start with an empty outbox."""
        self.outbox, self.limit = Outbox(), RateLimit()
        self.warned = 0.0
        """When it was last warned of sending too much."""


class Clients:
    """All browsers, oldest first; used on the thread of the server only."""

    def __init__(self, on_change: Callable[[], Any]) -> None:
        """Call `on_change` when browsers come, go, or take over."""
        self._all: list[Client] = []
        self._on_change = on_change
        self.steering: Client | None = None
        """The browser that steers."""
        self.latest: dict[str, str | bytes] = {}
        """The newest data of each key, for browsers that come later."""

    def __len__(self) -> int:
        """Number of browsers."""
        return len(self._all)

    def __iter__(self) -> Any:
        """Iterate over the browsers."""
        return iter(list(self._all))

    def join(self, client: Client) -> None:
        """Add a browser: it gets the newest of everything, and steers if no other does."""
        self._all.append(client)
        for key, data in self.latest.items():
            client.outbox.put(key, data)
        if self.steering is None:
            self.steering = client
        self._on_change()

    def leave(self, client: Client) -> None:
        """Remove a browser; if it steered, the one that has waited longest does."""
        self._all.remove(client)
        if self.steering is client:
            self.steering = self._all[0] if self._all else None
        self._on_change()

    def take_over(self, client: Client) -> None:
        """Let a browser steer."""
        self.steering = client
        self._on_change()

    def broadcast(self, key: str, data: str | bytes) -> None:
        """Send data to all browsers."""
        if key:
            self.latest[key] = data
        for client in self._all:
            client.outbox.put(key, data)

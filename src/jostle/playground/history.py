"""The last minutes as they were shown: for replays and films."""

from collections import deque
from dataclasses import dataclass

REPLAY_SECONDS = 20.0
"""How much a replay shows."""


@dataclass(frozen=True)
class ShownFrame:
    """One frame of the page."""

    time: float
    """Seconds of play, without pauses."""
    state: str
    """The state message, as JSON: a fraction of the memory of Python's numbers."""
    views: tuple[bytes, ...]
    """The camera views as JPEG."""
    episode: int
    """Number of the episode it belongs to."""

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        return sum(map(len, self.views)) + len(self.state)


class History:
    """Frames of the last minutes, bounded in time and memory."""

    def __init__(self, seconds: float = 120.0, max_bytes: int = 48_000_000) -> None:
        """Keep at most so many seconds and bytes."""
        self._seconds, self._max_bytes = seconds, max_bytes
        self._frames: deque[ShownFrame] = deque()
        self._bytes = 0

    def __len__(self) -> int:
        """Number of frames."""
        return len(self._frames)

    @property
    def size(self) -> int:
        """About how many bytes the frames take."""
        return self._bytes

    @property
    def seconds(self) -> float:
        """Time that the frames cover."""
        return self._frames[-1].time - self._frames[0].time if self._frames else 0.0

    def append(self, frame: ShownFrame) -> None:
        """Add the newest frame, and drop what is too old."""
        self._frames.append(frame)
        self._bytes += frame.size
        while len(self._frames) > 1 and (
            self.seconds > self._seconds or self._bytes > self._max_bytes
        ):
            self._bytes -= self._frames.popleft().size

    def last(self, seconds: float) -> list[ShownFrame]:
        """Frames of the last seconds, oldest first."""
        if not self._frames:
            return []
        start = self._frames[-1].time - seconds
        return [frame for frame in self._frames if frame.time >= start]

    def of_episode(self, number: int) -> list[ShownFrame]:
        """Frames of one episode, oldest first."""
        return [frame for frame in self._frames if frame.episode == number]

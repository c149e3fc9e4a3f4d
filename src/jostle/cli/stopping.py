"""Stopping between two rounds, where everything is consistent."""

import signal
from types import FrameType

from jostle.training.rounds import StopAskedError


class Stopper:
    """Hears Ctrl-C and SIGTERM: the first is a request, the second is obeyed at once."""

    def __init__(self) -> None:
        """Listen from now on, also in a process that was started in the background."""
        self.asked = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._hear)

    def check(self) -> None:
        """Raise if a stop was asked for; to be called between rounds."""
        if self.asked:
            raise StopAskedError

    def _hear(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        print("\nstopping after this round (again: at once, back to the last checkpoint)")

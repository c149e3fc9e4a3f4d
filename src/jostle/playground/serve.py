"""Runs the web server with a session behind it."""

import socket
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import uvicorn

from jostle.core.errors import JostleError
from jostle.playground.messages import parse_message
from jostle.playground.server import LOOPBACK, PAGE, Access, Plays, PlayServer, new_token

_STARTUP_SECONDS = 30.0


class ServerError(JostleError, RuntimeError):
    """The web server did not start."""


class WebServer:
    """A web server for one page, on a socket that is already open."""

    def __init__(
        self,
        host: str,
        out: Path | None,
        pages: Sequence[Path] = (PAGE,),
        parse: Callable[[str | bytes], Any] = parse_message,
    ) -> None:
        """Prepare; saved files in `out`, if given, can be downloaded."""
        self._token = new_token()
        hosts = (*LOOPBACK, host) if host not in ("0.0.0.0", "::") else ()
        self.server = PlayServer(Access(self._token, hosts), out, pages, parse)
        self._uvicorn: uvicorn.Server | None = None

    def address(self, listening: socket.socket) -> str:
        """The address of the page, with its token."""
        host, port = listening.getsockname()[:2]
        shown = {"0.0.0.0": socket.gethostname(), "::": socket.gethostname()}.get(host, host)
        shown = f"[{shown}]" if ":" in shown else shown
        return f"http://{shown}:{port}/{self._token}/"

    def run(self, plays: Plays, listening: socket.socket) -> None:
        """Serve until Ctrl-C, or until `stop`."""
        config = uvicorn.Config(
            self.server.app(plays),
            log_level="error",
            ws_max_size=65536,
            ws_ping_interval=20.0,
            timeout_graceful_shutdown=1,
            access_log=False,
        )
        self._uvicorn = uvicorn.Server(config)
        self._uvicorn.run(sockets=[listening])

    def run_in_background(self, plays: Plays, listening: socket.socket) -> threading.Thread:
        """Serve on a thread; returns when the page can be opened."""
        thread = threading.Thread(target=self.run, args=(plays, listening), daemon=True)
        thread.start()
        end = time.monotonic() + _STARTUP_SECONDS
        while self._uvicorn is None or not self._uvicorn.started:
            if not thread.is_alive() or time.monotonic() > end:
                raise ServerError("The web server did not start.")
            time.sleep(0.01)
        return thread

    def stop(self) -> None:
        """End `run`."""
        if self._uvicorn is not None:
            self._uvicorn.should_exit = True

"""The web server of the page: a token in the address, one websocket per browser."""

import asyncio
import hmac
import json
import secrets
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.requests import HTTPConnection, Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from jostle.core.errors import BadValueError
from jostle.playground.clients import MAX_CLIENTS, MAX_DROPPED, Client, Clients
from jostle.playground.messages import Reply, Steer, error, parse_message

PAGE = Path(__file__).parent / "page"
"""Files of the page."""
LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""Hosts that only this machine reaches."""
_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'",
}
_REFUSED = "This address lacks the right token. Use the address that was printed at the start.\n"
_WARN_SECONDS = 1.0


class Plays(Protocol):
    """What is behind the page: a session, or an environment that is only watched."""

    def start(self) -> None:
        """Start to work."""
        ...

    def stop(self) -> None:
        """Stop."""
        ...

    def watch(self, watched: bool) -> None:
        """Say whether anybody watches."""
        ...

    def submit(self, message: Any, reply: Reply) -> None:
        """Work off a message that was parsed."""
        ...


@dataclass(frozen=True)
class Access:
    """Who may connect."""

    token: str
    """Part of every address."""
    hosts: tuple[str, ...] = LOOPBACK
    """Names by which browsers may call this server; empty for any."""

    def allows(self, connection: HTTPConnection) -> bool:
        """Whether the address has the token and the right host, and no other page is behind it."""
        token = str(connection.path_params.get("token", ""))
        if not hmac.compare_digest(token.encode(), self.token.encode()):
            return False
        host = connection.headers.get("host", "")
        try:
            name = urlsplit(f"//{host}").hostname or ""
            origin = connection.headers.get("origin")
            same = origin is None or urlsplit(origin).netloc == host
        except ValueError:
            return False
        return same and (not self.hosts or name in self.hosts)


def new_token() -> str:
    """A token that cannot be guessed."""
    return secrets.token_urlsafe(18)


class PlayServer:
    """Connects browsers with what is behind the page."""

    def __init__(
        self,
        access: Access,
        out: Path | None,
        pages: Sequence[Path] = (PAGE,),
        parse: Callable[[str | bytes], Any] = parse_message,
    ) -> None:
        """Serve the files of a page, and those that were saved in `out`, if there is such.

        Of two page files with one name, that of the first folder is served. `parse` checks the
        messages of browsers.
        """
        self._access, self._out, self._parse = access, out, parse
        self._pages = {path.name: path for page in reversed(pages) for path in page.iterdir()}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._plays: Plays | None = None
        self.clients = Clients(self._on_clients)

    def app(self, plays: Plays) -> Starlette:
        """The application; `plays` starts and stops with it."""
        self._plays = plays

        @asynccontextmanager
        async def lifespan(app: Starlette) -> AsyncIterator[None]:
            self._loop = asyncio.get_running_loop()
            plays.start()
            try:
                yield
            finally:
                await asyncio.to_thread(plays.stop)

        return Starlette(
            lifespan=lifespan,
            routes=[
                Route("/{token}/", self._page),
                Route("/{token}/files/{name}", self._file),
                Route("/{token}/{name}", self._page),
                WebSocketRoute("/{token}/socket", self._socket),
                Route("/{rest:path}", self._refuse),
            ],
        )

    def publish(self, key: str, data: str | bytes) -> None:
        """Send data to all browsers, from any thread."""
        loop = self._loop
        if loop is None:
            self.clients.broadcast(key, data)  # no browser is connected yet
        elif not loop.is_closed():
            loop.call_soon_threadsafe(self.clients.broadcast, key, data)

    # Pages and files

    async def _page(self, request: Request) -> Response:
        if not self._access.allows(request):
            return await self._refuse(request)
        name = request.path_params.get("name", "index.html")
        if name not in self._pages:
            return PlainTextResponse("There is no such file.\n", 404, _HEADERS)
        return FileResponse(self._pages[name], headers=_HEADERS)

    async def _file(self, request: Request) -> Response:
        if not self._access.allows(request):
            return await self._refuse(request)
        name, out = request.path_params["name"], self._out
        saved = {path.name: path for path in out.iterdir()} if out and out.is_dir() else {}
        if name not in saved or name.startswith(".") or not saved[name].is_file():
            return PlainTextResponse("There is no such file.\n", 404, _HEADERS)
        return FileResponse(saved[name], filename=name, headers=_HEADERS)

    async def _refuse(self, request: Request) -> Response:
        return PlainTextResponse(_REFUSED, 403, _HEADERS)

    # Websockets

    async def _socket(self, socket: WebSocket) -> None:
        foreign = socket.headers.get("origin") is None  # browsers always send it
        if foreign or not self._access.allows(socket) or len(self.clients) >= MAX_CLIENTS:
            await socket.close(1008)
            return
        await socket.accept()
        client = Client()
        self.clients.join(client)
        sending = asyncio.create_task(self._send(socket, client))
        try:
            while client.limit.dropped <= MAX_DROPPED:
                self._receive(client, await socket.receive())
            await socket.close(1008)
        except (WebSocketDisconnect, RuntimeError):  # it has gone
            pass
        finally:
            sending.cancel()
            self.clients.leave(client)

    async def _send(self, socket: WebSocket, client: Client) -> None:
        """Send what is in the outbox, as fast as the browser takes it."""
        try:
            while True:
                for data in await client.outbox.take():
                    if isinstance(data, bytes):
                        await socket.send_bytes(data)
                    else:
                        await socket.send_text(data)
        except (WebSocketDisconnect, RuntimeError, OSError):
            return  # the browser has gone: receiving ends, too

    def _receive(self, client: Client, received: Any) -> None:
        """Check one message, and pass it on if its sender steers."""
        if received["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(received.get("code", 1000))
        if not client.limit.allows():
            if time.monotonic() - client.warned > _WARN_SECONDS:
                client.warned = time.monotonic()
                self._reply(client, error("Too many messages at once: some were left out."))
            return
        try:
            message = self._parse(received.get("text") or received.get("bytes") or "")
        except BadValueError as problem:
            self._reply(client, error(str(problem)))
            return
        if isinstance(message, Steer):
            self.clients.take_over(client)
        elif client is not self.clients.steering:
            self._reply(client, error("Another browser steers. Press 'Take over' to steer here."))
        elif self._plays is not None:
            self._plays.submit(message, lambda content: self._reply_soon(client, content))

    def _reply(self, client: Client, content: dict[str, Any]) -> None:
        client.outbox.put("", json.dumps(content))

    def _reply_soon(self, client: Client, content: dict[str, Any]) -> None:
        """Answer from another thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._reply, client, content)

    def _on_clients(self) -> None:
        """Tell all browsers who steers, and whether anybody watches."""
        for client in self.clients:
            role = {
                "type": "role",
                "steering": client is self.clients.steering,
                "clients": len(self.clients),
            }
            client.outbox.put("role", json.dumps(role))
        if self._plays is not None:
            self._plays.watch(len(self.clients) > 0)

"""What commands that serve a page share: the port, the address, and who can reach it."""

import os
import socket
import sys

from jostle.core.errors import BadValueError

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def listen(host: str, port: int) -> socket.socket:
    """Open the port before anything slow is done."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise BadValueError(
            f"Port {port} of {host} cannot be used: {error.strerror or error}. Choose another "
            "--port, or leave it out for a free one."
        ) from error


def print_address(title: str, may: str, host: str, address: str, port: int) -> None:
    """Say where the page `title` is, and how to reach it; whoever has the address `may` act."""
    print(f"{title} is at\n\n    {address}\n")
    if host not in _LOOPBACK:
        print(
            f"Warning: --host {host} lets other machines connect. Whoever has the address with "
            f"its token can {may}; it is not encrypted.",
            file=sys.stderr,
        )
    elif not has_display():
        print(
            "This machine has no display. On the machine with the browser, run\n\n"
            f"    ssh -N -L {port}:127.0.0.1:{port} {_user()}@{socket.gethostname()}\n\n"
            "and open the address above there."
        )
    print("Ctrl-C ends it.", flush=True)


def has_display() -> bool:
    """Whether a browser can open a window here."""
    if sys.platform in ("darwin", "win32"):
        return "SSH_CONNECTION" not in os.environ
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _user() -> str:
    return os.environ.get("USER") or "USER"

"""The server at work: a socket that is ours before anything is loaded, and uvicorn on it."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path
from typing import Final

import uvicorn

from semsearch.errors import UsageError
from semsearch.provider import EncoderProvider
from semsearch.server.api import ServerOptions, create_app

_LOOPBACK_NAMES: Final = ("localhost", "127.0.0.1", "::1")


def serve(home: Path, provider: EncoderProvider, options: ServerOptions, note: Callable[[str], None], *, host: str,
          port: int) -> None:
    """Answer over HTTP until the process is told to end. `port` 0 takes a free one; `note` hears where to look.

    Raises:
        UsageError: the address or the port cannot be had.
    """
    listening = _listen(host, port)
    bound, port = listening.getsockname()[:2]
    note(f"Answering at http://{f'[{host}]' if ':' in host else host}:{port}/   Ctrl-C ends it.")
    if ip_address(bound).is_loopback:
        options = replace(options, hosts=(*_LOOPBACK_NAMES, host.lower()))
    else:
        note("Anyone who can reach this machine can ask its indexes; nobody is asked for a password.")
    app = create_app(home, provider, options, note=note)
    config = uvicorn.Config(app, log_level="warning", access_log=False, lifespan="on", timeout_graceful_shutdown=5)
    uvicorn.Server(config).run(sockets=[listening])


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM,
                                                                flags=socket.AI_PASSIVE)[0]
        listening = socket.socket(family, kind, protocol)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen(128)
        except OSError:
            listening.close()
            raise
        return listening
    except (OSError, UnicodeError) as error:
        raise UsageError(f"{host}, port {port}, cannot be listened to: {getattr(error, 'strerror', None) or error}.",
                         "Another server may be there. Give another with --port, or 0 for any that is free.") from error

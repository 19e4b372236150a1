"""The server at work: a socket that is ours before anything is loaded, and uvicorn on it."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from dataclasses import replace
from errno import EADDRINUSE
from ipaddress import ip_address
from pathlib import Path
from types import FrameType
from typing import Final

import uvicorn

from semsearch.errors import UsageError
from semsearch.provider import EncoderProvider
from semsearch.server.api import create_app
from semsearch.server.service import ServerOptions

_LOOPBACK_NAMES: Final = ("localhost", "127.0.0.1", "::1")


def serve(home: Path, provider: EncoderProvider, options: ServerOptions, note: Callable[[str], None], *, host: str,
          port: int) -> None:
    """Answer over HTTP until the process is told to end. `port` 0 takes a free one; `note` hears where to look.

    Raises:
        UsageError: the address or the port cannot be had.
    """
    host = host.removeprefix("[").removesuffix("]")
    listening = _listen(host, port)
    bound, port = listening.getsockname()[:2]
    note(f"Answering at http://{f'[{host}]' if ':' in host else host}:{port}/   Ctrl-C ends it.")
    if ip_address(bound).is_loopback:
        options = replace(options, hosts=(*_LOOPBACK_NAMES, host.lower()))
    else:
        note("Anyone who can reach this machine can ask its indexes; nobody is asked for a password.")
    app = create_app(home, provider, options, note=note)
    logging.getLogger("uvicorn.error").addFilter(_is_no_cut)
    config = uvicorn.Config(app, log_level="warning", access_log=False, lifespan="on", timeout_graceful_shutdown=5)
    _Server(config, lambda: app.state.service.turn_away()).run(sockets=[listening])


def _is_no_cut(record: logging.LogRecord) -> bool:
    """Return whether a message of uvicorn is of something else than a request that was cut off at the end."""
    is_cut = record.exc_info is not None and isinstance(record.exc_info[1], asyncio.CancelledError)
    return not is_cut and not record.getMessage().startswith("Cancel ")


class _Server(uvicorn.Server):
    """Turns away those who wait when it is told to end: uvicorn lets them wait and then cuts them off."""

    def __init__(self, config: uvicorn.Config, turn_away: Callable[[], None]) -> None:
        super().__init__(config)
        self._turn_away = turn_away

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Take the signal, as uvicorn does."""
        if self.started:
            self._turn_away()
        super().handle_exit(sig, frame)


def _listen(host: str, port: int) -> socket.socket:
    if not host:
        raise UsageError("The address to listen at is empty.", "Give one with --host, such as 127.0.0.1.")
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
        way_out = "Give an address of this machine with --host, such as 127.0.0.1."
        if isinstance(error, OSError) and error.errno == EADDRINUSE:
            way_out = "Another server may be there. Give another with --port, or 0 for any that is free."
        raise UsageError(f"{host}, port {port}, cannot be listened to: {getattr(error, 'strerror', None) or error}.",
                         way_out) from error

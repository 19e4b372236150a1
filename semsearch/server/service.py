"""The indexes of a home and the one thread in which they are asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from fastapi import Request

from semsearch.errors import SemsearchError
from semsearch.provider import EncoderProvider
from semsearch.server.desk import Desk, Overloaded, ShuttingDown
from semsearch.server.idle import IdleEncoding
from semsearch.server.preparation import Preparation
from semsearch.server.shelf import OpenIndex, Shelf

T = TypeVar("T")

_GONE_SECONDS: Final = 0.25
"""How often it is looked whether those who asked are still there."""


class AskerGone(SemsearchError):
    """Whoever asked has closed the connection."""

    def __init__(self) -> None:
        super().__init__("The connection was closed before the answer.", "Ask again.")


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """How a server works: where models run, whether they may bring code, whether it encodes while nobody asks.

    `hosts`: the names by which it may be called, so that a page from elsewhere cannot reach it by a name of its own;
    `*` for any.
    """

    device: str = "auto"
    trust_remote_code: bool = False
    encode_idle: bool = False
    hosts: tuple[str, ...] = ("*",)


class Service:
    """Asks the indexes of a home, in one thread. To be made in the event loop that it serves."""

    def __init__(self, home: Path, provider: EncoderProvider, options: ServerOptions, note: Callable[[str], None]
                 ) -> None:
        """Open the desk, and what is there."""
        self.home = home
        self._loop = asyncio.get_running_loop()
        self.preparation = Preparation(provider, self._renew)
        self.shelf = Shelf(home, provider, options.device, options.trust_remote_code, self.preparation.consider)
        self.idle = IdleEncoding(self.shelf, note) if options.encode_idle else None
        self.desk = Desk(self.idle)
        self.desk.look(self.shelf.warm)

    def described(self, index: OpenIndex) -> dict[str, object]:
        """Return what lists of indexes say of one that is open."""
        return {**index.describe(), "encoded_when_idle": self.encodes_when_idle(index.name)}

    def encodes_when_idle(self, name: str) -> bool:
        """Return whether what an index lacks is encoded while nobody asks."""
        return self.idle is not None and self.desk.has_spare_work and self.idle.is_for(name)

    async def asked(self, request: Request, work: Callable[[], T]) -> T:
        """Return the answer to a question; it is not looked for where whoever asked has gone before its turn came.

        Raises:
            AskerGone: then.
        """
        answer = self.desk.ask(work)
        waiting = asyncio.wrap_future(answer)
        while not (await asyncio.wait({waiting}, timeout=_GONE_SECONDS))[0]:
            if await request.is_disconnected() and answer.cancel():
                raise AskerGone
        return waiting.result()

    async def looked(self, work: Callable[[], T]) -> T:
        """Return the result of a look at the state of things."""
        return await asyncio.wrap_future(self.desk.look(work))

    def turn_away(self) -> None:
        """Tell those who wait, and those who come, that nobody is served any more; a signal handler may call it."""
        self._loop.call_soon_threadsafe(self.desk.turn_away)

    def close(self) -> None:
        """Answer what was asked, and close all that is open."""
        self.preparation.close()
        self.desk.close(self.shelf.close)
        if self.idle is not None:
            self.idle.close()

    def _renew(self, fingerprint: str) -> None:
        with suppress(Overloaded, ShuttingDown):  # then the next server takes it
            self.desk.look(lambda: self.shelf.renew(fingerprint))

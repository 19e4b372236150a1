"""Requests that are turned away before anything is read or asked, and headers that go with every answer."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from semsearch.server.problems import HEADERS, problem

MOST_BODY_BYTES: Final = 4 << 20
"""A hundred long abstracts and a thousand ids are less."""
_API: Final = "/api/"

Refusal = tuple[int, str, str, str]
"""Status, kind, message and way out."""


class Guard:
    """An application before another one, as ASGI has them."""

    def __init__(self, app: ASGIApp, hosts: Collection[str]) -> None:
        """Take the application, and the names by which it may be called as `refusal` does."""
        self._app, self._hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer that it is not heard."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        refused = refusal(Request(scope), self._hosts)
        await (self._app if refused is None else problem(*refused))(scope, receive, send_with_headers)


def refusal(request: Request, hosts: Collection[str]) -> Refusal | None:
    """Return why a request is not heard, None where it is.

    `hosts`: the names by which the server may be called; where one is `*`, anybody may. A page of another site cannot
    see the answers, but its questions would keep the server busy.
    """
    if "*" not in hosts:
        if _name_in(f"//{request.headers.get('host', '')}") not in hosts:
            return (400, "UnknownHost", f"This server is not called {request.headers.get('host', '')!r}.",
                    "Use the address that semsearch serve has told.")
        origin = request.headers.get("origin")
        is_foreign = origin is not None and _name_in(origin) not in hosts
        if request.url.path.startswith(_API) and (
                is_foreign or request.headers.get("sec-fetch-site") in ("cross-site", "same-site")):
            return (403, "CrossSite", "Pages of other sites may not ask this server.",
                    "Ask it from its own page, or from a program.")
    if request.method in ("POST", "PUT", "PATCH"):
        length = request.headers.get("content-length", "")
        if not length.isdecimal():
            return 411, "LengthRequired", "The length of the body is not told.", "Send it with Content-Length."
        if int(length) > MOST_BODY_BYTES:
            return (413, "TooLarge", f"The body has {int(length):,} bytes; {MOST_BODY_BYTES:,} are read.",
                    "Send less text at once.")
    return None


def _name_in(address: str) -> str:
    """Return the name of the host in an address, `""` where there is none."""
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""

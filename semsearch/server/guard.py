"""Requests that are turned away before anything is read or asked."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final
from urllib.parse import urlsplit

from starlette.requests import Request

MOST_BODY_BYTES: Final = 4 << 20
"""A hundred long abstracts and a thousand ids are less."""
_API: Final = "/api/"

Refusal = tuple[int, str, str, str]
"""Status, kind, message and way out."""


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

"""Catches whatever tries to leave this machine during a test."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

LOOPBACK = ("127.0.0.1", "::1", "localhost")


@contextmanager
def network_forbidden(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Refuse connections and look-ups beyond loopback, and fail at the end if there was one, whatever became of it."""
    tried: list[str] = []
    connect, look_up = socket.socket.connect, socket.getaddrinfo

    def guarded_connect(self: socket.socket, address: object) -> None:
        if isinstance(address, tuple) and address[0] not in LOOPBACK:
            tried.append(str(address))
            raise OSError("no network in tests")
        connect(self, address)  # type: ignore[arg-type]

    def guarded_look_up(host: object, *arguments: object, **options: object) -> object:
        if host not in LOOPBACK:
            tried.append(str(host))
            raise OSError("no network in tests")
        return look_up(host, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", guarded_connect)
    monkeypatch.setattr(socket, "getaddrinfo", guarded_look_up)
    yield
    assert tried == []

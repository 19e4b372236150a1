"""Servers over small indexes, asked without a network."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from fakes import FakeProvider
from made_papers import records, run_build, write_jsonl
from starlette.testclient import TestClient

from semsearch.server.api import create_app
from semsearch.server.service import ServerOptions

COUNT = 60
Client = Callable[..., TestClient]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The home of two indexes: `whole` and `bare`, of which nothing is encoded."""
    source = write_jsonl(tmp_path / "papers.jsonl", records(COUNT))
    run_build([source], tmp_path / "home" / "whole")
    run_build([source], tmp_path / "home" / "bare", encode="later")
    return tmp_path / "home"


@pytest.fixture
def client_of(home: Path) -> Iterator[Client]:
    """Makes clients of servers over the home."""
    with ExitStack() as stack:
        def make(provider: FakeProvider | None = None, **options: object) -> TestClient:
            app = create_app(home, provider or FakeProvider(), ServerOptions(**options), note=notes.append)
            client = stack.enter_context(TestClient(app))
            client.notes = notes
            return client

        notes: list[str] = []
        yield make


@pytest.fixture
def client(client_of: Client) -> TestClient:
    """A client of a server that does nothing but answer."""
    return client_of()

"""A command line over a fake encoder, and three papers whose cosines can be counted by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result
from fakes import FakeProvider

from semsearch.cli.app import App, main

BIRDS = {"id": "birds1", "title": "Birds navigate", "abstract": "Birds watch stars.",
         "authors": ["Ada Byron", "Li, Wei"], "year": 2001, "venue": "Journal of Birds", "categories": ["biology"],
         "doi": "10.1000/birds", "url": "https://b.org/1"}
SONGS = {"id": "songs2", "title": "Birds sing", "abstract": "Males sing tunes.", "authors": ["Ada Byron"], "year": 2002}
CELLS = {"id": "cells3", "title": "Cells divide", "abstract": "Cells copy genes.", "year": 2003}

# The fake encoder counts words: "birds" is 2 of (birds 2, navigate, watch, stars), whose length is the root of 7.
COSINE_BIRDS = 2 / 7**0.5
COSINE_SONGS = 1 / 7**0.5


class CommandLine:
    """Runs `semsearch` in a folder of its own, with a fake encoder; errors of ours come through as they are."""

    def __init__(self, folder: Path, provider: FakeProvider) -> None:
        self.folder, self.provider = folder, provider
        self.home = folder / "indexes"

    def __call__(self, *arguments: str, input: str | bytes | None = None) -> Result:
        return CliRunner().invoke(main, list(arguments), input=input, obj=App(self.provider), catch_exceptions=False)

    def ok(self, *arguments: str, input: str | bytes | None = None) -> str:
        """Return what a command writes to standard output; it must end with status 0."""
        result = self(*arguments, input=input)
        assert result.exit_code == 0, result.output
        return result.stdout

    def json(self, *arguments: str, input: str | bytes | None = None) -> list[Any]:
        """Return the objects that a command writes, one a line."""
        return [json.loads(line) for line in self.ok(*arguments, input=input).splitlines()]

    def fails(self, *arguments: str, status: int = 1, input: str | bytes | None = None) -> str:
        """Return what a command writes to standard error; it must end with `status` and write no data."""
        result = self(*arguments, input=input)
        assert (result.exit_code, result.stdout) == (status, ""), result.output
        return result.stderr

"""The command line in a folder of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import BIRDS, CELLS, SONGS, CommandLine
from fakes import FakeProvider


@pytest.fixture
def cli(tmp_path: Path, fake_provider: FakeProvider, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """The command line in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return CommandLine(tmp_path, fake_provider)


@pytest.fixture
def papers_file(tmp_path: Path) -> Path:
    """A JSON Lines file of the three papers."""
    path = tmp_path / "papers.jsonl"
    path.write_text("".join(json.dumps(paper) + "\n" for paper in (BIRDS, SONGS, CELLS)), encoding="utf-8")
    return path


@pytest.fixture
def built(cli: CommandLine, papers_file: Path) -> CommandLine:
    """The command line in a folder with the index `papers` of the three papers."""
    cli.ok("build", "papers.jsonl")
    return cli

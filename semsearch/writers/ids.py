"""Ids, one a line, for other programs to go on with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from semsearch.paper import Paper, collapse_white_space


def write_papers(papers: Iterable[Paper], stream: TextIO) -> None:
    """Write the id of each paper on a line."""
    for paper in papers:
        stream.write(collapse_white_space(paper.id) + "\n")

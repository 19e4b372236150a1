"""RIS, which reference managers read; the tags are those of the specification of 2012."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from typing import TextIO

from semsearch.paper import Paper
from semsearch.writers.citation import is_meeting, split_name


def write_papers(papers: Iterable[Paper], stream: TextIO) -> None:
    """Write one record for each paper, one tag a line, `ER` at the end of each."""
    for position, paper in enumerate(papers):
        if position:
            stream.write("\n")
        for tag, value in _lines(paper):
            stream.write(f"{tag}  - {_one_line(value)}\n")
        stream.write("ER  - \n")


def _lines(paper: Paper) -> Iterator[tuple[str, str]]:
    meeting = is_meeting(paper.venue)
    named = dict(paper.identifiers)
    arxiv = named.get("arxiv", "")
    yield "TY", "CONF" if meeting else "JOUR" if paper.venue else "UNPB" if arxiv else "GEN"
    yield "ID", paper.id
    if paper.title:
        yield "TI", paper.title
    for author in paper.authors:
        yield "AU", split_name(author).inverted
    if paper.year:
        yield "PY", str(paper.year)
    if len(paper.date) > len("2017"):
        yield "DA", "/".join([*paper.date.split("-"), "", ""][:3]) + "/"
    if paper.venue:
        yield "T2", paper.venue
    if paper.abstract:
        yield "AB", paper.abstract
    for category in paper.categories:
        yield "KW", category
    if paper.doi:
        yield "DO", paper.doi
    if paper.url:
        yield "UR", paper.url
    if arxiv:
        yield "AN", f"arXiv:{arxiv}"
    if "pmid" in named:
        yield "AN", f"PMID: {named['pmid']}"
    if paper.language:
        yield "LA", paper.language


def _one_line(text: str) -> str:
    return "".join(c for c in " ".join(text.split()) if unicodedata.category(c) not in ("Cc", "Cs"))

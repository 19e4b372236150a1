"""CSL JSON, one array, which citation processors such as pandoc read (CSL 1.0.2, appendix on CSL-JSON)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from semsearch.paper import Paper
from semsearch.writers.citation import is_meeting, joined_keywords, split_name
from semsearch.writers.jsonl import json_line


def write_papers(papers: Iterable[Paper], stream: TextIO) -> None:
    """Write an array with one item for each paper, an item a line."""
    stream.write("[")
    for position, paper in enumerate(papers):
        stream.write((",\n" if position else "\n") + json_line(item(paper)))
    stream.write("\n]\n")


def item(paper: Paper) -> dict[str, object]:
    """Return a paper as an item; fields that are empty are left out, but for the title.

    By `citation-key` and `title` the file is told from other lists of objects.
    """
    meeting = is_meeting(paper.venue)
    named = dict(paper.identifiers)
    arxiv = named.get("arxiv")
    date = [int(part) for part in paper.date.split("-")] if paper.date else [paper.year] if paper.year else []
    document: dict[str, object] = {
        "id": paper.id, "citation-key": paper.id,
        "type": "paper-conference" if meeting else "article-journal" if paper.venue else "article",
        "title": paper.title, "author": [_author(name) for name in paper.authors],
        "issued": {"date-parts": [date]} if date else None, "container-title": paper.venue, "DOI": paper.doi,
        "URL": paper.url, "PMID": named.get("pmid"), "number": f"arXiv:{arxiv}" if arxiv else "",
        "keyword": joined_keywords(paper.categories), "language": paper.language, "abstract": paper.abstract,
    }
    return {name: value for name, value in document.items() if value or name == "title"}


def _author(name: str) -> dict[str, str]:
    family, given, suffix = split_name(name)
    if not given:
        return {"literal": family}
    parts = {"family": family, "given": given, "suffix": suffix}
    return {part: value for part, value in parts.items() if value}

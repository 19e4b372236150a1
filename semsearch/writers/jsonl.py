"""JSON Lines: one hit or one paper a line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Final, TextIO

from semsearch.paper import Paper
from semsearch.ranking import Hit

# Legal in JSON, yet obeyed by terminals, taken for ends of lines by readers, or not encodable.
_BETTER_ESCAPED: Final = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_OWN_FIELDS: Final = ("arxiv", "pmid", "acl", "openalex")
"""Kinds of identifiers that `semsearch.readers` reads back from fields of these names."""


def json_line(document: Mapping[str, object]) -> str:
    """Return a document as one line of JSON, without its end."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False)
    return _BETTER_ESCAPED.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def write_hits(hits: Iterable[Hit], stream: TextIO, query_id: str | None = None) -> None:
    """Write hits as `Hit.as_dict` gives them; of several questions each with its `query_id` before."""
    for hit in hits:
        document = hit.as_dict() if query_id is None else {"query_id": query_id, **hit.as_dict()}
        stream.write(json_line(document) + "\n")


def write_papers(papers: Iterable[Paper], stream: TextIO) -> None:
    """Write papers so that reading the lines gives the same papers again."""
    for paper in papers:
        stream.write(json_line(paper_as_dict(paper)) + "\n")


def paper_as_dict(paper: Paper) -> dict[str, object]:
    """Return a paper by the names of its fields, with other identifiers and what the source wrote where it has them."""
    document: dict[str, object] = {
        "id": paper.id, "title": paper.title, "abstract": paper.abstract, "authors": list(paper.authors),
        "year": paper.year, "date": paper.date, "venue": paper.venue, "categories": list(paper.categories),
        "url": paper.url, "doi": paper.doi,
    }
    document.update({kind: value for kind, value in paper.identifiers if kind in _OWN_FIELDS})
    extras = {"language": paper.language, "raw_title": paper.raw_title, "raw_abstract": paper.raw_abstract,
              "markup": paper.markup or "plain"}  # by it a reader knows that the text is clean
    document.update({name: value for name, value in extras.items() if value})
    if paper.title_stands_in:
        document["title_stands_in"] = True
    return document

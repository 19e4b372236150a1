"""Crossref: answers of its API (`message.items`), single works and lists of works; abstracts are in JATS."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO, Final

from semsearch.paper import Paper
from semsearch.readers.base import Format, ReadItem
from semsearch.readers.csl_json import parts_of
from semsearch.readers.json_counting import JsonPaperCounter
from semsearch.readers.json_documents import json_head, read_json
from semsearch.readers.parts import Parts

_ANSWER: Final = re.compile(r'"message-type"\s*:')
_WORK: Final = re.compile(r'"title"\s*:\s*\[')
_EVIDENT: Final = re.compile(r'"(?:reference-count|is-referenced-by-count|container-title|content-domain|DOI)"\s*:')


def looks_like(name: str, head: bytes) -> int:
    """Return how sure it is that a file holds Crossref works."""
    text = json_head(head)
    return 96 if _ANSWER.search(text[:2000]) or (_WORK.search(text) and _EVIDENT.search(text)) else 0


def read(stream: BinaryIO, name: str) -> Iterator[ReadItem]:
    """Yield one item for every work."""
    return read_json(stream, paper_of)


def paper_of(work: dict[str, object]) -> Paper:
    """Return the paper that a work describes; raises WrongType where there is neither title nor abstract."""
    parts: Parts = parts_of(work)
    return parts.paper()


FORMAT: Final = Format(
    name="crossref", title="Crossref JSON", looks_like=looks_like, read=read, version=1, counter=JsonPaperCounter
)

"""Lists of papers in JSON documents whose makers follow no standard: conference programmes, exports of scripts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import BinaryIO, Final

from semsearch.paper import Paper
from semsearch.readers import arxiv_snapshot, crossref, csl_json, openalex, openreview
from semsearch.readers.base import Format, ReadItem
from semsearch.readers.fields import ALIASES, field_name, paper_of_fields
from semsearch.readers.json_counting import JsonPaperCounter
from semsearch.readers.json_documents import json_head, read_json

_TITLE: Final = re.compile(r'"(?:paper_?)?title"\s*:', re.IGNORECASE)
_AROUND: Final = re.compile(r'\A\{\s*"[^"]*"\s*:\s*\{|"\s*:\s*\[\s*\{')
"""A list of objects, or an object as the first member: where the title comes after it, it stands in it."""
_NAME: Final = re.compile(r'"([^"\\]{1,40})"\s*:')
_TEXT: Final = frozenset(ALIASES["title"] + ALIASES["abstract"])


def looks_like(name: str, head: bytes) -> int:
    """Return how sure it is that a file is a JSON document with papers in it."""
    text = json_head(head)
    if not text:
        return 0
    names = {field_name(found) for found in _NAME.findall(text)}
    if not names & _TEXT:
        return 0
    if text.startswith("[") or "\n" in text.rstrip():
        return 92 if names & set(ALIASES["title"]) else 80
    title, around = _TITLE.search(text), _AROUND.search(text)
    return 92 if title and around and around.start() < title.start() else 55


def read(stream: BinaryIO, name: str) -> Iterator[ReadItem]:
    """Yield one item for every record; an `id` is unique only in its file."""
    return read_json(stream, partial(paper_of_record, space=f"json:{name}"))


def paper_of_record(record: dict[str, object], space: str) -> Paper:
    """Return the paper that a record of any shape describes; raises WrongType where it cannot be used.

    Its own id is one in the id space `space`, unless the record is evidently of a source whose ids are unique.
    """
    if arxiv_snapshot.is_snapshot_record(record):
        return arxiv_snapshot.paper_of(record)
    if "abstract_inverted_index" in record or "authorships" in record:
        return openalex.paper_of(record)
    content = record.get("content")
    if isinstance(content, dict) and ("title" in content or "abstract" in content):
        return openreview.paper_of(record)
    if "container-title" in record or isinstance(record.get("issued"), dict):
        is_crossref = isinstance(record.get("title"), list)
        return crossref.paper_of(record) if is_crossref else csl_json.paper_of(record, space)
    return paper_of_fields(record, space)


FORMAT: Final = Format(
    name="json",
    title="JSON document with papers",
    looks_like=looks_like,
    read=read,
    version=1,
    counter=JsonPaperCounter,
)

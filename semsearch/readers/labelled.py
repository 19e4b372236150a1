"""Paragraphs of plain text lists whose lines say what they are: `Title: ...`, `Abstract: ...`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from semsearch.paper import Paper
from semsearch.readers.fields import ALIASES, WrongType, field_name, paper_of_fields

_LABELLED: Final = re.compile(r"^\s*([A-Z][A-Za-z() ]{1,19}?)\s*:\s*(.*)$")
_TITLES: Final = ("title", "papertitle")
_ABSTRACTS: Final = ("abstract", "summary")
_LABELS: Final = frozenset((*_TITLES, *_ABSTRACTS, "keywords", "source", "timescited", "issn", "note", "pages",
                            *(name for field in ("authors", "date", "year", "venue", "url", "doi", "arxiv", "pmid")
                              for name in ALIASES[field] if len(name) > 2)))


def labelled_paper(lines: Sequence[str]) -> Paper | None:
    """Return the paper of a paragraph that has lines `Title:` and `Abstract:`, None where it has not both.

    A line without a label goes on with the field above it.
    """
    fields: dict[str, object] = {}
    name = ""
    for line in lines:
        found = _LABELLED.match(line)
        label = field_name(found.group(1)) if found else ""
        if found and label in _LABELS and label not in fields:
            name = label
            fields[name] = found.group(2)
        elif name:
            fields[name] = f"{fields[name]} {line}"
    if not (fields.keys() & set(_TITLES) and fields.keys() & set(_ABSTRACTS)):
        return None
    try:
        return paper_of_fields(fields, "text")
    except WrongType:
        return None

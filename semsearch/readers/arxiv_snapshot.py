"""Records of the arXiv metadata snapshot, which comes as JSON Lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from semsearch.cleaning import latex_to_text
from semsearch.identifiers import normalise_arxiv, normalise_doi
from semsearch.paper import Paper
from semsearch.person_names import author_names
from semsearch.readers.dates import date_of
from semsearch.readers.json_documents import text_in
from semsearch.readers.parts import Parts

_NAME_PARTS: Final = 3
"""Family name, given names, suffix; affiliations may follow."""


def is_snapshot_record(record: Mapping[str, object]) -> bool:
    """Tell whether a record is one of the snapshot."""
    return "authors_parsed" in record and "categories" in record


def paper_of(record: Mapping[str, object]) -> Paper:
    """Return the paper that a record describes; raises WrongType where there is neither title nor abstract.

    Its date is that of the first version.
    """
    arxiv = normalise_arxiv(text_in(record.get("id")))
    names = _names(record.get("authors_parsed")) or list(author_names(record.get("authors")))
    categories = record.get("categories")
    return Parts(
        title=text_in(record.get("title")),
        abstract=text_in(record.get("abstract")),
        markup="latex",
        authors=[latex_to_text(name) if "\\" in name or "{" in name else name for name in names],
        date=_first_date(record.get("versions")) or date_of(record.get("update_date")),
        venue=text_in(record.get("journal-ref")),
        categories=categories.split()
        if isinstance(categories, str)
        else [text for text in categories if isinstance(text, str)]
        if isinstance(categories, list)
        else (),
        url=f"https://arxiv.org/abs/{arxiv}" if arxiv else "",
        own_id=arxiv or text_in(record.get("id")),
        identifiers={"doi": normalise_doi(text_in(record.get("doi"))), "arxiv": arxiv},
    ).paper()


def _names(value: object) -> list[str]:
    if not isinstance(value, list):
        return []
    names = []
    for parsed in value:
        if isinstance(parsed, list) and parsed:
            family, given, suffix = ([text_in(part) for part in parsed[:_NAME_PARTS]] + ["", ""])[:_NAME_PARTS]
            names.append(" ".join(part for part in (given, family, suffix) if part))
    return [name for name in names if name]


def _first_date(versions: object) -> str:
    """Return the date of the first version, written like `Mon, 2 Apr 2007 19:18:42 GMT`."""
    first = versions[0] if isinstance(versions, list) and versions else None
    created = text_in(first.get("created")) if isinstance(first, dict) else ""
    return date_of(created.partition(",")[2].rpartition(" ")[0].rpartition(" ")[0] or created)

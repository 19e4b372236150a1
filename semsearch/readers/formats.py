"""The formats that are read, and which of them a file is in."""

from __future__ import annotations

import os
from typing import Final

from semsearch.errors import UnknownFormat, UsageError
from semsearch.readers import (
    acl_xml,
    arxiv_atom,
    bibtex,
    crossref,
    csl_json,
    endnote_xml,
    jats,
    json_papers,
    jsonl,
    medline,
    openalex,
    openreview,
    ovid,
    parquet,
    plain_text,
    pubmed_text,
    pubmed_xml,
    refer,
    ris,
    semantic_scholar,
    tabular,
    wos,
    wos_tab,
)
from semsearch.readers.base import Format
from semsearch.readers.detection import foreign_format
from semsearch.readers.sources import strip_compression

_DOCUMENTS: Final[tuple[Format, ...]] = (
    pubmed_xml.FORMAT, endnote_xml.FORMAT, arxiv_atom.FORMAT, acl_xml.FORMAT, jats.FORMAT, openalex.FORMAT,
    crossref.FORMAT, openreview.FORMAT, semantic_scholar.FORMAT, csl_json.FORMAT, json_papers.FORMAT,
    parquet.FORMAT)
"""XML and JSON documents, and Parquet; what is in one of these is no foreign one."""

FORMATS: Final[tuple[Format, ...]] = (
    jsonl.FORMAT, tabular.FORMAT, bibtex.FORMAT, refer.FORMAT, ris.FORMAT, medline.FORMAT, wos.FORMAT,
    wos_tab.FORMAT, ovid.FORMAT, pubmed_text.ABSTRACTS, pubmed_text.SUMMARIES, *_DOCUMENTS, plain_text.FORMAT)

_OTHER_NAMES: Final = {"tsv": "csv", "txt": "text", "plain-text": "text", "ndjson": "jsonl", "json-lines": "jsonl",
                       "bib": "bibtex", "biblatex": "bibtex", "enw": "refer", "endnote": "refer",
                       "nbib": "medline", "pubmed": "medline", "isi": "wos", "ciw": "wos", "web-of-science": "wos",
                       "jats-xml": "jats", "atom": "arxiv-atom", "arxiv": "arxiv-atom",
                       "endnotexml": "endnote-xml", "acl": "acl-xml", "anthology": "acl-xml", "csl": "csl-json",
                       "csljson": "csl-json", "crossref-json": "crossref", "openalex-json": "openalex",
                       "semanticscholar": "semantic-scholar", "s2": "semantic-scholar",
                       "semantic-scholar-json": "semantic-scholar", "openreview-json": "openreview",
                       "json-papers": "json"}
_EVIDENT: Final = 60
"""How sure a format must be to be believed against a name such as `.json`."""


def find_format(name: str, head: bytes, from_format: str | None = None) -> Format:
    """Return the format of a file by its beginning, or the one named `from_format`.

    Raises UnknownFormat, with what the content looks like, where it is of none that is read; UsageError where no format
    is called `from_format`.
    """
    bare = strip_compression(os.path.basename(name))
    chosen = _format_named(from_format) if from_format is not None else _found(name, bare, head)
    if chosen.check:
        chosen.check(name, head)
    return chosen


def _format_named(from_format: str) -> Format:
    wanted = _OTHER_NAMES.get(from_format.lower(), from_format.lower())
    for known in FORMATS:
        if known.name == wanted:
            return known
    names = ", ".join(known.name for known in FORMATS)
    raise UsageError(f"There is no input format {from_format!r}.", f"Choose one of: {names}.")


def _found(name: str, bare: str, head: bytes) -> Format:
    scores = [(known.looks_like(bare, head), known) for known in FORMATS]
    score, best = max(scores, key=lambda pair: pair[0])
    if not head.strip():
        return best if score else plain_text.FORMAT
    if best in _DOCUMENTS and score >= _EVIDENT:
        return best
    foreign = foreign_format(bare, head)
    if foreign and not (foreign.by_name_only and score >= _EVIDENT):
        known_titles = ", ".join(known.title for known in FORMATS)
        raise UnknownFormat(
            f"{name} looks like {foreign.title}, which this version does not read.",
            f"It reads: {known_titles}. {foreign.way_out} If it is one of these after all, say so with --from.")
    return best

"""Titles and abstracts as they are embedded and shown: no heading, no copyright notice, no placeholder."""

from __future__ import annotations

import re
from typing import Final, Literal

from semsearch.cleaning.latex import latex_to_text
from semsearch.cleaning.markup import markup_to_text
from semsearch.cleaning.notices import without_notices
from semsearch.cleaning.tidying import tidy

Markup = Literal["plain", "latex", "html"]
"""How a source writes: as text, as LaTeX (BibTeX, arXiv, OpenReview), or with tags and entities (Crossref, PubMed)."""

_FORMULA: Final = re.compile(r"\\[A-Za-z]{2}|\$[^$\\^_]{0,200}[\\^_][^$]{0,200}\$|\\[\"'`^~][A-Za-z{]")
_ENTITY_OR_TAG: Final = re.compile(r"[<&][A-Za-z/#!]")

_WORD: Final = r"(?:abstract|summary)"
_OPENERS: Final = r"""(?:we|this|these|that|there|the|a|an|our|it|its|they|in|to|on|for|with|from|by|as|at|of|while|when
    |where|although|despite|since|because|given|using|based|through|over|under|after|many|most|some|several|recent
    |recently|here|how|what|why|is|are|can|does|do|if|one|two|both|background|objectives?|purpose|aims?|introduction
    |context|motivation|problem|importance|rationale|goals?|methods?|results?|conclusions?)"""
_HEADING: Final = re.compile(
    rf"""(?i:{_WORD})
    (?:
        \s*(?:[.:：]|[—–]|-{{2,}}|\s-(?=\s))\s*(?=\S|\Z)  # Abstract: ...
        | [ \t\r]*\n\s*(?=[A-Z0-9"“(\[])                   # a line of its own
        | -(?=[A-Z][a-z]*\s+(?:[a-z]|\Z))                  # Abstract-We ...
        | \s+(?=(?i:{_OPENERS})\b(?<=[a-z])(?<![a-z]{{20}}))(?=[A-Z])  # Abstract We ...
    )
    | (?i:resumen|resumo|résumé|zusammenfassung|аннотация|реферат)\s*[.:—–]\s*
    | (?:摘要|要旨|抄録)\s*[:：]\s*
    """,
    re.VERBOSE,
)
_UPPER_HEADING: Final = re.compile(r"(?:ABSTRACT|SUMMARY)\s+(?=[A-Z](?:[a-z]|\s+[a-z]))")
_PLACEHOLDER: Final = re.compile(
    r"""[\[(<]?\s*(?:
        (?:no|without)\s+abstract(?:\s+(?:is\s+)?(?:available|provided|found|given|present|supplied))?
        | (?:the\s+)?abstract\s+(?:is\s+)?(?:not\s+(?:available|provided|found)|unavailable|missing)
        | abstract | summary | n\s?/\s?a | null | none | nan | nil | undefined | not\s+available | unavailable
        | -{1,3} | \.{1,3} | \?
        | to\s+be\s+announced | tba | \(?no\s+text\)?
    )\s*[.!]?\s*[\])>]?\.?""",
    re.VERBOSE | re.IGNORECASE,
)
_LONGEST_PLACEHOLDER: Final = 60
_HEADING_WITHIN: Final = 80
_TOO_MANY: Final = 8


def clean_title(text: str, markup: Markup = "plain") -> str:
    """Return a title as text."""
    return tidy(_decoded(text, markup))


def clean_abstract(text: str, markup: Markup = "plain") -> str:
    """Return an abstract as text; `""` for one that only says that there is none.

    The word "Abstract" or "Summary" goes where it is a heading, a publisher's notice of copyright where it stands at
    the beginning or the end. Labels of structured abstracts (METHODS: ...) stay.
    """
    text = _decoded(text, markup)
    for _ in range(_TOO_MANY):
        before = text
        text = without_notices(tidy(_without_heading(text)))
        if text == before:
            break
    if len(text) <= _LONGEST_PLACEHOLDER and _PLACEHOLDER.fullmatch(text):
        return ""
    return text


def _decoded(text: str, markup: Markup) -> str:
    """Return the text of a field as its source meant it."""
    if markup == "latex":
        text = latex_to_text(text)
        return markup_to_text(text) if ("<" in text or "&" in text) and _ENTITY_OR_TAG.search(text) else text
    if markup == "html":
        text = markup_to_text(text)
        return latex_to_text(text) if ("\\" in text or "$" in text) and _FORMULA.search(text) else text
    return text


def _without_heading(text: str) -> str:
    """Return `text` from behind the headings it begins with."""
    start = len(text) - len(text.lstrip())
    while found := _HEADING.match(text, start) or _UPPER_HEADING.match(text, start):
        start = found.end()
    return text[start:] if start else text

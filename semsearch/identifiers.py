"""The identifiers of papers in one spelling each, so that two spellings of one compare equal."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote

_DOI: Final = re.compile("(10\\.\\d{4,9}(?:\\.\\d+)*/[^\\s\x00-\x1f\x7f-\x9f\ud800-\udfff]+)", re.IGNORECASE)
_OPENING: Final = {")": "(", "]": "[", "}": "{"}
_ARXIV_NEW: Final = re.compile(r"^(\d{4}\.\d{4,5})(?:v\d+)?$", re.IGNORECASE)
_ARXIV_OLD: Final = re.compile(r"^([a-z-]+(?:\.[a-z]{2})?/\d{7})(?:v\d+)?$", re.IGNORECASE)
_ARXIV_PREFIX: Final = re.compile(
    r"^(?:arxiv\s*:\s*|(?:https?://)?(?:www\.|export\.)?arxiv\.org/(?:abs|pdf|html)/)", re.IGNORECASE)
_ARXIV_TRAILER: Final = re.compile(r"\s*\[[\w.-]+\].*$|[?#].*$", re.DOTALL)
"""What follows the id in a reference (`[cs.LG] 2 Jun 2021`) or in a URL."""
_ARXIV_DOI: Final = re.compile(r"^10\.48550/arxiv\.(.+)$", re.IGNORECASE)
_PMID: Final = re.compile(
    r"^(?:pmid\s*:?\s*|(?:https?://)?(?:www\.)?(?:pubmed\.ncbi\.nlm\.nih\.gov|ncbi\.nlm\.nih\.gov/pubmed)/)(\d{1,9})/?$",
    re.IGNORECASE)
_ACL: Final = re.compile(
    r"^(?:acl\s*:\s*|(?:https?://)?(?:www\.)?aclanthology\.org/)?"
    r"([a-z]\d{2}-\d{4,5}|\d{4}\.[a-z0-9_]+-[a-z0-9_]+\.\d+)(?:\.pdf)?/?$", re.IGNORECASE)
_OPENALEX: Final = re.compile(r"^(?:openalex\s*:\s*|(?:https?://)?(?:api\.)?openalex\.org/(?:works/)?)?(w\d{4,})$",
                              re.IGNORECASE)


def normalise_doi(text: str) -> str:
    """Return the bare DOI in lower case, `""` where there is none.

    DOIs are case-insensitive (DOI Handbook, section 3.4). A URL, a `doi:` prefix and punctuation that a sentence left
    at the end are dropped.
    """
    found = _DOI.search(unquote(text))
    if not found:
        return ""
    doi = found.group(1).lower()
    while doi[-1] in ".,;:'\"<>" or (doi[-1] in _OPENING and doi.count(doi[-1]) > doi.count(_OPENING[doi[-1]])):
        doi = doi[:-1]
    return doi if _DOI.fullmatch(doi) else ""


def normalise_arxiv(text: str) -> str:
    """Return the arXiv id without prefix and version, `""` where there is none.

    Both schemes count: `2106.01345` (since 2007) and `math/0207249` (before).
    """
    bare = unquote(text).strip()
    if "[" in bare or "?" in bare or "#" in bare:
        bare = _ARXIV_TRAILER.sub("", bare)
    bare = _ARXIV_PREFIX.sub("", bare)
    of_doi = _ARXIV_DOI.match(bare)
    if of_doi:
        bare = of_doi.group(1)
    bare = bare.removesuffix(".pdf").rstrip("/")
    found = _ARXIV_NEW.match(bare) or _ARXIV_OLD.match(bare)
    return found.group(1).lower() if found else ""


def normalise_pmid(text: str) -> str:
    """Return the digits of a PubMed id written with its prefix or URL, `""` where there is none."""
    found = _PMID.match(text.strip())
    return found.group(1).lstrip("0") if found else ""


def normalise_acl(text: str) -> str:
    """Return an ACL Anthology id in its canonical case, `""` where there is none."""
    found = _ACL.match(text.strip())
    if not found:
        return ""
    bare = found.group(1)
    return bare.upper() if bare[0].isalpha() else bare.lower()


def normalise_openalex(text: str) -> str:
    """Return an OpenAlex work id (`W...`), `""` where there is none."""
    found = _OPENALEX.match(text.strip())
    return found.group(1).upper() if found else ""


def spellings(text: str) -> list[str]:
    """Return the look-up keys (`kind:value`) under which a paper named `text` may be filed, likeliest first.

    The keys are those that `alias_key` makes; `text` may carry a prefix, a version, a URL, any case.
    """
    keys = [alias_key("id", text)]
    for kind, normalise in (("doi", normalise_doi), ("arxiv", normalise_arxiv), ("pmid", normalise_pmid),
                            ("acl", normalise_acl), ("openalex", normalise_openalex)):
        value = normalise(text)
        if value:
            keys.append(alias_key(kind, value))
            keys.append(alias_key("id", value))
    of_doi = _ARXIV_DOI.match(normalise_doi(text))
    if of_doi:
        keys.append(alias_key("arxiv", normalise_arxiv(of_doi.group(1))))
    bare = text.strip()
    if bare.isascii() and bare.isdigit():
        keys.append(alias_key("pmid", bare.lstrip("0")))
    kind, colon, value = bare.partition(":")
    if colon and kind.lower() in {"doi", "arxiv", "pmid", "acl", "openalex", "id", "s2"}:
        keys.append(alias_key(kind.lower(), value.strip()))
    return list(dict.fromkeys(keys))


def alias_key(kind: str, value: str) -> str:
    """Return the key of an identifier in the table of aliases: `kind:value`, case folded."""
    return f"{kind}:{value.strip().casefold()}"

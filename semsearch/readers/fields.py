"""Named fields, as JSON objects and table rows have them, to a paper."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Final

from semsearch.cleaning import Markup, clean_abstract, clean_title
from semsearch.identifiers import (
    normalise_acl,
    normalise_arxiv,
    normalise_doi,
    normalise_openalex,
    normalise_pmid,
)
from semsearch.paper import Paper, collapse_white_space, content_id
from semsearch.person_names import author_names
from semsearch.readers.dates import date_of, year_of

NO_TEXT: Final = "neither title nor abstract"

ALIASES: Final[Mapping[str, tuple[str, ...]]] = {
    "id": ("id", "paperid", "corpusid", "docid", "documentid", "docno", "uid", "key", "eid", "ut", "uniquewosid",
           "utuniquewosid", "lensid", "recordid", "identifier", "accessionnumber", "openalexid", "forumid", "workid"),
    "title": ("title", "papertitle", "articletitle", "documenttitle", "itemtitle", "primarytitle", "ti", "displayname",
              "titel", "titre"),
    "abstract": ("abstract", "abstracttext", "abstractnote", "text", "summary", "description", "paperabstract", "ab",
                 "notesabstract", "contents", "content", "body", "zusammenfassung", "résumé", "resume"),
    "authors": ("authorfullnames", "authors", "author", "authornames", "authorlist", "firstauthors", "creators",
                "creator", "authorships", "authorsnames", "bookauthors", "af", "au",
                "authorshipsauthordisplayname", "editor", "editors"),
    "date": ("date", "publicationdate", "publishedat", "publisheddate", "datepublished", "published", "pubdate",
             "coverdate", "onlinepublicationdate", "onlinedate", "issuedate", "issued", "releasedate"),
    "year": ("year", "publicationyear", "publishedyear", "pubyear", "yearpublished", "py", "yr", "publyear", "anno",
             "annee", "jahr"),
    "venue": ("venue", "journal", "booktitle", "conference", "publicationtitle", "sourcetitle", "containertitle",
              "publicationname", "journaltitle", "journalname", "proceedingstitle", "conferencename", "hostvenue",
              "primarylocationsourcedisplayname", "publicationvenue", "secondarytitle", "so", "journalbook"),
    "categories": ("categories", "category", "keywords", "authorkeywords", "fields", "fieldsofstudy", "s2fieldsofstudy",
                   "subjects", "subject", "topics", "concepts", "tags", "manualtags", "ieeeterms", "indexkeywords",
                   "keyword", "de"),
    "url": ("url", "link", "openurllink", "urls", "links", "landingpageurl", "sourceurl", "externalurl", "paperurl",
            "pdflink", "pdfurl", "urlpdf", "pdf"),
    "doi": ("doi", "doinumber", "articledoi", "itemdoi", "di", "doilink"),
    "arxiv": ("arxiv", "arxivid", "arxivnumber", "eprint"),
    "pmid": ("pmid", "pubmedid", "pubmed", "pm", "idspmid"),
    "acl": ("acl", "aclid", "aclanthologyid"),
    "openalex": ("openalex", "openalexid"),
    "language": ("language", "lang", "languageoforiginaldocument", "la"),
}
"""Names under which exports file a field, the likeliest first; compared without case, spaces and punctuation."""

TEXT_NAMES: Final = frozenset(ALIASES["title"] + ALIASES["abstract"])

_NOT_NAME: Final = re.compile(r"[\W_]+")
_DOI_ALONE: Final = re.compile(r"^\s*(?:doi\s*:\s*|(?:https?://)?(?:dx\.|www\.)?doi\.org/)?10\.\d{4,9}[\d.]*/\S+\s*$",
                               re.IGNORECASE)
_DIGITS: Final = re.compile(r"^0*([1-9]\d{0,8})(?:\.0)?$", re.ASCII)
_NORMALISE: Final[Mapping[str, Callable[[str], str]]] = {
    "doi": normalise_doi, "arxiv": normalise_arxiv, "pmid": normalise_pmid, "acl": normalise_acl,
    "openalex": normalise_openalex}
_S2_HASH: Final = re.compile(r"^[0-9a-f]{40}$")
_ARXIV_CATEGORY: Final = re.compile(r"^[a-z-]+(?:\.[A-Za-z-]{2,})?$")
_MARKUP_OF_SPACE: Final[dict[str, Markup]] = {"jsonl": "latex", "text": "latex", "parquet": "latex"}
"""JSON Lines and Parquet come from arXiv and conferences, where abstracts are LaTeX; tables from databases."""
_DATABASES: Final = {"eid": "scopus", "ut": "wos", "uniquewosid": "wos", "utuniquewosid": "wos", "lensid": "lens",
                     "openalexid": "openalex", "corpusid": "s2-corpus"}
"""The databases whose ids stand in a column of that name; they are unique whatever file they stand in."""
_EXPORTED_MARKUPS: Final = frozenset({"plain", "latex", "html"})
_COMMA_OUTSIDE_BRACKETS: Final = re.compile(r",(?![^()]*\))")
_NESTED: Final = ("metadata", "externalids", "ids")
_TEXT_KEYS: Final = ("name", "displayname", "value", "raw", "text", "label", "term", "category", "title", "url", "url1")


class WrongType(ValueError):
    """A field that makes the record unusable; the message is the reason, `value` what stands there."""

    def __init__(self, reason: str, value: object) -> None:
        super().__init__(reason)
        self.value = value


@lru_cache(maxsize=4096)
def field_name(text: str) -> str:
    """Return the name of a field without case, spaces and punctuation: `Paper_ID` and `paperId` are one."""
    return _NOT_NAME.sub("", text).casefold()


def has_text_field(record: Mapping[str, object]) -> bool:
    """Tell whether a record has a field for a title or an abstract, filled in or not."""
    return any(field_name(key) in TEXT_NAMES for key in record)


def paper_of_fields(record: Mapping[str, object], space: str) -> Paper:
    """Return the paper that a record describes; raises WrongType where it cannot be used.

    The record's own id is an identifier in the id space `space`, such as `jsonl` or `csv:<path>`, or in that of the
    database whose name its column bears.
    """
    values = _by_name(record)
    texts = _texts(record, _text(values, "title"), _text(values, "abstract"), _MARKUP_OF_SPACE.get(space, "html"))
    title, abstract = texts["title"], texts["abstract"]
    column, own_id = _own_id(values)
    space = _DATABASES.get(column, space)
    if not title and not abstract:
        raise WrongType(NO_TEXT, own_id)
    authors = _exported_list(record, "authors") or author_names(_first(values, "authors"))
    date = date_of(_first(values, "date"))
    year = year_of(_first(values, "year")) or (int(date[:4]) if date else None)
    url = collapse_white_space(_loose_text(_first(values, "url")))
    named = _named_identifiers(values, own_id, url)
    identifiers = ((f"id:{space}", own_id), *named.items()) if own_id else tuple(named.items())
    return Paper(
        id=own_id or _id_without_own(named) or content_id(title, abstract, authors, year),
        authors=authors,
        year=year,
        date=date or (f"{year:04d}" if year else ""),
        venue=collapse_white_space(_loose_text(_first(values, "venue"))),
        categories=_exported_list(record, "categories") or _categories(_first(values, "categories")),
        url=url,
        doi=named.get("doi", ""),
        language=collapse_white_space(_loose_text(_first(values, "language"))),
        identifiers=identifiers,
        title_stands_in=record.get("title_stands_in") is True and bool(abstract),
        **texts,
    )


def _is_exported(record: Mapping[str, object]) -> bool:
    written_in = record.get("markup")
    return isinstance(written_in, str) and written_in in _EXPORTED_MARKUPS


def _exported_list(record: Mapping[str, object], field: str) -> tuple[str, ...]:
    """Return the texts in a field of a record that was exported from an index: they are as they were."""
    value = record.get(field)
    if not _is_exported(record) or not isinstance(value, list):
        return ()
    return tuple(text for part in value if isinstance(part, str) and (text := collapse_white_space(part)))


def _texts(record: Mapping[str, object], title: str, abstract: str, markup: Markup) -> dict[str, str]:
    """Return title and abstract, cleaned, and what the source wrote.

    A record that says in `markup` what its raw text is written in was exported from an index: its text is clean.
    """
    written_in = record.get("markup")
    if _is_exported(record):
        raw = {name: str(record.get(name) or "") for name in ("raw_title", "raw_abstract")}
        return {"title": collapse_white_space(title), "abstract": collapse_white_space(abstract), **raw,
                "markup": "" if written_in == "plain" else str(written_in)}
    clean = {"title": clean_title(title, markup), "abstract": clean_abstract(abstract, markup)}
    return clean | kept_raw(title, clean["title"], abstract, clean["abstract"], markup)


def kept_raw(raw_title: str, title: str, raw_abstract: str, abstract: str, markup: Markup) -> dict[str, str]:
    """Return the fields of a paper that hold what the source wrote, filled in where cleaning changed it."""
    title_changed = collapse_white_space(raw_title) != title
    abstract_changed = bool(abstract) and collapse_white_space(raw_abstract) != abstract  # a placeholder is not kept
    return {"raw_title": raw_title if title_changed else "", "raw_abstract": raw_abstract if abstract_changed else "",
            "markup": markup if title_changed or abstract_changed else ""}


def _by_name(record: Mapping[str, object]) -> dict[str, object]:
    """Return the fields by comparable name; what is nested in `metadata` or `externalIds` fills gaps only."""
    values: dict[str, object] = {}
    for key, value in record.items():
        name = field_name(key)
        if name not in values or _is_empty(values[name]):
            values[name] = value
    for nested in _NESTED:
        inner = values.get(nested)
        if not isinstance(inner, dict):
            continue
        for key, value in inner.items():
            name = field_name(str(key))
            if name in ALIASES["title"] or name in ALIASES["abstract"] or name in ALIASES["id"]:
                continue
            if name not in values or _is_empty(values[name]):
                values[name] = value
    return values


def _is_empty(value: object) -> bool:
    return value is None or value == "" or value == [] or (isinstance(value, str) and not value.strip())


def _first(values: Mapping[str, object], field: str) -> object:
    """Return the first value that is filled in under one of the field's names, None where none is."""
    for name in ALIASES[field]:
        value = values.get(name)
        if value is not None and not _is_empty(value):
            return value
    return None


def _text(values: Mapping[str, object], field: str) -> str:
    value = _first(values, field)
    if value is None:
        return ""
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        value = " ".join(value)
    if not isinstance(value, str):
        raise WrongType(f"`{field}` is not text", value)
    return value


def _own_id(values: Mapping[str, object]) -> tuple[str, str]:
    """Return the name of the field that holds the record's own id, and the id; `""` where it has none."""
    name = next((name for name in ALIASES["id"] if not _is_empty(values.get(name))), "")
    value = values.get(name)
    if isinstance(value, dict) and len(value) == 1:
        value = value.get("$oid", value)
    if not name or value is None:
        return "", ""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise WrongType("`id` is neither text nor a number", value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise WrongType("`id` is neither text nor a number", value)
        if value.is_integer() and abs(value) < 2**53:
            value = int(value)
    return name, collapse_white_space(str(value))


def _loose_text(value: object) -> str:
    """Return the text of a field that does not decide on the record: its own, or that of its first or named part."""
    for _ in range(4):
        if isinstance(value, list):
            value = next((part for part in value if not _is_empty(part)), None)
        elif isinstance(value, dict):
            named = {field_name(str(key)): part for key, part in value.items()}
            value = next((named[key] for key in _TEXT_KEYS if not _is_empty(named.get(key))), None)
        else:
            break
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""


def _categories(value: object) -> tuple[str, ...]:
    parts: Iterable[str]
    if isinstance(value, str):
        parts = _split_categories(value)
    elif isinstance(value, list):
        parts = [_loose_text(part) for part in value]
        words = parts[0].split() if len(parts) == 1 else []
        if any("." in word for word in words) and all(_ARXIV_CATEGORY.match(word) for word in words):
            parts = words
    else:
        parts = (_loose_text(value),)
    return tuple(dict.fromkeys(part for part in map(collapse_white_space, parts) if part))


def _split_categories(text: str) -> list[str]:
    if text.startswith("[") and text.rstrip().endswith("]"):
        quoted = re.findall(r"'([^']*)'|\"([^\"]*)\"", text)
        if quoted:
            return [one or other for one, other in quoted]
    for separator in (";", "|"):
        if separator in text:
            return text.split(separator)
    if "," in text:
        return _COMMA_OUTSIDE_BRACKETS.split(text)
    words = text.split()
    if any("." in word for word in words) and all(_ARXIV_CATEGORY.match(word) for word in words):
        return words
    return [text]


def _named_identifiers(values: Mapping[str, object], own_id: str, url: str) -> dict[str, str]:
    """Return one identifier of each kind: from its own field, else from the id or the URL where they have its shape."""
    def of_field(field: str) -> str:
        value = _first(values, field)
        if isinstance(value, float) and math.isfinite(value) and value.is_integer():
            value = int(value)
        return "" if value is None else collapse_white_space(_loose_text(value))

    found = {}
    for kind, normalise in _NORMALISE.items():
        text = of_field(kind)
        digits = _DIGITS.match(text) if kind == "pmid" else None
        found[kind] = digits.group(1) if digits else normalise(text) if text else ""
        for text in (own_id, url):
            if text and not found[kind] and (kind != "doi" or _DOI_ALONE.match(text)):
                found[kind] = normalise(text)
    if not found["arxiv"] and found["doi"]:
        found["arxiv"] = normalise_arxiv(found["doi"])
    if _S2_HASH.match(own_id):
        found["s2"] = own_id
    return {kind: value for kind, value in found.items() if value}


def _id_without_own(named: Mapping[str, str]) -> str:
    for kind in ("doi", "arxiv", "pmid", "acl", "openalex"):
        if kind in named:
            return named[kind]
    return ""

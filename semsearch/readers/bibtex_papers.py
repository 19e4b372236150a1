"""Entries of BibTeX to papers: which field says what, in the spellings of the programs that export them."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import Final

from semsearch.cleaning import clean_abstract, clean_title
from semsearch.identifiers import (
    normalise_acl,
    normalise_arxiv,
    normalise_doi,
    normalise_openalex,
    normalise_pmid,
)
from semsearch.paper import Paper, collapse_white_space, content_id, normalise_date
from semsearch.readers.bibtex_entries import Entry
from semsearch.readers.bibtex_names import names_in, plain_text, without_outer_braces
from semsearch.readers.dates import date_of, year_of

_WHOLES: Final = frozenset({
    "book", "mvbook", "collection", "mvcollection", "proceedings", "mvproceedings", "reference", "mvreference",
    "periodical", "booklet"})
"""Kinds whose `booktitle` is their own title."""
_VENUES: Final = ("journal", "journaltitle", "booktitle", "eventtitle", "conference", "series")
_PEOPLE: Final = ("author", "authors", "editor", "editors")
_KEYWORDS: Final = ("author_keywords", "keywords", "keyword", "mendeley-tags")
_CLASSES: Final = ("primaryclass", "eprintclass")
_DOI_HOST: Final = re.compile(r"\bdoi\.org/", re.IGNORECASE)
_URL: Final = re.compile(r"(?:https?|ftp)://[^\s{}\"<>]+", re.IGNORECASE)
_HOST: Final = re.compile(r"[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}(?:[/:?#]|$)")
_URL_PIECE: Final = re.compile(r"[\w.~:/?#\[\]@!$&'()*+,;=%-]*[/?#=&%.][\w.~:/?#\[\]@!$&'()*+,;=%-]*", re.ASCII)
"""What goes on with a URL, told from a word behind it by a character that words have not."""
_ARXIV_NAMED: Final = re.compile(r"\barxiv\s*:\s*([\w./-]+)|\babs/([\w./-]+)", re.IGNORECASE)
_DIGITS: Final = re.compile(r"\D{0,40}(\d{1,9})\s*", re.ASCII)
_OLD_ARCHIVE: Final = re.compile(r"[a-z-]+(?:\.[A-Z]{2})?", re.ASCII)
_OLD_NUMBER: Final = re.compile(r"\d{7}(?:v\d+)?", re.ASCII)
_ISO_START: Final = re.compile(r"\s*\d{4}(?:\D|$)", re.ASCII)
_ISO_DAY: Final = re.compile(r"\s*(\d{4}-\d{2}-\d{2})\b", re.ASCII)
_ESCAPED: Final = re.compile(r"\\([_%&#$~{}])")
_URL_MACRO: Final = re.compile(r"\\(?:url|href|path|nolinkurl|texttt)\b\s*")
_SYMBOLS: Final = (
    ("\\textasciitilde", "~"), ("$\\sim$", "~"), ("\\sim", "~"), ("\\textless", "<"), ("\\textgreater", ">"),
    ("\\textunderscore", "_"), ("\\slash", "/"), ("$<$", "<"), ("$>$", ">"), ("\\textbackslash", "\\"))
_SEMICOLON: Final = re.compile(r"[;|]")
_COMMA: Final = re.compile(r",")
_COMMA_OUTSIDE_BRACKETS: Final = re.compile(r",(?![^()]*\))")
_JOURNAL_MACRO: Final = re.compile(r"\s*\{?\\([A-Za-z]{2,10})\}?\s*")
_JOURNALS: Final = {
    "aj": "Astronomical Journal", "apj": "Astrophysical Journal", "apjl": "Astrophysical Journal Letters",
    "apjs": "Astrophysical Journal Supplement", "aap": "Astronomy and Astrophysics",
    "aapr": "Astronomy and Astrophysics Reviews", "aaps": "Astronomy and Astrophysics Supplement",
    "araa": "Annual Review of Astronomy and Astrophysics", "ao": "Applied Optics",
    "apss": "Astrophysics and Space Science", "gca": "Geochimica et Cosmochimica Acta",
    "grl": "Geophysical Research Letters", "icarus": "Icarus", "jcap": "Journal of Cosmology and Astroparticle Physics",
    "jcp": "Journal of Chemical Physics", "jgr": "Journal of Geophysical Research",
    "jqsrt": "Journal of Quantitative Spectroscopy and Radiative Transfer",
    "mnras": "Monthly Notices of the Royal Astronomical Society", "nar": "New Astronomy Review", "nat": "Nature",
    "na": "New Astronomy", "pasa": "Publications of the Astronomical Society of Australia",
    "pasj": "Publications of the Astronomical Society of Japan",
    "pasp": "Publications of the Astronomical Society of the Pacific", "physrep": "Physics Reports",
    "planss": "Planetary and Space Science", "pra": "Physical Review A", "prb": "Physical Review B",
    "prc": "Physical Review C", "prd": "Physical Review D", "pre": "Physical Review E",
    "prl": "Physical Review Letters", "procspie": "Proceedings of the SPIE", "solphys": "Solar Physics",
    "sovast": "Soviet Astronomy", "ssr": "Space Science Reviews", "zap": "Zeitschrift fuer Astrophysik"}
"""What the macros of the AAS journals stand for, which the Astrophysics Data System writes into `journal`."""


def paper_of_entry(entry: Entry, space: str) -> Paper | None:
    """Return the paper of an entry, None where it has neither title nor abstract.

    The key of the entry is its id, and an identifier in the id space `space`.
    """
    fields = entry.fields
    raw_title, raw_abstract = _raw_title(entry), collapse_white_space(fields.get("abstract", ""))
    title, abstract = clean_title(raw_title, "latex"), clean_abstract(raw_abstract, "latex")
    if not title and not abstract:
        return None
    raw_title = raw_title if raw_title != title else ""
    raw_abstract = raw_abstract if raw_abstract != abstract else ""
    authors = next((names for names in (names_in(fields.get(field, "")) for field in _PEOPLE) if names), ())
    date = _date(fields)
    year = int(date[:4]) if date else None
    url = _url(fields)
    named = _identifiers(fields, url)
    key = collapse_white_space(entry.key)
    by_kind = next((named[kind] for kind in ("doi", "arxiv", "pmid") if kind in named), "")
    return Paper(
        id=key or by_kind or content_id(title, abstract, authors, year),
        title=title,
        abstract=abstract,
        authors=authors,
        year=year,
        date=date,
        venue=_venue(fields),
        categories=_categories(fields),
        url=url,
        doi=named.get("doi", ""),
        language=plain_text(fields.get("langid") or fields.get("language", "")),
        identifiers=(*(((f"id:{space}", key),) if key else ()), *named.items()),
        raw_title=raw_title,
        raw_abstract=raw_abstract,
        markup="latex" if raw_title or raw_abstract else "",
    )


def _raw_title(entry: Entry) -> str:
    fields = entry.fields
    title = fields.get("title", "")
    if not title.strip() and entry.kind in _WHOLES:
        title = fields.get("booktitle") or fields.get("maintitle", "")
    title, subtitle = collapse_white_space(title), collapse_white_space(fields.get("subtitle", ""))
    if not title or not subtitle:
        return title or subtitle
    return f"{title} {subtitle}" if title[-1] in ".:?!" else f"{title}: {subtitle}"


def _date(fields: Mapping[str, str]) -> str:
    """Return the date of `date` (of a range its beginning), else of `year` and `month`."""
    date = _verbatim(fields.get("date", ""))
    if date:
        parts = [part for part in date.split("/") if part.strip(" .")]
        found = date_of(parts[0] if parts and _ISO_START.match(parts[0]) else date)
        if found:
            return found
    written = _verbatim(fields.get("year", ""))
    day = _ISO_DAY.match(written)
    if day and normalise_date(day.group(1)):
        return day.group(1)
    year = year_of(written)
    if year is None:
        return ""
    month = _verbatim(fields.get("month", "")).strip("#. ").replace("~", " ")
    day_of_month = _verbatim(fields.get("day", ""))
    if month.isascii() and month.isdigit():
        parts = [f"{year:04d}", month.zfill(2), *([day_of_month.zfill(2)] if day_of_month else [])]
        return normalise_date("-".join(parts)) or normalise_date("-".join(parts[:2])) or f"{year:04d}"
    return date_of(f"{year:04d} {month} {day_of_month}") if month else f"{year:04d}"


def _venue(fields: Mapping[str, str]) -> str:
    for name in _VENUES:
        value = fields.get(name, "")
        macro = _JOURNAL_MACRO.fullmatch(value)
        if macro and macro.group(1) in _JOURNALS:
            return _JOURNALS[macro.group(1)]
        venue = plain_text(value)
        if venue:
            return venue
    return ""


def _categories(fields: Mapping[str, str]) -> tuple[str, ...]:
    keywords = next((fields[name] for name in _KEYWORDS if fields.get(name, "").strip()), "")
    keywords = without_outer_braces(html.unescape(keywords) if "&" in keywords else keywords)
    if ";" in keywords or "|" in keywords:
        separator = _SEMICOLON
    else:
        separator = _COMMA_OUTSIDE_BRACKETS if keywords.count("(") == keywords.count(")") else _COMMA
    parts = [part.strip(" ,") for part in separator.split(keywords)]
    classes = [fields[name] for name in _CLASSES if name in fields]
    return tuple(dict.fromkeys(part for part in map(plain_text, (*parts, *classes)) if part))


def _verbatim(text: str) -> str:
    """Return a field that is no running text (DOI, URL, date) without the escapes that LaTeX needs."""
    if "\\" in text or "$" in text:
        text = _URL_MACRO.sub("", text)
        for written, meant in _SYMBOLS:
            text = text.replace(written + "{}", meant).replace(written, meant)
        text = _ESCAPED.sub(r"\1", text)
    return collapse_white_space(html.unescape(text) if "&" in text else text).replace("{", "").replace("}", "").strip()


def _url(fields: Mapping[str, str]) -> str:
    """Return the first URL of `url`, one broken over lines joined; else one in `howpublished`."""
    text = _verbatim(fields.get("url", ""))
    first, *more = text.split() or [""]
    if _URL.match(first) or _HOST.match(first):
        for piece in more:
            if _URL.match(piece) or not _URL_PIECE.fullmatch(piece):
                break
            first += piece
        return first.rstrip(",;")
    found = _URL.search(text) or _URL.search(_verbatim(fields.get("howpublished", "")))
    return found.group().rstrip(".,;)") if found else ""


def _identifiers(fields: Mapping[str, str], url: str) -> dict[str, str]:
    doi = normalise_doi(_verbatim(fields.get("doi", "")))
    if not doi and _DOI_HOST.search(url):
        doi = normalise_doi(url)
    found = {"doi": doi, "arxiv": _arxiv(fields, url) or normalise_arxiv(doi), "pmid": _pmid(fields, url),
             "acl": normalise_acl(url), "openalex": normalise_openalex(url)}
    return {kind: value for kind, value in found.items() if value}


def _arxiv(fields: Mapping[str, str], url: str) -> str:
    eprint = _verbatim(fields.get("eprint", ""))
    archive = _verbatim(fields.get("archiveprefix") or fields.get("eprinttype", ""))
    if eprint and archive.casefold() in ("", "arxiv"):
        found = normalise_arxiv(eprint)
        if found:
            return found
    if _OLD_ARCHIVE.fullmatch(archive) and _OLD_NUMBER.fullmatch(eprint):
        return normalise_arxiv(f"{archive}/{eprint}")
    for name in ("arxivid", "arxiv"):
        found = normalise_arxiv(_verbatim(fields.get(name, "")))
        if found:
            return found
    for name in ("journal", "journaltitle", "volume", "number", "howpublished"):
        named = _ARXIV_NAMED.search(fields.get(name, ""))
        found = normalise_arxiv(named.group(1) or named.group(2)) if named else ""
        if found:
            return found
    return normalise_arxiv(url)


def _pmid(fields: Mapping[str, str], url: str) -> str:
    eprint = fields.get("eprint", "") if fields.get("eprinttype", "").strip().casefold() == "pubmed" else ""
    for value in (fields.get("pmid", ""), fields.get("pubmed_id", ""), fields.get("pubmedid", ""), eprint):
        digits = _DIGITS.fullmatch(_verbatim(value))
        if digits and digits.group(1).strip("0"):
            return normalise_pmid(f"pmid:{digits.group(1)}")
    return normalise_pmid(url)

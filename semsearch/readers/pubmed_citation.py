"""The prose of PubMed's citations taken apart: journal, date, title, authors, abstract."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from semsearch.identifiers import normalise_doi
from semsearch.person_names import initials_first
from semsearch.readers.dates import date_of
from semsearch.readers.parts import Parts
from semsearch.readers.tagged import pmid_in

_MONTH: Final = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
_DATE: Final = re.compile(
    rf"(?P<end>[.?!])\s+(?P<date>(?:18|19|20)\d\d(?:\s+(?:{_MONTH}|Spring|Summer|Fall|Autumn|Winter|\d\d?)[^;:.]{{0,30}}"
    rf"|-(?:18|19|20)?\d\d)?)\s*[;:.]")
"""Where the journal ends and the date stands: `Nature. 2019 Sep 5;573(7772):15.`"""
_DOI: Final = re.compile(r"\bdoi:\s+(10\.\d{4,9}/\S+)", re.IGNORECASE)
_DOI_LINE: Final = re.compile(r"^DOI:\s+(10\.\S+)", re.MULTILINE)
_PMID_TAIL: Final = re.compile(r"\s*(?:PubMed )?PMID:")
_PMID: Final = re.compile(r"\bPMID:\s*(\d{1,9})")
_AUTHOR: Final = re.compile(
    r"[^\W\d_][\w'’.\u2010-]*(?: [\w'’.\u2010-]+){0,5} [^\W\d_a-z]{1,4}(?: (?:Jr|Sr|2nd|3rd|[4-9]th|I{1,3}|IV))?"
    r"(?:\([\w*#†‡§]{1,4}\))*")
"""A name as PubMed shortens it, with the marks of its affiliations: `van der Zee HH(1)(10)`, `Maher LJ 3rd(1)`."""
_MARKS: Final = re.compile(r"(?:\([\w*#†‡§]{1,4}\))+$")
_GROUP_END: Final = re.compile(
    r"^[^.]{3,120}\b(?:Consortium|Collaboration|Collaborators|Network|Investigators|(?:Study|Working|Research) Group)$")
_ADDRESS: Final = re.compile(r"\. Electronic address: [^;\s@]{1,100}@[^;\s@]{1,100}(?=[;.])")
_ET_AL: Final = re.compile(r",? et al$|,? and others$")
_SENTENCE_END: Final = re.compile(r"[.?!][\"”’)\]]*(?:\s|$)")
_ASIDE: Final = re.compile(
    r"(?:Author information|Collaborators|Comment (?:in|on)|Erratum (?:in|for)|Update (?:of|in)|Cites|In|"
    r"Republished (?:in|from)|Corrected and republished (?:in|from)|Retraction (?:in|of)|Retracted and republished|"
    r"Expression of concern|Original report in|Summary for patients in|Reprint (?:in|of)|Partial retraction|"
    r"Dataset described in|Conflict of interest statement)\b\s*(?::|\n|$)|"
    r"©|\(c\) ?(?:19|20)\d\d|Copyright (?:©|\(c\)|(?:19|20)\d\d)|Publisher: Abstract available|"
    r"Free (?:PMC )?Article|\[(?:Article|Indexed|PubMed)|(?:DOI|PMCID|PMID): ", re.IGNORECASE)
_BOOK: Final = re.compile(r"In: (?P<book>.*)", re.DOTALL)
_BOOK_TITLE: Final = re.compile(r"(?:editors?\. )?(?P<title>[^.\[]+?)(?:\s*\[Internet\])?\.")
_BOOK_DATE: Final = re.compile(rf"^(?P<date>(?:19|20)\d\d(?: {_MONTH}(?: \d\d?)?)?)\b.*$", re.MULTILINE)
_PREPRINT: Final = re.compile(r"\s*\[(?:Preprint|Internet)\]$")
_LANGUAGE: Final = re.compile(r"\[Article in (?P<language>[A-Z]\w+)[^\]]*\]$")
_AFFILIATION: Final = re.compile(
    r"\(1\)|From the |(?:Departments?|Divisions?|School|Faculty) of|Institut|Laborator|University|Cent(?:er|re) for")


def abstract_parts(lines: Sequence[str]) -> Parts:
    """Return the parts of a citation of an "Abstract (text)" export.

    Its paragraphs are journal and date (of a book's chapter: its title), title, authors, what surrounds the paper
    (affiliations, comments, errata), abstract, copyright, identifiers. A paper may lack any but the first two.
    """
    paragraphs = _paragraphs(lines)
    head = _one_line(paragraphs[0]) if paragraphs else ""
    rest = paragraphs[1:]
    text = "\n".join(lines)
    found = _DATE.search(head)
    if found:
        venue, date = _PREPRINT.sub("", head[:found.start()]), date_of(found.group("date"))
        title = rest.pop(0) if rest and not _ASIDE.match(rest[0]) else ""
    else:
        venue, date, title = *_book(text), head
    language = ""
    if rest and (written_in := _LANGUAGE.match(rest[0])):
        language = written_in.group("language")
        rest.pop(0)
    authors = _authors(_one_line(rest[0])) if rest else []
    if authors:
        rest.pop(0)
    doi = _DOI_LINE.search(text) or _DOI.search(head)
    abstract = _one_line(" ".join(_abstract(rest)))
    return _parts(_one_line(title), abstract, authors, date, venue, doi, _last_pmid(text), language)


def summary_parts(lines: Sequence[str]) -> Parts:
    """Return the parts of a citation of a "Summary (text)" export: authors, title, journal, date, identifiers."""
    text = _ADDRESS.sub("", _one_line("\n".join(lines)))
    found = _DATE.search(text)
    before = text[:found.start()] if found else _PMID_TAIL.split(text, maxsplit=1)[0]
    end = max((match.end() for match in _SENTENCE_END.finditer(before)), default=0) if found else 0
    title, venue = (before[:end].strip(), before[end:]) if end else (before, "")
    first, stop, behind = title.partition(". ")
    authors = _authors(first + ".") if stop and behind else []
    return _parts(behind.strip() if authors else title, "", authors, date_of(found.group("date")) if found else "",
                  _PREPRINT.sub("", venue.strip()), _DOI.search(text), _last_pmid(text), "")


def _parts(title: str, abstract: str, authors: list[str], date: str, venue: str, doi: re.Match[str] | None, pmid: str,
           language: str) -> Parts:
    return Parts(title=title, abstract=abstract, authors=authors, date=date, venue=venue.strip(), language=language,
                 own_id=pmid, identifiers={"doi": normalise_doi(doi.group(1)) if doi else "", "pmid": pmid})


def _paragraphs(lines: Sequence[str]) -> list[str]:
    """Return the paragraphs between blank lines, their lines kept apart."""
    paragraphs: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            paragraphs[-1].append(line.rstrip())
        elif paragraphs[-1]:
            paragraphs.append([])
    return ["\n".join(paragraph) for paragraph in paragraphs if paragraph]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _abstract(paragraphs: Sequence[str]) -> list[str]:
    """Return the paragraphs of the abstract: all before the identifiers that are not known to be something else."""
    kept = []
    for paragraph in paragraphs:
        if paragraph.startswith(("DOI: ", "PMCID: ", "PMID: ")):
            break
        if not _ASIDE.match(paragraph):
            kept.append(paragraph)
    if len(kept) > 1 and _AFFILIATION.match(kept[0]):
        kept.pop(0)
    return kept


def _authors(text: str) -> list[str]:
    """Return the names in `Lee A(1), van der Berg B 3rd(2); The XY Group.`, none where the text is something else."""
    if not text.endswith("."):
        return []
    names: list[str] = []
    are_authors = False
    for part in _ET_AL.sub("", text[:-1]).split(";"):
        people = [name.strip() for name in part.split(",") if name.strip()]
        if sum(bool(_AUTHOR.fullmatch(name)) for name in people) * 2 > len(people):
            names += [initials_first(_MARKS.sub("", name)) for name in people]
            are_authors = True
        elif part.strip():
            names.append(_MARKS.sub("", part.strip()))
            are_authors = are_authors or bool(_GROUP_END.search(names[-1]))
    return list(dict.fromkeys(names)) if are_authors else []


def _book(text: str) -> tuple[str, str]:
    """Return the title and the date of the book that a chapter is in: `In: Adam MP, editors. Book. ... 2006 Apr 18`."""
    found = _BOOK.search(text)
    if not found:
        return "", ""
    book = found.group("book").split("\n\n", 1)[0]
    joined = _one_line(book)
    _, _, behind = joined.rpartition("editors. ") if "editors. " in joined else joined.rpartition("editor. ")
    title = _BOOK_TITLE.match(behind)
    dates = _BOOK_DATE.findall(book)
    return (title.group("title") if title else ""), (date_of(dates[-1]) if dates else "")


def _last_pmid(text: str) -> str:
    """Return the PubMed id, which stands behind all else: comments may name others."""
    numbered = _PMID.findall(text)
    lines = re.findall(r"^PMID: ?(\d{1,9})", text, re.MULTILINE)
    return pmid_in(lines[0]) if lines else pmid_in(numbered[-1]) if numbered else ""

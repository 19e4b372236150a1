"""BibTeX, for LaTeX and reference managers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Final, TextIO

from semsearch.paper import Paper, comparable
from semsearch.writers.citation import is_meeting, joined_keywords, split_name

_ESCAPES: Final = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
}
_NOT_KEY: Final = re.compile(r"[^A-Za-z0-9:./+_-]+")
_BACKSLASH_AT_WORD: Final = re.compile(r"(?<=\\textbackslash\{\})(?=[A-Za-z\"'`])")
"""Without a mark between them readers take the two for a macro that was escaped."""
_LIKE_ENTRY: Final = re.compile(r"(?<![\w.+-])@")
"""What is no address might be taken for the beginning of an entry."""
_LIGATURES: Final = re.compile(r"(?<=-)(?=-)|(?<=`)(?=`)|(?<=')(?=')")
"""Where TeX makes dashes and quotation marks of two characters."""
_GROUP_SEPARATOR: Final = re.compile(r"\band\b", re.IGNORECASE)
_CAPITALS: Final = re.compile(r"\w*[A-Z]\w*[A-Z]\w*|\w+[A-Z]\w*")
"""Words with a capital inside, such as BERT and LaTeX, which styles would set in lower case."""
_MONTHS: Final = "jan feb mar apr may jun jul aug sep oct nov dec".split()


def write_papers(papers: Iterable[Paper], stream: TextIO) -> None:
    """Write one entry for each paper; a key that was given already gets a letter more."""
    given: set[str] = set()
    for position, paper in enumerate(papers):
        key = _unique_key(paper, given)
        kind, fields = _fields(paper)
        lines = "".join(f",\n  {name} = {value}" for name, value in fields)
        stream.write(("\n" if position else "") + f"@{kind}{{{key}{lines}\n}}\n")


def escape(text: str) -> str:
    """Return `text` with the characters that TeX obeys made harmless, on one line."""
    text = "".join(c for c in " ".join(text.split()) if unicodedata.category(c) not in ("Cc", "Cs"))
    text = "".join(_ESCAPES.get(character, character) for character in text)
    text = _LIKE_ENTRY.sub("{@}", text)
    return _LIGATURES.sub("{}", _BACKSLASH_AT_WORD.sub("{}", text))


def _fields(paper: Paper) -> tuple[str, list[tuple[str, str]]]:
    """Return the kind of entry and (name, delimited value) of each field that is filled in."""
    named = dict(paper.identifiers)
    arxiv = named.get("arxiv", "")
    if paper.venue and is_meeting(paper.venue):
        kind, venue = "inproceedings", "booktitle"
    else:
        kind, venue = ("article" if paper.venue else "misc"), "journal"
    fields = [
        ("title", _braced(_as_written(paper, paper.raw_title) or _title(paper.title))),
        ("author", _braced(" and ".join(_author(author) for author in paper.authors))),
        ("year", _braced(str(paper.year or ""))),
        ("date", _braced(paper.date if len(paper.date) == len("2017-06-12") else "")),
        ("month", _MONTHS[int(paper.date[5:7]) - 1] if len(paper.date) >= len("2017-06") else ""),
        (venue, _braced(escape(paper.venue))),
        ("doi", _braced(_verbatim(paper.doi))),
        ("eprint", _braced(_verbatim(arxiv))),
        ("archiveprefix", "{arXiv}" if arxiv else ""),
        ("pmid", _braced(_verbatim(named.get("pmid", "")))),
        ("url", _braced(_verbatim(paper.url))),
        ("keywords", _braced(escape(joined_keywords(paper.categories)))),
        ("language", _braced(escape(paper.language))),
        ("abstract", _braced(_as_written(paper, paper.raw_abstract) or escape(paper.abstract))),
    ]
    return kind, [(name, value) for name, value in fields if value]


def _braced(value: str) -> str:
    return f"{{{value}}}" if value else ""


def _title(title: str) -> str:
    """Return the escaped title, words with inner capitals in braces of their own."""
    return " ".join(f"{{{escape(word)}}}" if _CAPITALS.search(word) else escape(word) for word in title.split())


def _as_written(paper: Paper, raw: str) -> str:
    """Return what the source wrote where that is LaTeX with braces in pairs, `""` elsewhere."""
    if paper.markup != "latex":
        return ""
    depth = 0
    for brace in re.findall(r"(?<!\\)[{}]", raw):
        depth += 1 if brace == "{" else -1
        if depth < 0:
            return ""
    return "" if depth else " ".join(raw.split())


def _author(name: str) -> str:
    parts = split_name(name)
    if not parts.given or _GROUP_SEPARATOR.search(name):
        return f"{{{escape(name)}}}"
    family = escape(parts.family)
    # BibTeX's own order: von Last, Jr, First (Patashnik, BibTeXing, section 4).
    return ", ".join(part for part in (family, escape(parts.suffix), escape(parts.given)) if part)


def _verbatim(text: str) -> str:
    """Return a DOI or URL as it is: packages typeset these fields verbatim; braces and backslashes would end them."""
    text = "".join(c for c in text.strip() if c.isprintable())
    return "".join(f"%{ord(c):02X}" if c in "{}\\ " else c for c in text)


def _unique_key(paper: Paper, given: set[str]) -> str:
    """Return the paper's id as a key, or author, year and first word of the title where the id says nothing."""
    decomposed = unicodedata.normalize("NFKD", paper.id)
    ascii_id = "".join(c for c in decomposed if not unicodedata.combining(c))
    base = _NOT_KEY.sub("-", ascii_id).strip("-") or _spoken_key(paper)
    key, number = base, 0
    while key.casefold() in given:
        number += 1
        key = f"{base}{_letters(number)}"
    given.add(key.casefold())
    return key


def _spoken_key(paper: Paper) -> str:
    family = comparable(split_name(paper.authors[0]).family) if paper.authors else ""
    word = next(iter(comparable(paper.title).split()), "")
    spoken = "".join(c for c in f"{family}{paper.year or ''}{word}" if c.isascii() and c.isalnum())
    return spoken or "paper"


def _letters(number: int) -> str:
    """Return 1 -> a, 26 -> z, 27 -> aa, as bibliographies tell apart works of one year."""
    letters = ""
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("a") + rest) + letters
    return letters

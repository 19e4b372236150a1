"""Heading lines of plain text lists: told from abstracts and titles, read for venue and year."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from semsearch.paper import collapse_white_space

_LONGEST: Final = 120
_MOST_WORDS: Final = 16
_BARE_WORDS: Final = 4
"""A venue and its year take no more words; a title with a year in it has more."""
_SECTION_WORDS: Final = 6

_YEAR: Final = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)", re.ASCII)
_SHORT_YEAR: Final = re.compile(r"(?<=\w)\s?['’](\d\d)(?!\d)", re.ASCII)
_SENTENCE_END: Final = re.compile(r"[.!?。！？…][\"'”’»)\]]*$")
_MARKUP: Final = re.compile(r"^(?:#{1,6}\s+|=+\s*|\*{2,}\s*|-{3,}\s*)|(?:\s*=+|\s*\*{2,}|\s*-{3,}|\s*#+)$")
_LIST_WORD: Final = re.compile(
    r"论文|列表|会议|摘要|清单|一覧|論文|목록|"
    r"\b(?:accepted|papers?|list|proceedings|abstracts?|posters?|orals?|spotlights?|notable|conference|workshop|"
    r"symposium|sessions?|track|publications|bibliography|reading|volume|journal|main|findings)\b",
    re.IGNORECASE)
_NOT_VENUE: Final = re.compile(
    r"(?:录用|接收|全部|所有)?(?:论文|論文|会议)?(?:列表|摘要|清单|一覧|合集)?|[年届]", re.IGNORECASE)
_NOT_VENUE_WORDS: Final = re.compile(
    r"\b(?:proceedings of the|proceedings of|all|accepted|papers?|list|of|proceedings|abstracts?|posters?|orals?|"
    r"spotlights?|notable|presentations?|sessions?|publications|bibliography|reading|the|from|at|in)\b", re.IGNORECASE)
_EDGE: Final = " \t,;:.-–—_()[]{}|/#*=<>\"'“”‘’·•"


@dataclass(frozen=True, slots=True)
class Heading:
    """What a heading says about the papers below it."""

    venue: str
    year: int | None


def ends_sentence(text: str) -> bool:
    """Tell whether a text ends as a sentence does."""
    return bool(_SENTENCE_END.search(text.rstrip()))


def heading_of(line: str, opens_list: bool = False) -> Heading | None:
    """Return what a heading says, None where the line is no heading.

    A heading is short, ends no sentence, and is marked as one (`# ...`, `...:`), or holds a year beside a few words, or
    words that lists have in their headings, or opens the list. Titles stay papers: they are longer, or hold neither.
    """
    text = collapse_white_space(line)
    if not text or len(text) > _LONGEST or ends_sentence(text):
        return None
    bare = _MARKUP.sub("", text).strip()
    words = bare.split()
    if not words or len(words) > _MOST_WORDS:
        return None
    year = _year_in(bare)
    list_word = bool(_LIST_WORD.search(bare))
    marked = bare != text or (text.endswith((":", "：")) and len(words) <= _SECTION_WORDS)
    if year:
        is_heading = marked or list_word or len(words) <= _BARE_WORDS
    else:
        is_heading = marked or ((list_word or opens_list) and len(words) <= _SECTION_WORDS)
    if not is_heading:
        return None
    return Heading(_venue_in(bare) if year else "", year)


def _year_in(text: str) -> int | None:
    found = _YEAR.search(text)
    if found:
        return int(found.group())
    short = _SHORT_YEAR.search(text)
    if not short:
        return None
    digits = int(short.group(1))
    return (2000 if digits < 70 else 1900) + digits


def _venue_in(text: str) -> str:
    """Return what is left of a heading without the year and the words that only say that it is a list."""
    text = _SHORT_YEAR.sub(" ", _YEAR.sub(" ", text))
    text = _NOT_VENUE.sub("", text)
    if len(text.split()) <= _SECTION_WORDS:
        text = _NOT_VENUE_WORDS.sub(" ", text)
    else:
        text = re.sub(r"^\W*(?:the\s+)?proceedings of (?:the)?\b", "", text.strip(), flags=re.IGNORECASE)
    return collapse_white_space(text).strip(_EDGE)

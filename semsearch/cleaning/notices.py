"""Publishers' notices of copyright at the beginning and the end of abstracts."""

from __future__ import annotations

import re
from typing import Final

_YEAR: Final = r"(?:1[89]|20)\d\d"
_SIGN: Final = r"(?:©|\([cC]\)|&copy;)"
_NOTICE_START: Final = re.compile(
    rf"""(?:Crown\s+)?(?:
        (?:©|&copy;|\([cC]\)(?!\s*{_YEAR}\s+[a-z]{{3}}))\s*
            (?:[Cc]opyright|COPYRIGHT)?,?\s*(?:by\s+)?(?:[Tt]he\s+)?(?:{_YEAR}|\S{{0,20}}[A-Z])
        | (?:[Cc]opyright|COPYRIGHT)\s*
          (?:{_SIGN}\s*,?\s*(?:{_YEAR}|\S{{0,20}}[A-Z])|(?:VC|\\VC)\s+{_YEAR}|(?:\(\s*)?{_YEAR}\b)
        | Copyright\s+of\s[^.]{{1,150}}\sis\s+the\s+property\s+of\s
    )""",
    re.VERBOSE,
)
_OTHER_START: Final = re.compile(
    rf"""(?:
        (?:{_YEAR}\s+)?(?:[Pp]ublished|[Pp]roduction\s+and\s+hosting)\s+by\s+[A-Z]
        | {_YEAR}\s+[A-Z][^.]{{1,60}}(?:\.\s?[A-Z]\.)?\.?,?\s+All\s+rights\s+reserved
        | All\s+rights\s+reserved\b
        | This\s+article\s+is\s+protected\s+by\s+copyright
        | \(PsycI(?:NFO|nfo)\s+Database\s+Record
        | \(ABSTRACT\s+TRUNCATED\s
        | This\s+is\s+an\s+open[\s-]access\s+article\s
    )""",
    re.VERBOSE,
)
_SIGNS: Final = ("©", "&copy;", "(c)", "(C)", "opyright", "OPYRIGHT")
_OTHER_SIGNS: Final = ("ublished", "roduction", "rights", "protected", "(Psyc", "(ABSTRACT", "access")
"""Every notice holds one of these: they are found a hundred times as fast as the patterns rule out that one begins."""
_BRACKETED_SIGN: Final = re.compile(r"\((?:[cC]\)|Psyc|ABSTRACT)")
_NOTICE_WORDS: Final = re.compile(
    rf"""(?:{_SIGN}|[Cc]opyright|(?i:rights\s+reserved|published\s+(?:online\s+)?by|open[\s-]access\s+article|licen[cs]e
    |on\s+behalf\s+of|reproduced\s+with|reprinted\s+with|property\s+of|permission|may\s+not\s+be|users\s+may
    |hosting\s+by|\babridged\b|original\s+published\s+version|warranty|abstract\s+truncated|authors?\s+retain))""",
    re.VERBOSE,
)
_SENTENCE_END: Final = re.compile(r"(?:(?<![\s.][A-Z])|(?<=\.[A-Z])|(?<=\.\s[A-Z]))[.!](?=\s+[^\sa-z&,])|[.!)]?\Z")
_COMPANY: Final = re.compile(r"(?:[A-Z]\.\s?)*(?:[A-Z]\b|Inc|Ltd|LLC|GmbH|Co|Corp|KGaA|AG|SA)\.?,?(?:\s|\Z)")
_VERB: Final = re.compile(r"\b(?i:is|are|was|were|has|have|we|this|that|can|shows?|presents?|proposes?)\b")
_BEFORE_END_NOTICE: Final = re.compile(r"(?:[.!?:;)\]\"”’»*%。])\s*\Z")
_CLEAR_START: Final = re.compile(rf"©|(?:Crown\s+)?Copyright\s+{_SIGN}")
_LONGEST_SENTENCE: Final = 300
_SHORT_NOTICE: Final = 150
"""So short and without a verb, what follows the sign is who holds the right, in whatever order it says so."""
_LONGEST_NOTICE: Final = 1500
_MOST_SENTENCES: Final = 12


def without_notices(text: str) -> str:
    """Return `text`, white space collapsed, without the notices at its beginning and its end."""
    start = _leading_notice_end(text)
    if start:
        text = text[start:].lstrip()
    return text[: _trailing_notice_start(text)].rstrip()


def _leading_notice_end(text: str) -> int:
    """Return where the notice that `text` begins with ends; 0 where it begins with none."""
    if not _NOTICE_START.match(text):
        return 0
    end = _sentence_end(text, 0)
    if end < 0 or _VERB.search(_after_first_words(text[:end])):
        return 0
    for _ in range(_MOST_SENTENCES):
        following = _skip_space(text, end)
        if following >= len(text):
            break
        next_end = _sentence_end(text, following)
        if next_end < 0 or not _is_notice(text[following:next_end], first=False):
            break
        end = next_end
    return _skip_space(text, end)


def _trailing_notice_start(text: str) -> int:
    """Return where the notice that `text` ends with begins; its length where it ends with none."""
    earliest = max(len(text) - _LONGEST_NOTICE, 0)
    end = text[earliest:]
    if not _has_sign(end):
        return len(text)
    for pattern, signs in ((_NOTICE_START, _SIGNS), (_OTHER_START, _OTHER_SIGNS)):
        if not any(sign in end for sign in signs):
            continue
        for found in pattern.finditer(text, earliest):
            start = found.start()
            if _stands_free(text, start) and _all_notice(text, start):
                return start
    return len(text)


def _has_sign(text: str) -> bool:
    """Is one of the signs in `text`, or what some of them have in common? In most texts none is."""
    return ("right" in text or "ublished" in text or "roduction" in text or "access" in text or "OPYRIGHT" in text
            or "©" in text or ("&" in text and "&copy;" in text)
            or ("(" in text and _BRACKETED_SIGN.search(text) is not None))


def _stands_free(text: str, start: int) -> bool:
    """Does a sentence end before `start`? A sign of copyright stands free after any space."""
    if start == 0:
        return True
    if not text[start - 1].isspace() and text[start - 1] not in ".)]":
        return False
    return bool(_CLEAR_START.match(text, start)) or bool(_BEFORE_END_NOTICE.search(text, max(start - 3, 0), start))


def _all_notice(text: str, start: int) -> bool:
    """Is everything from `start` on notice?"""
    if len(text) - start <= _SHORT_NOTICE and _NOTICE_START.match(text, start) and not _VERB.search(text, start):
        return True
    first = True
    for _ in range(_MOST_SENTENCES):
        if start >= len(text):
            return True
        end = _sentence_end(text, start)
        if end < 0 or not _is_notice(text[start:end], first=first):
            return False
        start, first = _skip_space(text, end), False
    return start >= len(text)


def _is_notice(sentence: str, *, first: bool) -> bool:
    """Is a sentence part of a notice: one that begins it, that has its words, or that is the rest of a name?"""
    if _NOTICE_START.match(sentence) or _OTHER_START.match(sentence):
        return True
    if first:
        return False
    if _NOTICE_WORDS.search(sentence):
        return True
    return len(sentence) <= 60 and not _VERB.search(sentence) and bool(_COMPANY.match(sentence))


def _after_first_words(sentence: str) -> str:
    return sentence[12:]


def _sentence_end(text: str, start: int) -> int:
    """Return the end of the sentence at `start`, -1 where it is too long for a notice."""
    found = _SENTENCE_END.search(text, start, min(len(text), start + _LONGEST_SENTENCE))
    if not found or (found.end() < len(text) and found.end() == start + _LONGEST_SENTENCE):
        return -1
    return found.end()


def _skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at

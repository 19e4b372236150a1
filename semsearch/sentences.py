"""Where the sentences of an abstract begin and end.

Rules and a list of abbreviations, no model: abstracts are edited prose, and a wrong cut costs a highlight that is a
little too short or too long.
"""

from __future__ import annotations

import re
from typing import Final

MOST_CHARACTERS: Final = 600
"""Longer sentences are cut: they are lists or tables more often than prose, and encoders read some 250 words."""

_LEAST_CHARACTERS: Final = MOST_CHARACTERS // 2
"""Before this no cut is looked for, so that the pieces are not slivers."""
_LOOK_BACK: Final = 40
"""How far back the word before a full stop is read, so that a text without spaces costs no more."""

_NEVER_LAST: Final = frozenset("""e.g i.e cf vs viz approx ca circa resp fig figs eq eqs eqn sect chap ch ref refs
    tab vol pp thm lem prop dr prof mr mrs st nos suppl ver incl esp a.k.a w.r.t s.t i.i.d c.f eg ie""".split())
"""Abbreviations that something always follows."""
_SELDOM_LAST: Final = frozenset("""al no sp spp subsp ssp var cv inc ltd co corp dept univ ed eds est min max sec hr
    ms aka jan feb mar apr jun jul aug sep sept oct nov dec jr sr ph.d m.d b.sc m.sc u.s u.k u.s.a e.u u.n a.m p.m d.c
    wt avg std natl proc acad sci biol mol chem phys math commun lett soc rev reprod trans""".split())
"""Abbreviations that may end a sentence: only a word that often begins one tells."""
_BEGINNERS: Final = frozenset("""a an the this that these those we our they their it its he she his her there here in on
    at by for from with without to as if when while although though however moreover furthermore finally thus therefore
    hence then also both each all some many most several such after before during since because despite unlike one two
    first second third next additionally similarly conversely nevertheless overall i you what which how why where who
    experiments results conclusion conclusions background methods objective using based given under between among
    through over until further no not""".split())
_LABELS: Final = """BACKGROUND|INTRODUCTION|OBJECTIVES?|AIMS?|PURPOSE|RATIONALE|CONTEXT|HYPOTHESIS|METHODS?|METHODOLOGY|
    DESIGN|SETTING|PARTICIPANTS|PATIENTS|SUBJECTS|INTERVENTIONS?|MEASUREMENTS|MEASURES|DATA SOURCES|STUDY SELECTION|
    DATA EXTRACTION|RESULTS?|FINDINGS|DISCUSSION|CONCLUSIONS?|INTERPRETATION|IMPLICATIONS|SIGNIFICANCE|LIMITATIONS|
    SUMMARY|FUNDING|TRIAL REGISTRATION""".replace("\n", "").replace("    ", "")
_BEFORE_LABELS: Final = "MATERIALS? AND |PATIENTS AND |SUBJECTS AND |MAIN OUTCOME |MAIN |STUDY |PRINCIPAL |KEY "


def _capitalised(alternatives: str) -> str:
    """Return the alternatives as they are and with all letters but the first small, "and" small."""
    titled = re.sub(r"[A-Z]+", lambda word: "and" if word[0] == "AND" else word[0].capitalize(), alternatives)
    return f"{alternatives}|{titled}"


_CANDIDATE: Final = re.compile(
    r"(?P<stop>[.!?…]+)(?P<closing>[\"'”’»)\]]*)"
    r"|(?P<wide>[。！？｡।؟]+[」』”’）》〉]*)"
    r"|(?P<paragraph>\n\s*\n)"
    r"|(?P<item>[•‣▪●◦]|\n[^\S\n]*[-*–—](?=\s))"
    rf"|(?P<label>(?<![\w-])(?:{_capitalised(_BEFORE_LABELS)})?(?:{_capitalised(_LABELS)}):(?=\s))")
_AFTER: Final = re.compile(r"(\s*)([\"'“‘«(\[¿¡]*)(\S{0,24})")
_WORD: Final = re.compile(r"[^\W\d_]+")
_INITIAL: Final = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]|[A-ZÀ-ÖØ-Þ]")
_ENUMERATOR: Final = re.compile(r"\(?(?:\d{1,2}|[ivxa-h]{1,4})")
_GLUED_BEFORE: Final = re.compile(r"(?:[\w-]*[a-z\u00df-\u00ff]{2}|[A-Z]{2,}s|.*[\])%])[\])%]*")
_GLUED_AFTER: Final = re.compile(r"[A-Z][a-z]*(?:[,:;-]|$)")
_GLUED_NAME_AFTER: Final = re.compile(r"[A-Z][\w-]*(?:[,:;]|$)")
_PLAIN_WORD: Final = re.compile(r"[a-z]{4,}[\])]*")
_SPACED_DECIMAL: Final = re.compile(r"[<>=]*\d{0,2}")
_DECIMALS: Final = re.compile(r"\d{2,}|\d(?![\d.)])")
_LETTER: Final = re.compile(r"[^\W\d_]")
_CUTS: Final = (re.compile(r".*[,;:，、；：](?=\s)|.*[，、；：]", re.DOTALL), re.compile(r".*(?=\s)", re.DOTALL))


def split_sentences(text: str) -> list[tuple[int, int]]:
    """Return the (start, end) offsets of the sentences of a text, in order.

    They do not overlap, begin and end with a character that is no white space, and leave nothing but white space out.
    None is longer than 600 characters: longer ones are cut, at a comma where there is one. A heading such as
    `METHODS:` begins the sentence that it stands before. The time taken grows with the length of the text.
    """
    spans: list[tuple[int, int]] = []
    for start, end in _lettered(text, _trimmed(text, _boundaries(text))):
        spans += _cut(text, start, end)
    return spans


def _boundaries(text: str) -> list[int]:
    """Return the offsets at which sentences end and the next may begin, increasing; the last is the text's length."""
    found = []
    start = 0
    has_case = not text.islower()
    for candidate in _CANDIDATE.finditer(text):
        if candidate["label"] is not None or candidate["item"] is not None:
            place = candidate.start()
        elif candidate["stop"] is None or _ends_sentence(text, start, candidate, has_case):
            place = candidate.end()
        else:
            continue
        if place > start:
            found.append(place)
            start = place
    return [*found, len(text)]


def _ends_sentence(text: str, start: int, stop: re.Match[str], has_case: bool) -> bool:
    """Return whether a sentence that began at `start` ends with the full stop, question or exclamation mark."""
    after = _AFTER.match(text, stop.end())
    if after is None or not after[3]:
        return True
    begin = max(start, stop.start() - _LOOK_BACK)
    before = text[begin:stop.start()]
    if not after[1]:
        return stop["stop"] == "." and _is_glued(before, stop["closing"], after)
    if before[-1:].isspace() and stop["stop"] == ".":  # "word . next", as some corpora are tokenised
        return True
    word = (before.split() or [""])[-1].lstrip("([\"'“‘«")
    if _ENUMERATOR.fullmatch(before.strip()) and begin == start:
        return False
    if _SPACED_DECIMAL.fullmatch(word) and _DECIMALS.match(after[3]):  # "p < 0. 05"
        return False
    if stop["stop"] == "." and not stop["closing"]:
        told = _by_abbreviation(word, after)
        if told is not None:
            return told
    return _may_begin(after, has_case)


def _by_abbreviation(word: str, after: re.Match[str]) -> bool | None:
    """Return whether a sentence ends after an abbreviation, None where `word` is none."""
    lowered = word.lower() if "." in word or word[1:].islower() else word  # IE, ST and MRs are none
    if lowered in _NEVER_LAST:
        return False
    if lowered in _SELDOM_LAST or _INITIAL.fullmatch(word):
        return not after[2] and after[3][0].isupper() and _first_word(after) in _BEGINNERS
    return None


def _may_begin(after: re.Match[str], has_case: bool) -> bool:
    """Return whether what follows looks like the beginning of a sentence."""
    beginning = after[3]
    if not beginning[0].islower() or not has_case:
        return beginning[0] not in ",;:)]"
    # p53, mRNA and the like begin sentences too; words all in small letters do not.
    return any(c.isdigit() or c.isupper() for c in beginning)


def _is_glued(before: str, closing: str, after: re.Match[str]) -> bool:
    """Return whether a full stop without a space after it stands between two sentences ("a model.We show")."""
    word = re.split(r"[\s,;(\[\"'“‘]", before)[-1]
    if "." in word or "/" in word or "@" in word or after[2] or word.lower() in _NEVER_LAST:
        return False
    closed = word + closing
    return bool((_GLUED_BEFORE.fullmatch(closed) and _GLUED_AFTER.match(after[3]))
                or (_PLAIN_WORD.fullmatch(closed) and _GLUED_NAME_AFTER.match(after[3])))


def _first_word(after: re.Match[str]) -> str:
    word = _WORD.match(after[3])
    return word[0].lower() if word else ""


def _trimmed(text: str, boundaries: list[int]) -> list[tuple[int, int]]:
    """Return what lies between boundaries, white space at its ends left out."""
    spans = []
    start = 0
    for end in boundaries:
        piece = text[start:end]
        inner = piece.strip()
        if inner:
            begin = start + len(piece) - len(piece.lstrip())
            spans.append((begin, begin + len(inner)))
        start = end
    return spans


def _lettered(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the spans, those without a letter joined to the next, at the end of the text to the one before."""
    joined: list[tuple[int, int]] = []
    waiting: int | None = None
    for start, end in spans:
        begin = start if waiting is None else waiting
        waiting = None if _LETTER.search(text, start, end) else begin
        if waiting is None:
            joined.append((begin, end))
    if waiting is not None:
        last = joined.pop() if joined else (waiting, waiting)
        joined.append((last[0], spans[-1][1]))
    return joined


def _cut(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return a sentence in pieces of at most 600 characters."""
    pieces = []
    while end - start > MOST_CHARACTERS:
        window = text[start + _LEAST_CHARACTERS:start + MOST_CHARACTERS]
        place = next((found.end() for found in (cut.match(window) for cut in _CUTS) if found and found.end()),
                     len(window))
        stop = start + _LEAST_CHARACTERS + place
        pieces.append((start, start + len(text[start:stop].rstrip())))
        start = stop
        while text[start].isspace():
            start += 1
    return [*pieces, (start, end)]

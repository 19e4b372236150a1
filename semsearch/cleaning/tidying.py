"""Text without the traces of typesetting and of copying: one form of each character, one space, whole words."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from semsearch.paper import collapse_white_space

_UNUSUAL: Final = re.compile(
    r"[^\x20-\x7e\xa1-\xac\xae-\u02ff\u0391-\u03a1\u03a3-\u03c9\u2010-\u2015\u2018-\u2027\u2030-\u2046\u2190-\u2211]"
)
"""All but characters that stand for themselves in NFC whatever follows, that can be seen, and the single space."""
_INVISIBLE: Final = re.compile(
    "[\u00ad\u034f\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff]"
)
_JOINER: Final = re.compile("[\u200c\u200d]+")
_NO_JOINER_AFTER: Final = "[\x00-\u058f\u1e00-\u2e7f]"
_STRAY_JOINERS: Final = re.compile(f"(?:^|(?<={_NO_JOINER_AFTER}))[\u200c\u200d]+")
"""Joiners belong to the spelling of Arabic and Indic scripts and of emoji, and are dirt after all other characters."""

_COMPATIBILITY: Final = re.compile("[\ufb00-\ufb06\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\U0001d400-\U0001d7ff]+")
"""Latin ligatures, full-width letters and digits, letters of mathematical alphabets."""

_BROKEN_WORD: Final = re.compile(r"(?<=[^\W_])(?:[-\u2010][ \t]{0,8}|\u00ad)(?:\r\n?|[\n\u2028])[ \t]{0,40}(?=[^\W_])")
_LEFT: Final = re.compile(r"[^\W_]++\Z")
_RIGHT: Final = re.compile(r"[^\W_]++")
_LONGEST_WORD: Final = 40
_SUSPENDED: Final = frozenset("and or und oder to nor versus vs".split())
_COMPOUND: Final = frozenset(
    """all anti art best cross data domain double down end ever fast fine first five follow four free full goal half
    hand hard high higher human ill just key large last least left less light long low lower machine many mid model
    most multi near new non off old on one open out peer point post pre problem quasi random rate real right robust
    second self semi short single size slow small so soft state sub task task third three time top trade two ultra
    under up user well wide world zero""".split()
)  # fmt: skip
"""First halves of words that English writes with a hyphen. They are hardly ever the first half of a word cut in two:
a cut follows the syllables, and most of these are whole words. `multi`, `sub`, `non`, `pre` and others are written
both ways; with the hyphen both parts can be searched."""


def tidy(text: str) -> str:
    """Return `text` in Unicode NFC, without what cannot be seen, its words whole and its white space single spaces.

    Ligatures (ﬁ), full-width Latin letters and digits, and letters of mathematical alphabets (𝒩) become plain letters:
    they mean the same, and neither a search nor the tokenizer of a model knows them. Full-width punctuation, half-width
    kana, ², ½ and ™ stay, because there the form is part of the text.

    A word cut at the end of a line is joined. The hyphen stays where it belongs to the word: after an earlier hyphen
    (state-of-/the-art), before a later one, beside a digit or a capital letter, after a word that makes compounds
    (well-/known), and where the text spells the word with a hyphen elsewhere; a suspended hyphen (pre- and post-)
    keeps its space.
    """
    is_usual = text.isprintable() if text.isascii() else not _UNUSUAL.search(text)
    if is_usual and "  " not in text and text[:1] != " " and text[-1:] != " ":
        return text
    text = _join_broken_words(text)
    text = _INVISIBLE.sub("", text)
    text = collapse_white_space(_COMPATIBILITY.sub(_plain, text))
    return collapse_white_space(_STRAY_JOINERS.sub("", text)) if _JOINER.search(text) else text


def _plain(found: re.Match[str]) -> str:
    return unicodedata.normalize("NFKC", found[0])


def _join_broken_words(text: str) -> str:
    """Return `text` with the words that line ends cut in two made whole."""
    if "\n" not in text and "\r" not in text and "\u2028" not in text:
        return text
    hyphenated: set[str] | None = None

    def joined(found: re.Match[str]) -> str:
        nonlocal hyphenated
        if found[0].startswith("\u00ad"):
            return ""
        left = _LEFT.search(text, max(found.start() - _LONGEST_WORD, 0), found.start())
        right = _RIGHT.match(text, found.end(), found.end() + _LONGEST_WORD)
        if not left or not right:
            return "-"
        if right[0] in _SUSPENDED:
            return "- "
        if _keeps_hyphen(text, left, right):
            return "-"
        if hyphenated is None:
            hyphenated = set(_HYPHENATED.findall(text.lower()))
        return "-" if f"{left[0]}-{right[0]}".lower() in hyphenated else ""

    return _BROKEN_WORD.sub(joined, text)


_HYPHENATED: Final = re.compile(r"(?<![\w-])[^\W_]{1,40}-[^\W_]{1,40}(?![\w-])")


def _keeps_hyphen(text: str, left: re.Match[str], right: re.Match[str]) -> bool:
    """Does the hyphen at a line end belong to the word, going by what stands around it?"""
    in_compound = left.start() > 0 and text[left.start() - 1] in "-\u2010"
    compound_follows = text[right.end() : right.end() + 1] in ("-", "\u2010")
    lower_case = right[0].islower() and left[0].isalpha() and (left[0].islower() or left[0].istitle())
    return in_compound or compound_follows or not lower_case or left[0].lower() in _COMPOUND or len(left[0]) == 1

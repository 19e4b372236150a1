"""Texts -> their words between spaces, as tantivy gets them to index.

Its tokenizer for regular expressions takes longer than all that follows. Nearly every text can be cut by what Python
does for a whole text at once; what cannot is cut by that tokenizer here, so that the words are the same.
"""

from __future__ import annotations

import re
from typing import Final

from tantivy import TextAnalyzerBuilder, Tokenizer

from semsearch.index.lexical_analysis import WORD, Analyser, text_analyzer

_CAPITALS: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_PUNCTUATION: Final = "\u2018\u2019\u201c\u201d\u2013\u2014\u2010\u2022\u2026\u00b7\u00d7\u00b0"
"""The commonest characters outside ASCII. None is in a word, and two stand for a hyphen before a digit."""
_LETTERS: Final = ("\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u012f\u0131\u0134-\u013e\u0141-\u0148\u014a-\u017e"
                   "\u0391-\u03a1\u03a3-\u03a9\u03b1-\u03c9")
"""Letters of words that `Analyser.prepare` leaves as they are."""
_MARK: Final = "\x01"
_BEYOND: Final = re.compile(f"[^\x00\x02-\x7f{_LETTERS}]")
_DASH_AND_DIGIT: Final = re.compile(r"[\u2010\u2013][0-9](?![0-9A-Za-z_])")
_HYPHEN_AND_DIGIT: Final = re.compile(r"-([0-9])(?!\w)")
_SPACED: Final = bytes(byte if byte > 127 or chr(byte).isalnum() or byte == ord("_") else
                       ord("-") if byte == ord(_MARK) else ord(" ") for byte in range(256))
"""What becomes of each byte of UTF-8: what no word has in it becomes a space."""


class Cutter:
    """Cuts texts into words, of which `tokenizer` makes the terms that the analyser makes of the texts."""

    def __init__(self, analyser: Analyser) -> None:
        self.tokenizer = text_analyzer(analyser.language, Tokenizer.whitespace())
        self._analyser = analyser
        self._cut_any = TextAnalyzerBuilder(Tokenizer.regex(WORD)).build()

    def cut(self, text: str) -> str:
        """Return the words of a text, prepared, between spaces."""
        cut = None if self._analyser.language == "turkish" else _cut_common(text)
        return " ".join(self._cut_any.analyze(self._analyser.prepare(text))) if cut is None else cut


def _cut_common(text: str) -> str | None:
    """Return the words of a text between spaces, None where a character in it may need more care."""
    if not text.isascii():
        if _DASH_AND_DIGIT.search(text):
            return None
        for sign in _PUNCTUATION:
            text = text.replace(sign, " ")
        if _BEYOND.search(text):
            return None
    elif _MARK in text:
        return None
    if "-" in text:
        text = _HYPHEN_AND_DIGIT.sub(rf" {_MARK}\1 ", text)
    words = text.encode().translate(_SPACED).decode().split()
    return " ".join([word for word in words if len(word) > 1 or word in _CAPITALS])

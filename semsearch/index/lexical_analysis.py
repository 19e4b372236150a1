"""Text -> terms: how papers and questions become the words that are compared.

Words of two or more letters and digits, lower-cased, without accents, stop words left out, the rest stemmed. Of single
characters only capitals count (vitamin C, the language R, C++) and a digit after a hyphen (IL-2, GPT-4): others are in
so many papers that they cost time and tell nothing apart. On SciFact nDCG@10 of BM25 is .683 with these, .677 without
and .684 with all single letters and digits; on Cranfield .523, .523 and .521. Scripts that put no space between words
are compared by overlapping pairs of characters. Papers and questions pass through the same steps, and every term knows
where in the text it stood.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from semsearch.errors import UsageError
from semsearch.index.manifest import DEFAULT_LANGUAGE

NO_LANGUAGE: Final = "none"
_WITHOUT_STOP_WORDS: Final = frozenset({"arabic", "greek", "romanian", "tamil", "turkish"})
LANGUAGES: Final = ("arabic", "danish", "dutch", "english", "finnish", "french", "german", "greek", "hungarian",
                    "italian", "norwegian", "portuguese", "romanian", "russian", "spanish", "swedish", "tamil",
                    "turkish", NO_LANGUAGE)
_LONGEST_TERM_BYTES: Final = 256
"""A longer run of letters and digits is no word but data; it is left out."""

# Han, kana, bopomofo, Hangul, Thai, Lao, Khmer, Myanmar. Hangul has spaces, but particles stick to its words.
_UNSPACED_RANGES: Final = (
    (0x0E01, 0x0E3A), (0x0E40, 0x0E4E), (0x0E81, 0x0ECE), (0x0EDC, 0x0EDF), (0x1000, 0x103F), (0x1050, 0x108F),
    (0x109A, 0x109D), (0x1100, 0x11FF), (0x1780, 0x17D3), (0x17D7, 0x17D7), (0x17DC, 0x17DD), (0x2E80, 0x2FD5),
    (0x3005, 0x3007), (0x3021, 0x3029), (0x3038, 0x303B), (0x3041, 0x3096), (0x3099, 0x309A), (0x309D, 0x309F),
    (0x30A1, 0x30FA), (0x30FC, 0x30FF), (0x3105, 0x312F), (0x3131, 0x318E), (0x31A0, 0x31BF), (0x31F0, 0x31FF),
    (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xA960, 0xA97C), (0xA9E0, 0xA9EF), (0xA9FA, 0xA9FE), (0xAA60, 0xAA7F),
    (0xAC00, 0xD7FB), (0xF900, 0xFAD9), (0x1AFF0, 0x1B16F), (0x20000, 0x323AF))
_UNSPACED_RUN: Final = re.compile("[" + "".join(f"{chr(a)}-{chr(b)}" for a, b in _UNSPACED_RANGES) + "]+")
_UNSPACED: Final = "[" + "".join(rf"\x{{{a:X}}}-\x{{{b:X}}}" for a, b in _UNSPACED_RANGES) + "]"
WORD: Final = rf"\w\w+|[A-Z]|[-\x{{2010}}\x{{2013}}]\d\b|{_UNSPACED}"

# Left out wherever they stand: what is inside a word without being a letter of it (soft hyphens, joiners, marks of
# direction), and marks above letters that are optional in writing (accents, Hebrew and Arabic vowels).
_LEFT_OUT: Final = ("\u00ad\u034f\u200e\u200f\u2060-\u2064\u202a-\u202e\u2066-\u2069\ufe00-\ufe0f\ufeff"
                    "\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0640\u064b-\u0652\u0670")
_LEFT_OUT_CLASS: Final = re.compile(f"[{_LEFT_OUT}]")
_DOTTED_I: Final = "\u0130"
_DOTLESS_I: Final = "\u0131"


# What English questions and abstracts say whatever they are about; left out of what is asked, while papers keep it, so
# that phrases find it. On questions that nothing was chosen by it costs nothing and gains a little: docs/quality.md.
_HABITUAL: Final = """
i my me you your he him his she her we us our they them their its itself themselves
this these that those which what how why when where who whose than then there here
can could may might do does did has have had been
am been being also between both each other from more most such some any all not no
use uses used using based show shows present propose paper new
"""


@dataclass(frozen=True, slots=True)
class TermSpan:
    """A term, its position among the terms of its text, and the characters `[start, end)` of the text it came from."""

    term: str
    position: int
    start: int
    end: int


def check_language(language: str) -> str:
    """Return `language` where it is one that texts can be stemmed in, or `none`.

    Raises:
        UsageError: it is not; the message lists those that are.
    """
    if language not in LANGUAGES:
        raise UsageError(f"Words cannot be compared in the language {language!r}.",
                         f"Use one of: {', '.join(LANGUAGES)}.")
    return language


class Analyser:
    """Turns texts of one language into terms."""

    def __init__(self, language: str) -> None:
        self.language = check_language(language)
        self.tokenizer = text_analyzer(language, Tokenizer.regex(WORD))
        self._is_turkish = language == "turkish"
        self.habitual = frozenset(self.terms(_HABITUAL) if language == DEFAULT_LANGUAGE else ())

    def terms(self, text: str) -> list[str]:
        """Return the terms of a text, in order, repeated as often as they stand there."""
        return list(self.tokenizer.analyze(self.prepare(text)))

    def phrase(self, text: str) -> tuple[tuple[int, str], ...]:
        """Return (position, term) of a text; positions begin with 0 and count the stop words that are left out."""
        tokens = self.tokenizer.pre_tokenize(self.prepare(text)).tokens
        first = tokens[0].position if tokens else 0
        return tuple((token.position - first, token.text) for token in tokens)

    def prepare(self, text: str) -> str:
        """Return a text as it is cut into words: folded, and unspaced scripts as pairs of characters."""
        if text.isascii():
            return text.replace("I", _DOTLESS_I) if self._is_turkish else text
        return _UNSPACED_RUN.sub(_pairs, self._fold(unicodedata.normalize("NFKC", _encodable(text))))

    def spans(self, text: str) -> Iterator[TermSpan]:
        """Yield every term with the place in the text that it came from."""
        folded: list[str] = []
        sources: list[tuple[int, int]] = []
        for start, end in _clusters(_encodable(text)):
            part = self._fold(unicodedata.normalize("NFKC", _encodable(text[start:end])))
            folded.append(part)
            sources += [(start, end)] * len(part)
        places = _places_in_pairs("".join(folded))
        prepared = _UNSPACED_RUN.sub(_pairs, "".join(folded))
        for token in self.tokenizer.pre_tokenize(prepared).tokens:
            first, last = places[token.char_offset_from], places[token.char_offset_to - 1]
            yield TermSpan(token.text, token.position, sources[first][0], sources[last][1])

    def _fold(self, text: str) -> str:
        if self._is_turkish:
            text = text.replace("I", _DOTLESS_I)
        return _LEFT_OUT_CLASS.sub("", text.replace(_DOTTED_I, "i" if self._is_turkish else "I"))


def text_analyzer(language: str, tokenizer: Tokenizer) -> TextAnalyzer:
    """Return what makes terms of the words that `tokenizer` finds in a prepared text."""
    builder = TextAnalyzerBuilder(tokenizer).filter(Filter.remove_long(_LONGEST_TERM_BYTES))
    builder = builder.filter(Filter.lowercase())
    if language == NO_LANGUAGE:
        return builder.filter(Filter.ascii_fold()).build()
    if language not in _WITHOUT_STOP_WORDS:
        builder = builder.filter(Filter.stopword(language))
    if language == DEFAULT_LANGUAGE:  # whose words are the same with and without accents
        return builder.filter(Filter.ascii_fold()).filter(Filter.stemmer(language)).build()
    return builder.filter(Filter.stemmer(language)).filter(Filter.ascii_fold()).build()


def _pairs(run: re.Match[str]) -> str:
    text = run[0]
    return f" {' '.join(text[i:i + 2] for i in range(len(text) - 1)) or text} "


def _places_in_pairs(text: str) -> list[int]:
    """Return for each character that `_pairs` makes of `text` the place in `text` it comes from, -1 for a space."""
    places: list[int] = []
    done = 0
    for run in _UNSPACED_RUN.finditer(text):
        places += [*range(done, run.start()), -1]
        done = run.end()
        if done - run.start() == 1:
            places += [run.start(), -1]
        for place in range(run.start(), done - 1):
            places += [place, place + 1, -1]
    return [*places, *range(done, len(text))]


def _clusters(text: str) -> Iterator[tuple[int, int]]:
    """Yield [start, end) of the parts of a text whose normal forms, joined, are the normal form of the text."""
    start = 0
    for place in range(1, len(text)):
        if not text[place].isascii() and _belongs(text[start:place], text[place]):
            continue
        yield start, place
        start = place
    if text:
        yield start, len(text)


def _belongs(cluster: str, character: str) -> bool:
    if unicodedata.combining(character):
        return True
    whole = unicodedata.normalize("NFKC", cluster + character)
    return whole != unicodedata.normalize("NFKC", cluster) + unicodedata.normalize("NFKC", character)


def _encodable(text: str) -> str:
    """Return a text without lone surrogates, of the same length."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text

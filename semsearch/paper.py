"""A paper: what is searched, and the text of it that is embedded."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass
from typing import Final

TEXT_KEY_BYTES: Final = 16
"""Length of a text key. 128 bits make a collision among 10^9 texts less likely than 10^-20."""

_WHITE_SPACE: Final = re.compile(r"\s+")
_CONTROL: Final = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ud800-\udfff]")
"""Control characters that are no white space, and surrogates, which no encoding can write."""
_SENTENCE_END: Final = re.compile(r"(?<=[.!?。！？])\s+(?=[^\sa-z])|(?<=[。！？])")
_NOT_WORD: Final = re.compile(r"[\W_]+")
_ASCII_WORDS: Final = bytes(byte if chr(byte).isalnum() else ord(" ") for byte in range(128)) + bytes(128)
_DATE: Final = re.compile(r"^(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?$", re.ASCII)
_STAND_IN_TITLE_CHARACTERS: Final = 200


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper as a reader found it or as an index holds it.

    `id` is what the record calls itself; an index may add a suffix where two works claim one id.
    `date` is ISO 8601 with the precision that is known: `""`, `YYYY`, `YYYY-MM` or `YYYY-MM-DD`.
    `identifiers` holds (kind, value) pairs, values as `semsearch.identifiers` normalises them. Kinds: `doi`, `arxiv`,
    `pmid`, `acl`, `openalex`, `s2`; and `id:<space>` for an id that is unique in the space named, where two different
    values mean two different papers (`id:jsonl`, `id:csv`, `id:bibtex:<file>`).
    `title_stands_in` is true where the source has no titles and the first sentence of the abstract is shown instead:
    such a title is neither embedded nor used to merge.
    `raw_title` and `raw_abstract` hold what the source wrote where cleaning changed it, `""` elsewhere; `markup` says
    what they are written in: `latex` or `html`.
    """

    id: str
    title: str = ""
    abstract: str = ""
    authors: tuple[str, ...] = ()
    year: int | None = None
    date: str = ""
    venue: str = ""
    categories: tuple[str, ...] = ()
    url: str = ""
    doi: str = ""
    language: str = ""
    identifiers: tuple[tuple[str, str], ...] = ()
    title_stands_in: bool = False
    raw_title: str = ""
    raw_abstract: str = ""
    markup: str = ""

    @property
    def text(self) -> str:
        """The text that is embedded: title, then abstract.

        Joined by one space, as the collections in BEIR layout are measured (BEIR, Thakur et al. 2021, section 4).
        """
        if self.title_stands_in:
            return self.abstract
        return f"{self.title} {self.abstract}".strip()

    @property
    def text_key(self) -> bytes:
        """The first 16 bytes of the SHA-256 of `text`: with the encoder's fingerprint, all that a vector depends on."""
        return text_key(self.text)


def text_key(text: str) -> bytes:
    """Return the key of a text: the first 16 bytes of its SHA-256 in UTF-8."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:TEXT_KEY_BYTES]


def collapse_white_space(text: str) -> str:
    """Return `text` in Unicode NFC, each run of white space one space, control characters dropped."""
    if text.isprintable() and "  " not in text:  # no control character, and no white space but single spaces
        return text.strip() if text.isascii() else unicodedata.normalize("NFC", text).strip()
    text = unicodedata.normalize("NFC", _CONTROL.sub("", text))
    return _WHITE_SPACE.sub(" ", text).strip()


def comparable(text: str) -> str:
    """Return `text` without case, diacritics and punctuation, for comparing titles and names."""
    if text.isascii():
        return " ".join(text.lower().encode().translate(_ASCII_WORDS).decode().split())
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    if not decomposed.isascii():
        decomposed = "".join([c for c in decomposed if c < "\u0300" or not unicodedata.combining(c)])
    return _NOT_WORD.sub(" ", decomposed).strip()


def first_sentence(text: str) -> str:
    """Return the first sentence of an abstract, cut at 200 characters, to be shown where there is no title."""
    sentence = _SENTENCE_END.split(text.strip(), maxsplit=1)[0]
    if len(sentence) <= _STAND_IN_TITLE_CHARACTERS:
        return sentence
    return f"{sentence[:_STAND_IN_TITLE_CHARACTERS].rsplit(' ', 1)[0].rstrip(' ,;:')} ...".lstrip()


def paragraph_id(paragraph: str) -> str:
    """Return the id of a paragraph of a plain text list: the first 12 hex digits of a SHA-256.

    The raw paragraph is hashed with its white space collapsed and nothing else cleaned, so that the id survives
    reordering, growth of the list and better cleaning. 48 bits: a collision among a million paragraphs has a chance
    below 0.2 %, and the index gives a colliding work a suffix.
    """
    collapsed = _WHITE_SPACE.sub(" ", paragraph).strip()
    return hashlib.sha256(collapsed.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def content_id(title: str, abstract: str, authors: tuple[str, ...], year: int | None) -> str:
    """Return an id for a record that has no identifier at all: 12 hex digits over what it says."""
    parts = "\x1f".join((comparable(title), comparable(abstract), comparable(" ".join(authors)), str(year or "")))
    return hashlib.sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def normalise_date(text: str) -> str:
    """Return an ISO date of known precision, `""` where `text` is none (month 13, 30 February, words)."""
    import datetime

    found = _DATE.match(text.strip())
    if not found:
        return ""
    year, month, day = found.groups()
    try:
        datetime.date(int(year), int(month or 1), int(day or 1))
    except ValueError:
        return ""
    return text.strip()

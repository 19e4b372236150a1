"""Text for a terminal: nothing in it that a terminal obeys, and no line wider than it should be."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

# C0 and C1 controls (escape sequences begin with one), and the overrides that turn the rest of a line around
# (Unicode Bidirectional Algorithm, UAX #9, section 2).
_OBEYED: Final = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u202a-\u202e\u2066-\u2069\ufff9-\ufffb]")
_END_OF_LINE: Final = re.compile("\r\n|[\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029]")
_ESCAPE_SEQUENCE: Final = re.compile(
    "\x1b\\[[0-?]*[ -/]*[@-~]|\x9b[0-?]*[ -/]*[@-~]|\x1b[\\]PX^_].*?(?:\x1b\\\\|\x07|\x9c|$)|\x1b.?", re.DOTALL)


def printable(text: str) -> str:
    """Return `text` as one line without escape sequences, control characters and lone surrogates."""
    if text.isascii() and text.isprintable():
        return text
    text = _END_OF_LINE.sub(" ", _ESCAPE_SEQUENCE.sub("", text))
    return _OBEYED.sub("", text).encode("utf-8", "replace").decode("utf-8")


def display_width(text: str) -> int:
    """Return how many columns `text` takes: wide East Asian characters two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(_character_width(c) for c in text)


def wrap(text: str, width: int, most_lines: int | None = None) -> list[str]:
    """Return `text` in lines of at most `width` columns; where lines are left out, the last ends with an ellipsis.

    Words are kept whole where they fit; scripts without spaces break anywhere.
    """
    lines: list[str] = []
    line = ""
    for word in printable(text).split():
        joined = f"{line} {word}" if line else word
        if display_width(joined) <= width:
            line = joined
            continue
        if line:
            lines.append(line)
        *full, line = _pieces(word, width)
        lines += full
        if most_lines is not None and len(lines) > most_lines:
            break
    if line:
        lines.append(line)
    if most_lines is not None and len(lines) > most_lines:
        lines = lines[:most_lines]
        words = lines[-1].split(" ")
        while len(words) > 1 and display_width(" ".join(words)) + 2 > width:
            words.pop()
        lines[-1] = shorten(" ".join(words) + " …", width)
    return lines


def shorten(text: str, width: int) -> str:
    """Return `text` cut to `width` columns, with an ellipsis where it was cut."""
    text = printable(text)
    if display_width(text) <= width:
        return text
    kept = _pieces(text, max(width - 1, 1))[0]
    return kept.rstrip(" ,;:.…") + "…"


def pad(text: str, width: int) -> str:
    """Return `text` filled with spaces to `width` columns."""
    return text + " " * (width - display_width(text))


def _pieces(word: str, width: int) -> list[str]:
    """Return a text cut into pieces of at most `width` columns, at least one character each."""
    pieces, piece, columns = [], "", 0
    for character in word:
        wide = _character_width(character)
        if piece and columns + wide > width:
            pieces.append(piece)
            piece, columns = "", 0
        piece += character
        columns += wide
    return [*pieces, piece]


def _character_width(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1

"""Text in lines for a terminal, some of its characters marked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from semsearch.writers.display import wrap

# Format characters of musical notation (Unicode 16, section 21.2), which take no columns: they go through wrapping as
# part of the words that they stand beside. A text's own are left out.
_BEGIN: Final = "\U0001d173"
_END: Final = "\U0001d174"
_MARKS: Final = re.compile(f"([{_BEGIN}{_END}])")


class Piece(NamedTuple):
    """A part of a line, marked or not."""

    text: str
    marked: bool


def wrap_marked(text: str, spans: Sequence[tuple[int, int]], width: int, most_lines: int | None = None
                ) -> list[list[Piece]]:
    """Return `text` in lines as `wrap` makes them, each in pieces, marked where they lie in one of the spans.

    `spans`: (start, end) offsets into `text`, in order and without overlap; what lies outside of the text is left out.
    """
    parts = []
    done = 0
    for start, end in spans:
        start, end = max(start, done), min(end, len(text))
        if text[start:end].strip():  # a mark around white space would be a word of its own
            end = start + len(text[start:end].rstrip())
            start = end - len(text[start:end].lstrip())
            parts += [_bare(text[done:start]), _BEGIN, _bare(text[start:end]), _END]
            done = end
    parts.append(_bare(text[done:]))
    lines = []
    marked = False
    for line in wrap("".join(parts), width, most_lines):
        pieces: list[Piece] = []
        for part in _MARKS.split(line):
            if part in (_BEGIN, _END):
                marked = part == _BEGIN
            elif part:
                pieces.append(Piece(part, marked))
        lines.append(pieces)
    return lines


def _bare(text: str) -> str:
    return text if text.isascii() else _MARKS.sub("", text)

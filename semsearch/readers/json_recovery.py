"""Going on behind a broken element of a JSON document."""

from __future__ import annotations

import re
from typing import Final

from semsearch.readers.window import TextWindow

_SCALAR: Final = r'(?:"(?:[^"\\]|\\.){0,500}+"|[^\s,"\[\]{}]{1,40}+)'
_FIRST_KEYS: Final = re.compile(
    rf'\{{\s*"((?:[^"\\]|\\.){{1,100}}+)"\s*:\s*(?:{_SCALAR}\s*,\s*"((?:[^"\\]|\\.){{1,100}}+)"\s*:)?', re.DOTALL
)
_INDENT: Final = re.compile(r"\n([ \t]{0,64})\Z")
_NEXT_OBJECT: Final = re.compile(r'\}\s*,\s*\{(?=\s*")')
_PIECES: Final = re.compile(r'"(?:[^"\\]|\\.)*+"|["\[\]{}]', re.DOTALL)
"""Strings, brackets, and a quotation mark that no other closes."""
_END_OF_SCALAR: Final = re.compile(r"[\[\]{},\n]")
_BEHIND: Final = re.compile(r"\s*(?:[,\]}]|\Z)")
_DEEP: Final = 500
_PATTERNS_REMEMBERED: Final = 100
_OVERLAP: Final = 2048
_SHOWN: Final = 2000


class Recovery:
    """Knows how the records of a document begin, and passes over a broken one.

    Records look alike: printed over several lines they have one indentation, in one line they begin with the same
    names. That is learnt from the first of them, and where it is found next the next one begins. As long as nothing is
    known, the next one begins where one object follows another.
    """

    def __init__(self, window: TextWindow) -> None:
        self._window = window
        self._next: re.Pattern[str] | None = None
        self._searched: dict[str, int] = {}

    def beginning(self) -> str:
        """Return the beginning of what comes next."""
        return self._window.text[self._window.start : self._window.start + _SHOWN]

    def signature(self) -> re.Pattern[str] | None:
        """Return what finds objects that begin like the one that comes next; None where that is known or unclear."""
        return None if self._next else self._like_this()

    def learn(self, signature: re.Pattern[str] | None) -> None:
        """Remember how a sound record begins, unless it is known."""
        self._next = self._next or signature

    def _like_this(self) -> re.Pattern[str] | None:
        window = self._window
        indent = _INDENT.search(window.text, max(0, window.start - 65), window.start)
        if indent:
            return re.compile(rf'\n{re.escape(indent.group(1))}\{{(?=\s*")')
        keys = _FIRST_KEYS.match(window.text, window.start)
        if not keys:
            return None
        first, second = (re.escape(key) if key else "" for key in keys.groups())
        more = rf'\s*{_SCALAR}\s*,\s*"{second}"\s*:' if second else ""
        return re.compile(rf'\{{(?=\s*"{first}"\s*:{more})', re.DOTALL)

    def skip(self) -> None:
        """Pass the broken element that comes next: to its end where its brackets close, else to the next record."""
        window = self._window
        if not len(window):
            return
        pattern = self._next or self._like_this() or _NEXT_OBJECT
        found = self._search(pattern)
        end = self._balanced_end(found if found is not None else len(window.text))
        for fallback in (pattern, _NEXT_OBJECT):
            if end is None:
                end = found if fallback is pattern else self._search(fallback)
        if end is not None:
            window.drop(max(1, end - window.start))
            return
        while end is None:
            window.drop(max(1, len(window) - _OVERLAP))
            if not window.extend():
                window.drop(len(window))
                return
            end = self._search(pattern, 0)
        window.drop(end - window.start)

    def skip_deep(self) -> None:
        """Pass so many opening brackets that the next look at what is nested too deep costs no more than this one."""
        window = self._window
        depth = 0
        end = len(window.text)
        for piece in _PIECES.finditer(window.text, window.start):
            depth += piece.group() in "[{"
            if depth > _DEEP:
                end = piece.start()
                break
        window.drop(max(1, end - window.start))

    def _search(self, pattern: re.Pattern[str], offset: int = 1) -> int | None:
        """Return where in the window the next record begins."""
        window = self._window
        start = window.start + offset
        start = max(start, self._searched.get(pattern.pattern, 0) - window.passed + window.start)
        found = pattern.search(window.text, start)
        if found:
            return found.end() - 1
        # No second look at what was searched in vain: many broken elements would make it quadratic.
        if len(self._searched) > _PATTERNS_REMEMBERED:
            self._searched.clear()
        self._searched[pattern.pattern] = window.passed + len(window) - _OVERLAP
        return None

    def _balanced_end(self, limit: int) -> int | None:
        """Return where the brackets opened here close, or a scalar ends, if nothing speaks against it."""
        window = self._window
        if window.text[window.start] not in "[{":
            found = _END_OF_SCALAR.search(window.text, window.start + 1, limit)
            return found.start() if found else None
        depth = 0
        for piece in _PIECES.finditer(window.text, window.start, limit):
            mark = piece.group()
            if mark == '"':
                return None
            if mark in "[{":
                depth += 1
            elif mark in "]}":
                depth -= 1
                if not depth:
                    return piece.end() if _BEHIND.match(window.text, piece.end()) else None
        return None

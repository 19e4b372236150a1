"""Which dollars enclose a formula and which are money."""

from __future__ import annotations

import re
from typing import Final

_DOLLARS: Final = re.compile(r"\\.|\$\$|\$", re.DOTALL)
_MATH_SIGN: Final = re.compile(r"[\\^_=<>]")
_WORD: Final = re.compile(r"[^\W\d_]{3,}")
_MAX_FORMULA: Final = 2000
_SHORT: Final = 3
_MAX_WORDS: Final = 2
"""More words than this, and no sign of a formula: it is prose between two prices."""


def math_dollars(text: str) -> dict[int, bool]:
    """Return the positions of the dollars around formulas; the second of `$$` is False: it changes nothing.

    A formula reaches to the next dollar, does not begin or end with a space unless it has a sign of mathematics in it,
    and the dollar that closes it is not followed by a digit ("$5-$6").
    """
    if "$" not in text:
        return {}
    found = [(m.start(), m.end()) for m in _DOLLARS.finditer(text) if m[0][0] == "$"]
    positions: dict[int, bool] = {}
    at = 0
    while at + 1 < len(found):
        (opens, begins), (ends, closes) = found[at], found[at + 1]
        display = begins - opens == 2
        if not display and closes - ends == 2 and _is_formula(text, begins, ends):
            found[at + 1] = (ends + 1, closes)  # one formula ends and the next begins: `$a$$b$`
            positions[opens] = positions[ends] = True
            at += 1
        elif begins - opens == closes - ends and (display or _is_formula(text, begins, ends)):
            positions[opens] = positions[ends] = True
            if display:
                positions[opens + 1] = positions[ends + 1] = False
            at += 2
        else:
            at += 1
    return positions


def _is_formula(text: str, start: int, end: int) -> bool:
    """Is what is between two dollars a formula?"""
    if end == start or end - start > _MAX_FORMULA:
        return False
    inner = text[start:end]
    bare = inner.strip()
    if _MATH_SIGN.search(inner):
        return not (inner[0].isdigit() and inner[-1].isspace())
    if inner != bare:
        return len(bare) <= _SHORT and (bare[:1].isalpha() or len(inner) - len(bare) > 1)
    if text[end + 1 : end + 2].isdigit() and not bare.isalpha():
        return False
    return len(_WORD.findall(bare)) <= (0 if bare[0].isdigit() else _MAX_WORDS)

r"""LaTeX as it is found in bibliographies and abstracts, to Unicode text.

The scanner is our own; the names of 750 of its 915 symbols are pylatexenc's. Its converter, `LatexNodes2Text` (2.11),
was tried on the 1,897 titles and abstracts with a backslash or a dollar among 13,438 of ICLR, NeurIPS and ICML: all 11
with an `\href` raised IndexError, and it read 200 of them a second, where this scanner reads 8,000. On texts made up
for the purpose `\frac x \sqrt{x}` raised KeyError, 1,000 nested braces RecursionError, "costs $5 and $6" lost its
dollars, a Windows path all but its drive, `\tfrac{a}{b}` its bar; exponents stayed `x^2`.

Two passes, neither recursive. `Scanner` reads tokens from left to right and keeps a stack of open braces; when one
closes, `resolve` goes through what is between from right to left, so that the arguments of a macro are always ready
before the macro: `\sqrt\frac12` needs no look-ahead. Braces deeper than `MAX_DEPTH` are dropped without being read as
arguments, which bounds the copying.
"""

from __future__ import annotations

import re
from typing import Final

from semsearch.cleaning.latex_scanner import Scanner

_SIGNS: Final = ("\\", "$", "{", "}", "~", "``")
_ESCAPED_BACKSLASH: Final = re.compile(
    r"""(?:\{\\textbackslash\}|\\textbackslash\{\}|(?:\$|\{\\\$\})\{?\\backslash\}?(?:\$|\{\\\$\}))(?=[A-Za-z"'`^~])"""
)
"""Reference managers that escape a field which was LaTeX already write `{\\textbackslash}alpha`."""


def latex_to_text(text: str) -> str:
    r"""Return `text` with its LaTeX as Unicode; text without `\ $ { } ~` and ``` `` ``` comes back as it is.

    Letters of mathematical alphabets become plain letters (`\mathcal{N}` is N), the number sets excepted (ℝ).
    Citations and labels are dropped, footnotes stand in brackets, a macro nobody knows leaves its argument, or its
    name if it has none. A percent sign is a percent sign, never a comment. Dollars that enclose no formula stay, and
    so do addresses, Windows paths, and sets of numbers in braces ({0, 1}).
    """
    for sign in _SIGNS:  # one by one: a search for a set of characters takes ten times as long
        if sign in text:
            break
    else:
        return text
    if "backslash" in text:
        text = _ESCAPED_BACKSLASH.sub(r"\\", text)
    return Scanner(text).read()

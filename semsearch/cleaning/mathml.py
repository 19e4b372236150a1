"""The elements of MathML on one line of text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from semsearch.cleaning.notation import accented, fraction, root, subscript, superscript

SPACED_CHILDREN: Final = frozenset(
    """math mrow msup msub msubsup mfrac msqrt mroot mover munder munderover mtable mtr mtd mlabeledtr mfenced
    mmultiscripts mstyle mpadded semantics menclose mphantom merror maction""".split()
)
"""Elements that hold elements: the white space between these is layout."""

MATH_ELEMENTS: Final = SPACED_CHILDREN | frozenset("mi mn mo mtext ms mspace none mprescripts".split())

_RELATIONS: Final = frozenset("= < > ≤ ≥ ≈ ≃ ≅ ≠ ∼ ≡ ∝ → ← ↔ ⇒ ⇔ ± ∈ ∉ ⊂ ⊆ ≪ ≫ ≲ ≳ ⩽ ⩾ :=".split())
_INVISIBLE: Final = re.compile("[\u2061-\u2064]")
_WHITE_SPACE: Final = re.compile(r"\s+")
_ACCENTS: Final = {
    "^": "\u0302", "ˆ": "\u0302", "~": "\u0303", "˜": "\u0303", "¯": "\u0304", "‾": "\u0304", "→": "\u20d7",
    "˙": "\u0307", "¨": "\u0308", "ˇ": "\u030c", "∼": "\u0303", "_": "\u0304", "-": "\u0304", "−": "\u0304",
}  # fmt: skip


def math_text(name: str, pieces: Sequence[str], attributes: Mapping[str, str]) -> str:
    """Return the text of an element of MathML from the texts of its children."""
    if name in ("mi", "mn", "mtext", "ms", "mo"):
        text = _WHITE_SPACE.sub(" ", _INVISIBLE.sub("", "".join(pieces)))
        if name == "mtext":
            return text
        text = text.strip()
        return f" {text} " if name == "mo" and text in _RELATIONS else text
    if name == "mphantom":
        return ""
    if name in ("mtable", "mtr", "mlabeledtr"):
        return " ".join(pieces)
    if name == "mfenced":
        separator = attributes.get("separators", ",").strip()[:1]
        inside = f"{separator} ".join(piece.strip() for piece in pieces)
        return attributes.get("open", "(") + inside + attributes.get("close", ")")
    children = [piece for piece in pieces if piece.strip()]
    if name in _SCRIPTED and len(children) > 1:
        return _scripted(name, children)
    if name == "msqrt":
        return root("".join(pieces))
    return "".join(pieces)


_SCRIPTED: Final = frozenset("msup msub msubsup mfrac mroot mover munder munderover".split())


def _scripted(name: str, children: Sequence[str]) -> str:
    """Return a base with what stands above, below or beside it."""
    base, first, *others = children
    second = "".join(others)
    if name == "mfrac":
        return fraction(base, first)
    if name == "mroot":
        return root(base, first)
    if name == "msup":
        return base + superscript(first)
    if name == "mover":
        mark = _ACCENTS.get(first.strip())
        return accented(base, mark) if mark else base + superscript(first)
    return base + subscript(first) + superscript(second)

"""How a formula is written on one line, whether it came as LaTeX or as MathML.

Exponents of digits and signs have Unicode characters that read as what they are (10⁵, x⁻¹, nⁿ); all others get a `^`.
Subscripts of digits stand on the line (CO2, H2O, L2), because that is what people type when they search and what
the tokenizers of embedding models know: "CO₂" is a token of its own for them, unrelated to "CO2".
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_SUPERSCRIPT: Final = str.maketrans("0123456789+-−=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿ")
_HAS_SUPERSCRIPT: Final = re.compile(r"[0-9+\-−=()n]+")
_BARE_SUPERSCRIPT: Final = re.compile(r"[*∗⋆†‡°′'®™⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻]+")
"""Marks that are read as raised wherever they stand."""
_ORDINAL: Final = frozenset(["st", "nd", "rd", "th"])
_ATOM: Final = re.compile(r"[^\W_]+[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ'′*]*|[^\w\s]")
_FACTOR: Final = re.compile(r"√?(?:[0-9.,]+|[^\W\d_][\u0300-\u036f]?[0-9]*|[^\W\d_]+)[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ'′*]*")
"""What may stand under a fraction bar or a root without brackets: a number, a variable or a word."""
_SUM: Final = re.compile(r"[\s+\-−±/=<>≤≥,]")
_ROOTS: Final = {"": "√", "2": "√", "3": "∛", "4": "∜"}


def superscript(text: str) -> str:
    """Return an exponent as it is written after its base: `²`, `^k`, `^(k+m)`."""
    text = text.strip()
    if not text or _BARE_SUPERSCRIPT.fullmatch(text) or text in _ORDINAL:
        return text
    if text == "∘":
        return "°"
    if _HAS_SUPERSCRIPT.fullmatch(text) and any(c not in "()=" for c in text):
        return text.translate(_SUPERSCRIPT)
    return "^" + (text if _ATOM.fullmatch(text) else f"({text})")


def subscript(text: str) -> str:
    """Return a subscript as it is written after its base: `2`, `_i`, `_(i+1)`."""
    text = text.strip()
    if not text or (text.isascii() and text.isdigit()):
        return text
    return "_" + (text if _ATOM.fullmatch(text) else f"({text})")


def raised(text: str) -> str:
    """Return the text of `<sup>` outside formulas: digits and signs raised, words (p53flox, 5th, TM) as they are."""
    bare = text.strip()
    if _HAS_SUPERSCRIPT.fullmatch(bare) and any(c.isdigit() or c in "+-−" for c in bare):
        return bare.translate(_SUPERSCRIPT)
    return text


def fraction(numerator: str, denominator: str) -> str:
    """Return `a/b`, with brackets where it would otherwise be read differently."""
    top, bottom = numerator.strip(), denominator.strip()
    if _SUM.search(top) and not _bracketed(top):
        top = f"({top})"
    if bottom and not _FACTOR.fullmatch(bottom) and not _bracketed(bottom):
        bottom = f"({bottom})"
    return f"{top}/{bottom}"


def root(radicand: str, degree: str = "") -> str:
    """Return `√x`, `∛x` or `√(x + y)`."""
    inner = radicand.strip()
    if inner and not _FACTOR.fullmatch(inner) and not _bracketed(inner):
        inner = f"({inner})"
    degree = degree.strip()
    sign = _ROOTS.get(degree)
    return (sign if sign is not None else f"{superscript(degree)}√") + inner


def accented(base: str, mark: str) -> str:
    """Return `base` with a combining mark on its first letter; unchanged where it is more than a letter."""
    base = unicodedata.normalize("NFC", base.strip())
    if not base or (len(base) > 1 and not unicodedata.combining(base[1])):
        return base
    plain = {"ı": "i", "ȷ": "j"}.get(base, base)
    return unicodedata.normalize("NFC", plain + mark)


def _bracketed(text: str) -> bool:
    """Is the whole text in one pair of round brackets?"""
    return text.startswith("(") and text.find(")") == len(text) - 1 and text.count("(") == 1

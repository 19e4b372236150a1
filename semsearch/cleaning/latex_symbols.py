"""What LaTeX calls characters: the tables of pylatexenc, with the differences that search needs."""

from __future__ import annotations

from functools import cache
from typing import Final

_CATEGORIES: Final = ("latex-base", "advanced-symbols")

ACCENTS: Final = {
    '"': "\u0308", "'": "\u0301", "`": "\u0300", "^": "\u0302", "~": "\u0303", "=": "\u0304", ".": "\u0307",
    "u": "\u0306", "v": "\u030c", "H": "\u030b", "r": "\u030a", "c": "\u0327", "k": "\u0328", "b": "\u0331",
    "d": "\u0323", "t": "\u0361", "G": "\u030f", "U": "\u030e",
}  # fmt: skip
"""Accents of text: the macro's name to the combining character."""

MATH_ACCENTS: Final = {
    "hat": "\u0302", "widehat": "\u0302", "tilde": "\u0303", "widetilde": "\u0303", "Tilde": "\u0303",
    "bar": "\u0304", "overline": "\u0304", "vec": "\u20d7", "dot": "\u0307", "ddot": "\u0308", "check": "\u030c",
    "breve": "\u0306", "acute": "\u0301", "grave": "\u0300", "mathring": "\u030a",
}  # fmt: skip

LETTERS: Final = frozenset("o O l L ae AE oe OE ss aa AA i j dh DH th TH dj DJ ng NG".split())
"""Letters of words, after which a space ends the name of the macro and no word."""

FUNCTIONS: Final = frozenset(
    """arccos arcsin arctan arg argmax argmin cos cosh cot coth csc deg det dim exp gcd hom inf ker lg lim liminf
    limsup ln log max min mod poly polylog Pr rank sec sgn sin sinh softmax sup supp tan tanh tr Tr bmod""".split()
)

BLACKBOARD: Final = str.maketrans("CNQRZ", "ℂℕℚℝℤ")
"""The number sets have characters of their own that fonts and tokenizers know; other such letters stay plain."""

_OWN: Final = {
    # Spelled otherwise by pylatexenc with characters that tokenizers of embedding models do not know.
    "epsilon": "ε", "phi": "φ", "sim": "~", "mid": "|", "ast": "*", "star": "*", "prime": "′", "colon": ":",
    "setminus": "\\", "leqslant": "≤", "geqslant": "≥", "cdots": "…", "dotsb": "…", "longrightarrow": "→",
    "longleftarrow": "←", "preccurlyeq": "≼", "succcurlyeq": "≽", "bullet": "•", "circ": "∘", "ell": "ℓ",
    # Unknown to it.
    "coloneqq": ":=", "triangleq": "≜", "bot": "⊥", "top": "⊤", "gets": "←", "ne": "≠", "iff": "⇔", "implies": "⇒",
    "land": "∧", "lor": "∨", "neg": "¬", "lnot": "¬", "|": "‖", "textless": "<", "textgreater": ">", "lt": "<",
    "gt": ">", "S": "§", "P": "¶", "copyright": "©", "pounds": "£", "degree": "°", "textdegree": "°", "euro": "€",
    "slash": "/", "models": "⊨", "bmod": "mod", "argmax": "arg max", "argmin": "arg min", "limsup": "lim sup",
    "liminf": "lim inf", "lbrace": "{", "rbrace": "}", "lbrack": "[", "rbrack": "]", "textbar": "|",
    "textunderscore": "_", "textquotesingle": "'", "textquotedbl": '"', "textasciicircum": "^", "psq": "",
    "textasciitilde": "~", "textregistered": "®", "texttrademark": "™", "textmu": "µ", "micro": "µ", "ohm": "Ω",
    "celsius": "°C", "percent": "%", "hyphen": "-", "lq": "‘", "rq": "’", "quotedblbase": "„", "quotesinglbase": "‚",
    "guillemotleft": "«", "guillemotright": "»", "dj": "đ", "DJ": "Đ", "dh": "ð", "DH": "Ð", "th": "þ", "TH": "Þ",
    "ng": "ŋ", "NG": "Ŋ", "TeX": "TeX", "LaTeX": "LaTeX", "LaTeXe": "LaTeX2e", "BibTeX": "BibTeX", "infty": "∞",
    "R": "ℝ", "Re": "Re", "Im": "Im", "eg": "e.g.", "ie": "i.e.", "etal": "et al.", "iid": "i.i.d.", "wrt": "w.r.t.",
    # Room, breaks and hyphenation points.
    ",": " ", ";": " ", ":": " ", ">": " ", " ": " ", "\n": " ", "\t": " ", "\\": " ", "!": "", "/": "", "-": "",
    "@": "", "quad": " ", "qquad": " ", "enspace": " ", "thinspace": " ", "space": " ", "xspace": "", "newline": " ",
    "linebreak": " ", "par": " ", "item": " • ",
    "&": "&", "%": "%", "$": "$", "#": "#", "_": "_", "{": "{", "}": "}",
}  # fmt: skip

_UNWANTED: Final = frozenset(["today"])
"""Would make the text depend on the day."""


@cache
def symbols() -> dict[str, str]:
    """Return macro names to the text they stand for, for the macros without arguments."""
    from pylatexenc.latex2text import get_default_latex_context_db

    known: dict[str, str] = {}
    database = get_default_latex_context_db()
    for spec in database.iter_macro_specs(_CATEGORIES):
        text = spec.simplify_repl
        if isinstance(text, str) and text and "%" not in text and spec.macroname not in _UNWANTED:
            known[spec.macroname] = text
    known.update((name, name) for name in FUNCTIONS)
    known.update(_OWN)
    return known

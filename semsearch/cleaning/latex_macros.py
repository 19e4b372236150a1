"""What LaTeX macros with arguments leave of themselves in plain text."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Final

from semsearch.cleaning.latex_symbols import BLACKBOARD, MATH_ACCENTS
from semsearch.cleaning.notation import accented, fraction, root, subscript, superscript

Rule = Callable[..., str]
"""From the texts of the arguments to the text of the whole."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


TRANSPARENT: Final = _names(
    """emph textbf textit texttt textsf textsc textsl textrm textup textmd textnormal text mbox hbox fbox makebox
    underline uline mathrm mathbf mathit mathsf mathtt mathcal mathscr mathfrak mathnormal mathbbm mathds boldsymbol
    bm bold pmb operatorname operatorname* mathop mathbin mathrel mathord mathopen mathclose ensuremath textquote
    enquote enquote* mkbibquote mkbibemph mkbibitalic title ce num path nolinkurl lowercase uppercase MakeLowercase
    MakeUppercase NoCaseChange bibstring smash substack underbrace overbrace sout hl url overrightarrow
    hyperref ul textlf"""
)
"""Their last argument stands for them."""

TEXT_MODE: Final = _names("text mbox hbox textrm textit textbf textnormal textsf texttt textsc emph")
VERBATIM: Final = _names("url path nolinkurl")

DROPPED: Final = _names(
    """cite citep citet citealp citealt citeauthor citeyear citeyearpar citep* citet* parencite textcite autocite
    footcite nocite label ref eqref cref Cref autoref pageref includegraphics phantom hphantom vphantom color vspace
    vspace* footnotemark thanks index vskip rowcolor pagestyle usepackage documentclass setlength"""
)
"""Gone with their one argument."""

SWITCHES: Final = _names(
    """em bf it rm sf tt sc sl cal bfseries itshape rmfamily sffamily ttfamily scshape slshape upshape mdseries
    normalfont normalsize tiny scriptsize footnotesize small large Large LARGE huge Huge left right middle big Big
    bigg Bigg bigl bigr bigm Bigl Bigr Bigm biggl biggr Biggl Biggr displaystyle textstyle scriptstyle limits nolimits
    noindent centering raggedright protect relax unskip nobreak allowbreak mathstrut strut hfill smallskip medskip
    bigskip boldmath unboldmath hline ignorespaces nonumber notag maketitle newpage"""
)
"""Gone with the space that ends their name."""

DELIMITER_SWITCHES: Final = _names("left right middle")


def _norm(text: str) -> str:
    return f"‖{text}‖"


def _negated(text: str) -> str:
    return unicodedata.normalize("NFC", text[:1] + "\u0338" + text[1:]) if text.strip() else text


def _footnote(text: str) -> str:
    return f" ({text.strip()})" if text.strip() else ""


def _last(*texts: str) -> str:
    return texts[-1]


def _rules() -> dict[str, tuple[int, Rule]]:
    rules: dict[str, tuple[int, Rule]] = {name: (1, _last) for name in TRANSPARENT}
    rules |= {name: (1, lambda _text: "") for name in DROPPED}
    rules |= {name: (2, fraction) for name in ("frac", "tfrac", "dfrac", "cfrac", "nicefrac", "sfrac", "faktor")}
    rules |= {name: (1, lambda text, mark=mark: accented(text, mark)) for name, mark in MATH_ACCENTS.items()}
    rules |= {name: (2, _last) for name in ("textcolor", "href", "underset", "overset", "stackrel", "colorbox",
                                            "raisebox", "parbox", "foreignlanguage")}  # fmt: skip
    rules |= {
        "texorpdfstring": (2, _last),
        "bibinfo": (2, _last),
        "sqrt": (1, root),
        "mathbb": (1, lambda text: text.translate(BLACKBOARD)),
        "Bbb": (1, lambda text: text.translate(BLACKBOARD)),
        "binom": (2, lambda n, k: f"({n} choose {k})"),
        "pmod": (1, lambda n: f"(mod {n})"),
        "norm": (1, _norm),
        "abs": (1, lambda text: f"|{text}|"),
        "ket": (1, lambda text: f"|{text}⟩"),
        "bra": (1, lambda text: f"⟨{text}|"),
        "braket": (1, lambda text: f"⟨{text}⟩"),
        "not": (1, _negated),
        "footnote": (1, _footnote),
        "footnotetext": (1, _footnote),
        "hspace": (1, lambda _text: " "),
        "hspace*": (1, lambda _text: " "),
        "xrightarrow": (1, lambda _text: "→"),
        "xleftarrow": (1, lambda _text: "←"),
        "textsuperscript": (1, superscript),
        "textsubscript": (1, subscript),
        "SI": (2, lambda number, unit: f"{number} {unit}"),
        "qty": (2, lambda number, unit: f"{number} {unit}"),
        "^script": (1, superscript),
        "_script": (1, subscript),
    }
    return rules


RULES: Final = _rules()
"""Macro name to (number of arguments, rule). `^script` and `_script` are the scripts of formulas."""

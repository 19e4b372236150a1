"""Reads LaTeX from left to right, token by token."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from semsearch.cleaning.latex_dollars import math_dollars
from semsearch.cleaning.latex_items import Item, resolve
from semsearch.cleaning.latex_macros import DELIMITER_SWITCHES, DROPPED, RULES, SWITCHES, TEXT_MODE, VERBATIM
from semsearch.cleaning.latex_symbols import ACCENTS, FUNCTIONS, LETTERS, symbols

MAX_DEPTH: Final = 40
_MAX_VERB: Final = 300
_VERBATIM_CHARACTERS: Final = 2000

_TOKEN: Final = re.compile(
    r"""(?P<keep>\bhttps?://[^\s{}\\$<>"]++|(?<![A-Za-z\\])[A-Z]:\\(?=[A-Za-z_])[\w.\-\\]*+)
    |\\(?P<macro>[A-Za-z]++\*?|.)
    |(?P<script>[_^])
    |(?P<sign>[${}~&']|``|---?+(?!-))
    |(?P<dashes>-{2,}+)""",
    re.VERBOSE | re.DOTALL,
)
_OPTION: Final = re.compile(r"\s{0,5}\[([^\[\]{}$\\]{0,300})\]")
_PATH: Final = re.compile(r"[A-Z]:\\([A-Za-z]*+)")
_RANGE: Final = re.compile(r"[\d%]~\d")
_TIE_BEFORE: Final = re.compile(r"[\w.,:;)\]}%$]")
_STARTS_WORD: Final = re.compile(r"[^\W\d_]")
_STARTS_ARGUMENT: Final = re.compile(r"[^\W_]|\\(?!left|big|Big|right)[A-Za-z]|\{(?![}])")
_POSSESSIVE: Final = re.compile(r"(?:s|t|re|ve|d|ll|m)\b(?!\{)")
_UNESCAPE: Final = re.compile(r"\\([_%&#~$^{}])(?:\{\})?")
_VERB: Final = re.compile(r"verb\*?")
_BEGIN_ARGUMENT: Final = re.compile(r"\s{0,5}\{([A-Za-z]{1,30}\*?)\}(?:\{[lcr|\s]{0,30}\})?")
_MATH_ENVIRONMENTS: Final = frozenset("equation align gather multline eqnarray displaymath math array aligned".split())
_SPACE_WORD: Final = re.compile(r"\s[\w(]")
_SPACED_IN_MATH: Final = re.compile(r"[\w)\]}]")


class Scanner:
    """One reading of one text, from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.math_dollars = math_dollars(text)
        self.last_inline_end = text.rfind("\\)")
        self.last_display_end = text.rfind("\\]")
        self.quotes_open = 0
        self.in_math = False
        self.items: list[Item] = []
        self.stack: list[tuple[list[Item], bool, int]] = []  # what came before, math outside, where the brace stands
        self.ignored_depth = 0
        self.text_mode_next = False

    def read(self) -> str:
        """Return the whole text."""
        position = 0
        while found := _TOKEN.search(self.text, position):
            if found.start() > position:
                self.add(self.text[position : found.start()])
            position = self.token(found)
        self.add(self.text[position:])
        while self.stack:
            self.close_group(len(self.text))
        return unicodedata.normalize("NFC", resolve(self.items))

    def add(self, text: str) -> None:
        """Take text as it is."""
        if text:
            self.text_mode_next = False
            self.items.append(Item(text))

    def add_whole(self, text: str) -> None:
        """Take text that is one argument where a macro wants one."""
        self.items.append(Item(text, whole=True))

    def token(self, found: re.Match[str]) -> int:
        """Take one token and return where the next may begin."""
        kind = found.lastgroup
        if kind == "macro":
            return self.macro(found["macro"], found.end())
        if kind == "script":
            self.script(found)
        elif kind == "sign":
            self.sign(found)
        elif kind == "keep":
            return self.keep(found)
        else:
            self.add(found[0])
        return found.end()

    def keep(self, found: re.Match[str]) -> int:
        """Take an address or a path as it is; `X:\\to` in a formula is neither."""
        path = _PATH.match(found[0])
        if path and (self.in_math or path[1] in RULES or path[1] in symbols()):
            self.add(found[0][:2])
            return found.start() + 2
        self.add(found[0])
        return found.end()

    def script(self, found: re.Match[str]) -> None:
        """Take `_` or `^`: of a formula, or as it stands."""
        if self.in_math or self.text.startswith("{", found.end()):
            self.items.append(Item("", name=found[0] + "script", arguments=1))
        else:
            self.add(found[0])

    def sign(self, found: re.Match[str]) -> None:
        """Take one of the characters that mean something in LaTeX."""
        sign, start = found[0], found.start()
        if sign == "{":
            self.open_group(start)
        elif sign == "}":
            self.close_group(start)
        elif sign == "$":
            if start in self.math_dollars:
                self.in_math ^= self.math_dollars[start]
            else:
                self.add(sign)
        elif sign == "~":
            before = max(start - 1, 0)
            tie = _TIE_BEFORE.match(self.text, before) and not _RANGE.match(self.text, before)
            self.add(" " if tie or self.in_math else "~")
        elif sign == "``":
            self.quotes_open += 1
            self.add("“")
        elif sign == "'":
            self.quote(start)
        elif sign == "&":
            self.add(" " if self.in_math else sign)
        else:
            self.dash(sign, start, found.end())

    def quote(self, start: int) -> None:
        """Take an apostrophe: half of a closing quotation mark, a prime, or itself."""
        if self.in_math:
            self.add("′")
        elif self.quotes_open and self.text.startswith("''", start):
            self.add("”")
        elif self.quotes_open and start and self.text.startswith("''", start - 1):
            self.quotes_open -= 1  # the second half
        else:
            self.add("'")

    def dash(self, sign: str, start: int, end: int) -> None:
        """Take two or three hyphens: a dash, unless they begin the name of an option (` --help`) or stand in math."""
        option = sign == "--" and (start == 0 or self.text[start - 1].isspace()) and _STARTS_WORD.match(self.text, end)
        self.add(sign if option or self.in_math else "–" if sign == "--" else "—")

    def open_group(self, start: int) -> None:
        """Begin what is between braces."""
        if len(self.stack) >= MAX_DEPTH:
            self.ignored_depth += 1
            return
        self.stack.append((self.items, self.in_math, start))
        self.items = []
        if self.text_mode_next:
            self.in_math = self.text_mode_next = False

    def close_group(self, end: int) -> None:
        """End what is between braces; a brace that closes nothing is dropped."""
        if self.ignored_depth:
            self.ignored_depth -= 1
            return
        if not self.stack:
            return
        content = resolve(self.items)
        self.items, outside_math, start = self.stack.pop()
        if self.items and self.items[-1].name in VERBATIM and end - start <= _VERBATIM_CHARACTERS:
            content = _UNESCAPE.sub(r"\1", self.text[start + 1 : end])
        self.in_math = outside_math
        self.items.append(Item(content, whole=True, braces=True))

    def macro(self, name: str, end: int) -> int:
        """Take a macro, and return where the next token may begin."""
        self.text_mode_next = False
        if name.endswith("*") and name not in RULES and name not in DROPPED:
            name, end = name[:-1], end - 1
        if name in ("begin", "end"):
            return self.environment(name, end)
        if _VERB.fullmatch(name):
            return self.verb(end)
        if name in "()[]":
            return self.math_bracket(name, end)
        if name in ACCENTS and not (self.in_math and name.isalpha()):
            return self.accent(name, end)
        if name in RULES:
            return self.with_arguments(name, end)
        if name in SWITCHES:
            return self.switch(name, end)
        return self.symbol(name, end)

    def environment(self, name: str, end: int) -> int:
        r"""Take `\begin{...}` or `\end{...}`: nothing but room stays of it."""
        found = _BEGIN_ARGUMENT.match(self.text, end)
        if not found:
            return end
        if found[1].rstrip("*") in _MATH_ENVIRONMENTS:
            self.in_math = name == "begin"
        self.add(" ")
        return found.end()

    def verb(self, end: int) -> int:
        r"""Take `\verb|...|` as it stands."""
        close = self.text.find(self.text[end], end + 1, end + _MAX_VERB) if end < len(self.text) else -1
        if close < 0:
            return end
        self.add(self.text[end + 1 : close])
        return close + 1

    def math_bracket(self, name: str, end: int) -> int:
        r"""Take `\(`, `\)`, `\[` or `\]`: a formula, if it ends."""
        if name in "([":
            last = self.last_inline_end if name == "(" else self.last_display_end
            if last >= end:
                self.in_math = True
            else:
                self.add(name)
        elif self.in_math:
            self.in_math = False
        else:
            self.add(name)
        return end

    def accent(self, name: str, end: int) -> int:
        r"""Take an accent of text; an escaped quotation mark or apostrophe where no letter can carry it."""
        following = self.text[end : end + 1]
        if name.isalpha() and following in " \t\n":
            end += 1
            following = self.text[end : end + 1]
            if not (following.isalpha() or following in "\\{"):
                self.add("\\" + name + self.text[end - 1 : end])
                return end
        if name == "'" and _POSSESSIVE.match(self.text, end):
            self.add("'")
        elif following and (following in "{\\" or following.isalpha()):
            self.items.append(Item("", name=name, arguments=1))
        else:
            self.add("\\" + name if name.isalpha() else name)
        return end

    def with_arguments(self, name: str, end: int) -> int:
        """Take a macro that has arguments, and step over its optional ones."""
        option = ""
        for _ in range(3):
            found = _OPTION.match(self.text, end)
            if not found or name == "not":
                break
            option, end = found[1], found.end()
        self.items.append(Item("", name=name, arguments=RULES[name][0], option=option))
        self.text_mode_next = name in TEXT_MODE
        return end

    def switch(self, name: str, end: int) -> int:
        """Take a change of font or size: nothing stays of it."""
        while self.text[end : end + 1] == " ":
            end += 1
        if name in DELIMITER_SWITCHES and self.text[end : end + 1] == ".":
            end += 1
        return end

    def symbol(self, name: str, end: int) -> int:
        """Take a macro without arguments, known or not."""
        text = symbols().get(name)
        before = self.text[end - len(name) - 2] if end > len(name) + 1 else ""
        space_after = self.text[end : end + 1].isspace()
        if text is None:
            return self.unknown(name, end)
        if self.in_math and len(name) == 1 and name.isupper() and name != "R":
            text = name  # somebody's own macro: the signs and letters of text do not stand in formulas
        if not name[0].isalpha() or text.isspace():
            self.add_whole(text)
            return end
        if self.in_math and name in FUNCTIONS:
            lead = " " if _SPACED_IN_MATH.match(before) and self.items else ""
            trail = " " if _STARTS_ARGUMENT.match(self.text, end) else ""
            self.add_whole(lead + text + trail)
            return end
        self.add_whole(text)
        if self.text.startswith("{}", end):
            return end + 2
        swallow = name in LETTERS or (
            self.in_math and (bool(_SPACE_WORD.match(self.text, end)) if text.isalpha() else not before.isspace())
        )
        return end + 1 if space_after and swallow else end

    def unknown(self, name: str, end: int) -> int:
        """Take a macro nobody knows: its argument speaks for it, else its name."""
        if self.text.startswith("{}", end):
            end += 2
        elif self.text.startswith("{", end) and name[0].isalpha():
            return end
        known = len(name) > 1 or self.in_math or name.isupper()
        self.add(name if known or not name[0].isalnum() else "\\" + name)
        return end

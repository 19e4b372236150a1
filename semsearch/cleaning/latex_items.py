"""What the scanner of LaTeX collects, and how macros take their arguments from it."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

from semsearch.cleaning.latex_macros import DROPPED, RULES
from semsearch.cleaning.latex_symbols import ACCENTS
from semsearch.cleaning.notation import accented, root

_NUMBERS: Final = re.compile(r"(?=[^,]{0,40}\d)(?=[^,]{0,40},)[\s\d.,+\-−–]*+")

_MAX_DEPTH: Final = 30
"""Macros without braces within one another; beyond it they leave their arguments as they are, which bounds copying."""


@dataclass(slots=True)
class Item:
    """A piece of text, or a macro that waits for its arguments (`name` and their number)."""

    text: str
    name: str = ""
    arguments: int = 0
    whole: bool = False  # taken as an argument as it is, not character by character
    braces: bool = False
    option: str = ""
    depth: int = 0  # macros within macros that made it
    taken: int = 0  # characters of `text` that a macro took as its argument

    @property
    def rest(self) -> str:
        """The text that is left."""
        return self.text[self.taken :] if self.taken else self.text


def resolve(items: list[Item]) -> str:
    """Return the text of the items, every macro replaced by what its arguments make of it."""
    if len(items) == 1 and not items[0].arguments:
        return shown(items[0])
    done: list[Item] = []  # from right to left
    strip_next = False
    for item in reversed(items):
        if not item.arguments:
            if strip_next:
                item.text = item.text.rstrip()
                strip_next = not item.text
            done.append(item)
            continue
        if done and done[-1].depth >= _MAX_DEPTH:
            continue
        depth = done[-1].depth + 1 if done else 1
        result = _apply(item, done)
        if item.name in DROPPED and not result:
            strip_next = strip_next or not done or not _begins_with_word(done[-1])
            continue
        done.append(Item(result, whole=True, depth=depth))
        strip_next = False
    return "".join(shown(item) for item in reversed(done))


def shown(item: Item) -> str:
    """Return what a piece shows: braces around a set of numbers stay, others only protect."""
    if item.braces and _NUMBERS.fullmatch(item.text):
        return "{" + item.text + "}"
    return item.rest


def _begins_with_word(item: Item) -> bool:
    text = item.text[item.taken : item.taken + 1]
    return text.isalnum() or text in ("(", "“")


def _apply(item: Item, done: list[Item]) -> str:
    """Return the text of a macro, and remove its arguments from `done`."""
    arguments = [_take_argument(done) for _ in range(item.arguments)]
    if item.name in ACCENTS:
        return _accent(item.name, arguments[0])
    if item.name == "sqrt":
        return root(arguments[0], item.option)
    return RULES[item.name][1](*arguments)


def _accent(name: str, argument: str) -> str:
    """Return an accented letter, or both as they are where no letter has this accent."""
    if not argument.strip():
        return name if not name.isalpha() else ""
    first, others = argument[:1], argument[1:]
    letter = accented(first, ACCENTS[name])
    if len(letter) > 1 and not name.isalpha() and not others and first.isascii() and name in "\"'`":
        return name + argument  # an escaped quotation mark
    return unicodedata.normalize("NFC", letter + others)


def _take_argument(done: list[Item]) -> str:
    """Remove and return the next argument: a group, the result of a macro, or one character."""
    while done:
        item = done[-1]
        if item.whole:
            done.pop()
            return item.text
        while item.taken < len(item.text) and item.text[item.taken].isspace():
            item.taken += 1
        if item.taken >= len(item.text):
            done.pop()
            continue
        character = item.text[item.taken]
        item.taken += 1
        return character
    return ""
